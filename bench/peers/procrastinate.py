"""Procrastinate: deferred in batches, taken one at a time, ten at once."""

import asyncio

from procrastinate import App, PsycopgConnector

from peers.peer import CORES, About, Peer, count, postgres_url

_BATCH = 1000
_AT_ONCE = 10


def _app() -> App:
    app = App(connector=PsycopgConnector(conninfo=postgres_url(), min_size=_AT_ONCE, max_size=_AT_ONCE))

    @app.task(name="count")
    async def run(n: int) -> None:
        count(n)

    return app


async def _prepare() -> None:
    app = _app()
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def _enqueue(jobs: int) -> None:
    app = _app()
    async with app.open_async():
        for begin in range(0, jobs, _BATCH):
            numbers = range(begin, min(begin + _BATCH, jobs))
            await app.tasks["count"].batch_defer_async(*({"n": number} for number in numbers))


async def _work() -> None:
    app = _app()
    async with app.open_async():
        await app.run_worker_async(concurrency=_AT_ONCE, fetch_job_polling_interval=0.1)


PEER = Peer(
    About(
        "Procrastinate",
        "procrastinate",
        "C",
        "the job and a row for each event; no results",
        "stalled until a task of yours retries it",
        f"{CORES} processes, {_AT_ONCE} at once in each, deferred in batches of {_BATCH}",
    ),
    lambda: asyncio.run(_prepare()),
    lambda jobs: asyncio.run(_enqueue(jobs)),
    lambda: asyncio.run(_work()),
)
