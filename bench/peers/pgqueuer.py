"""PgQueuer: enqueued in lists, taken and acknowledged in batches, vacuumed as it advises."""

from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, Job, PgQueuer, Queries

from peers.peer import CORES, About, Peer, count, postgres_url

_BATCH = 1000


async def _driver() -> AsyncpgDriver:
    return AsyncpgDriver(await asyncpg.connect(postgres_url()))


async def _prepare() -> None:
    queries = Queries(await _driver())
    await queries.install()
    await queries.optimize_autovacuum()


async def _enqueue(jobs: int) -> None:
    queries = Queries(await _driver())
    for begin in range(0, jobs, _BATCH):
        numbers = range(begin, min(begin + _BATCH, jobs))
        payloads: list[bytes | None] = [b"%d" % number for number in numbers]
        await queries.enqueue(["count"] * len(numbers), payloads, [0] * len(numbers))


async def _work() -> None:
    queue = PgQueuer(await _driver())

    @queue.entrypoint("count")
    async def run(job: Job) -> None:
        count(int(job.payload or b"0"))

    await queue.run(dequeue_timeout=timedelta(seconds=1), batch_size=_BATCH)


PEER = Peer(
    About(
        "PgQueuer",
        "pgqueuer",
        "C",
        "a log row for each of its states; no results",
        "run again after 30 s without a heartbeat",
        f"{CORES} processes, uvloop, asyncpg, batches of {_BATCH}, its autovacuum settings",
    ),
    lambda: uvloop.run(_prepare()),
    lambda jobs: uvloop.run(_enqueue(jobs)),
    lambda: uvloop.run(_work()),
)
