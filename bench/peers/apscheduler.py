"""APScheduler 4 (alpha): jobs added straight away, a hundred at once. It has no bulk call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from apscheduler import AsyncScheduler, SchedulerRole
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.asyncpg import AsyncpgEventBroker
from sqlalchemy.ext.asyncio import create_async_engine

from peers.peer import CORES, About, Peer, count, postgres_url

_AT_ONCE = 100


async def run(n: int) -> None:
    count(n)


@asynccontextmanager
async def _scheduler(role: SchedulerRole) -> AsyncIterator[AsyncScheduler]:
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda *_, **__: asyncpg.connect(postgres_url()), pool_size=20
    )
    async with AsyncScheduler(
        SQLAlchemyDataStore(engine),
        AsyncpgEventBroker(postgres_url()),
        role=role,
        max_concurrent_jobs=_AT_ONCE,
    ) as scheduler:
        await scheduler.configure_task("count", func=run, max_running_jobs=_AT_ONCE)
        yield scheduler


async def _prepare() -> None:
    async with _scheduler(SchedulerRole.scheduler):
        pass


async def _enqueue(jobs: int) -> None:
    async with _scheduler(SchedulerRole.scheduler) as scheduler:
        for number in range(jobs):
            await scheduler.add_job("count", kwargs={"n": number})


async def _work() -> None:
    async with _scheduler(SchedulerRole.worker) as scheduler:
        await scheduler.run_until_stopped()


PEER = Peer(
    About(
        "APScheduler",
        "apscheduler",
        "A",
        "nothing, unless told for how long",
        "ended as abandoned after 30 s",
        f"{CORES} processes, asyncpg, {_AT_ONCE} at once in each",
    ),
    lambda: asyncio.run(_prepare()),
    lambda jobs: asyncio.run(_enqueue(jobs)),
    lambda: asyncio.run(_work()),
)
