"""Opens the database of a node, embedded or given: migrates it, and opens its pools, clock and partitions."""

import asyncio
from contextlib import AsyncExitStack
from typing import NamedTuple

import structlog

from tickwork.config import Settings
from tickwork.loop import Loops
from tickwork.store.connect_to_any_host import VITAL
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.database_errors import Condition
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migrate import upgrade
from tickwork.store.partitions_and_retention import Partitions, PastJobs
from tickwork.store.pool import CONNECTIONS, Database

_VITAL_CONNECTIONS = 3
_RECOVERY_CONNECTIONS = 2
_CONNECTIONS = CONNECTIONS - _VITAL_CONNECTIONS - _RECOVERY_CONNECTIONS
_LONG_STEP = 600.0  # seconds: upkeep may delete many rows in one step
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class OpenDatabase(NamedTuple):
    url: str
    embedded: EmbeddedPostgres | None  # None: the user's own
    work: Database
    vital: Database  # for what must not wait behind work
    recovery: Database
    clock: DatabaseClock
    partitions: Partitions
    past_jobs: PastJobs

    def add_loops(self, loops: Loops) -> None:
        loops.add("read clock", self.clock.read, every=5)
        loops.add("test writes", self.work.try_to_store, every=1)
        loops.add("maintain partitions", self.partitions.keep_up, every=600, stuck_after=_LONG_STEP)
        loops.add("delete past jobs", self.past_jobs.forget, every=600, stuck_after=_LONG_STEP)
        if self.embedded:
            loops.add("watch postgres", self.embedded.keep_alive, every=1)


async def open_database(settings: Settings, opening: AsyncExitStack) -> OpenDatabase:
    """`opening` closes it again."""
    embedded = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
    url = settings.database_url or ""
    if embedded:
        url = await asyncio.to_thread(embedded.start)
        opening.push_async_callback(asyncio.to_thread, embedded.stop)
    work, vital, recovery = await _open_pools(url, opening)
    applied = await upgrade(url, work)
    if applied:
        _log.info("migrations applied", migrations=applied)
    clock = DatabaseClock(vital)
    partitions = Partitions(work, settings.history_days, making=vital)
    await clock.read()
    await partitions.make_ahead()
    past_jobs = PastJobs(work, settings.history_days)
    return OpenDatabase(url, embedded, work, vital, recovery, clock, partitions, past_jobs)


async def _open_pools(url: str, opening: AsyncExitStack) -> tuple[Database, Database, Database]:
    condition = Condition()
    work = Database(url, size=_CONNECTIONS, condition=condition)
    vital = Database(url, size=_VITAL_CONNECTIONS, limits=VITAL, condition=condition)
    recovery = Database(url, size=_RECOVERY_CONNECTIONS, condition=condition)
    for name, pool in {"work": work, "vital": vital, "recovery": recovery}.items():
        await pool.open(like=work)
        pool.report_use(name)
        opening.push_async_callback(pool.close)
    return work, vital, recovery
