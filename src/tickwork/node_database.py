"""Opens the database of a node, embedded or given: migrates it, and opens its pools, clock and partitions."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from secrets import token_hex
from shutil import disk_usage
from typing import NamedTuple

import structlog

from tickwork.config import Settings
from tickwork.loop import Loops
from tickwork.store.connect_to_any_host import VITAL, Connector
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.database_errors import DISK_FULL, Condition
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.ended_jobs_and_unused_rules import EndedJobs
from tickwork.store.failover.leave_replaced_server import ServerWatch
from tickwork.store.failover.notice_failover import FailoverWatch
from tickwork.store.loops_with_work_store import LoopsWithWork
from tickwork.store.migrate import upgrade
from tickwork.store.partitions_and_retention import Partitions, PastJobs
from tickwork.store.pool import CONNECTIONS, Database
from tickwork.store.read_replica import ReadReplica

_VITAL_CONNECTIONS = 3
_RECOVERY_CONNECTIONS = 2
_WATCHING = 1  # whether the server answers
_CONNECTIONS = CONNECTIONS - _VITAL_CONNECTIONS - _RECOVERY_CONNECTIONS - _WATCHING
_LEAST_FREE = 32 << 20  # bytes: two segments of WAL
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
    ended_jobs: EndedJobs
    node_id: str
    server: ServerWatch
    failovers: FailoverWatch
    replica: ReadReplica | None

    def add_loops(self, loops: Loops) -> None:
        loops.look_for_work_in(LoopsWithWork(self.work).read)
        loops.add("read clock", self.clock.read, every=5)
        loops.add("watch database", self.server.look, every=1)
        loops.add("mark commits", self.failovers.mark, every=1)
        loops.add("test writes", self.work.try_to_store, every=1)
        loops.add("maintain partitions", self.partitions.keep_up, every=600, stuck_after=_LONG_STEP)
        loops.add("delete past jobs", self.past_jobs.forget, every=600, stuck_after=_LONG_STEP)
        loops.add("delete ended jobs", self.ended_jobs.forget, every=600, stuck_after=_LONG_STEP)
        if self.replica:
            loops.add("watch replica", self.replica.look, every=1)
        if self.embedded:
            loops.add("watch postgres", self.embedded.keep_alive, every=1)


async def open_database(settings: Settings, opening: AsyncExitStack) -> OpenDatabase:
    """`opening` closes it again."""
    embedded = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
    url = settings.database_url or ""
    if embedded:
        url = await asyncio.to_thread(embedded.start)
        opening.push_async_callback(asyncio.to_thread, embedded.stop)
    condition = Condition()
    if embedded:
        condition.explain = partial(_explain_by_disk, settings.data_dir)
    pools = work, vital, recovery = await _open_pools(url, opening, condition)
    applied = await upgrade(url, work, _log_progress)
    if applied:
        _log.info("migrations applied", migrations=applied)
    clock = DatabaseClock(vital)
    partitions = Partitions(
        work, settings.history_days, making=vital, are_archived=settings.archive_url is not None
    )
    await clock.read()
    await partitions.make_ahead()
    past_jobs, ended_jobs = PastJobs(work, settings.history_days), EndedJobs(work, settings.history_days)
    node_id = f"n{token_hex(6)}"
    failovers = await _watch_failovers(pools, node_id)
    connect = Connector(url)
    connect.admit = failovers.admit
    server = ServerWatch(connect, pools)
    opening.push_async_callback(server.close)
    return OpenDatabase(
        url, embedded, work, vital, recovery, clock, partitions, past_jobs, ended_jobs, node_id, server,
        failovers, _open_replica(settings, work, clock, opening),
    )  # fmt: skip


def _log_progress(migration: str, said: str) -> None:
    _log.info("a migration goes on", migration=migration, progress=said)


def _open_replica(
    settings: Settings, work: Database, clock: DatabaseClock, opening: AsyncExitStack
) -> ReadReplica | None:
    """It is reached for the first time by its loop: a node starts without it."""
    if settings.read_url is None:
        return None
    work.replica = replica = ReadReplica(settings.read_url, clock.micros)
    opening.push_async_callback(replica.close)
    return replica


async def _watch_failovers(pools: Sequence[Database], node_id: str) -> FailoverWatch:
    """From now on each new connection is compared with what the node knows of the database's history."""
    failovers = FailoverWatch(pools[1], node_id)
    await failovers.begin()
    for pool in pools:
        pool.admit_by(failovers.admit)
    return failovers


def _explain_by_disk(data_folder: Path) -> str | None:
    """An embedded PostgreSQL that has no space for its WAL ends, and does not start before there is some."""
    return DISK_FULL if disk_usage(data_folder).free < _LEAST_FREE else None


async def _open_pools(
    url: str, opening: AsyncExitStack, condition: Condition
) -> tuple[Database, Database, Database]:
    work = Database(url, size=_CONNECTIONS, condition=condition)
    vital = Database(url, size=_VITAL_CONNECTIONS, limits=VITAL, condition=condition)
    recovery = Database(url, size=_RECOVERY_CONNECTIONS, condition=condition)
    for name, pool in {"work": work, "vital": vital, "recovery": recovery}.items():
        await pool.open(like=work)
        pool.report_use(name)
        opening.push_async_callback(pool.close)
    return work, vital, recovery
