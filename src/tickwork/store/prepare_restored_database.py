"""Prepares a database that was restored from a backup, or a standby that was promoted, before a server uses it.

Servers that ran after the backup have issued ids that the database knows nothing of. All ids move on by more than they
can have issued in that time, so none is issued twice, and so do the numbers of attempts. The workers of that time may
still run: their leases and tokens are void. The database is paused, so that somebody decides what runs again before
anything does.

All of it is one transaction, except that sequences move on even if it fails. Repeating it does no harm.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil
from time import monotonic
from typing import NamedTuple

from tickwork.model.errors import Conflict
from tickwork.model.stream_event import EventKind
from tickwork.store.connect_to_any_host import MIGRATION
from tickwork.store.failover.new_attempt_numbers import CLOCKS_DIFFER, STEP
from tickwork.store.migrate import upgrade
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

# More ids than a cluster issues: per second since the last sign of life, and at least.
_IDS_PER_SECOND, _LEAST_IDS = 100_000, 10_000_000  # of 64 bits: jobs, events, notifications, leases
_SMALL_IDS_PER_SECOND, _LEAST_SMALL_IDS = 10, 10_000  # of 32 bits: workers, keys, tenants, channels
_ALIVE_WITHIN = timedelta(seconds=15)
_LOOK_INTERVAL = 0.5  # seconds
_BY = "tickwork db after-restore"
_REASON = "the database was restored"


class PreparedDatabase(NamedTuple):
    data_until: datetime  # the last sign of life in it
    now: datetime
    last_ids: Mapping[str, int]  # of each sequence: later ids are larger


async def prepare_restored(url: str, *, is_ours_alone: bool = False) -> PreparedDatabase:
    """Conflict while servers run on it. `is_ours_alone`: nobody else can reach it yet."""
    await upgrade(url)
    database = Database(url, size=1, limits=MIGRATION)
    await database.open()
    try:
        if not is_ours_alone:
            await _wait_until_unused(database)
        async with database.transaction() as connection:
            return await _prepare(connection)
    finally:
        await database.close()


async def _wait_until_unused(database: Database) -> None:
    """A server that was killed a moment ago looks alive, but reports itself no more."""
    sql = queries("prepare_restored_database")["nodes_alive"]
    first: dict[str, datetime] = {}
    deadline = monotonic() + 2 * _ALIVE_WITHIN.total_seconds()
    while alive := await database.fetch(sql, _ALIVE_WITHIN):
        first = first or {node["id"]: node["seen_at"] for node in alive}
        reports = any(node["seen_at"] != first.get(node["id"]) for node in alive)
        if reports or alive[0]["in_use"] or monotonic() > deadline:
            raise Conflict(_still_running([f"{node['host']}:{node['pid']}" for node in alive]))
        await asyncio.sleep(_LOOK_INTERVAL)


async def _prepare(connection: Connection) -> PreparedDatabase:
    sql = queries("prepare_restored_database")
    row = await connection.fetchrow(sql["lock_cluster"])
    assert row is not None  # noqa: S101 (the migration wrote it)
    now, data_until = row["now"], row["data_until"]
    ids, small_ids = _ids_to_pass_over(now - data_until)
    moved = await connection.fetch(sql["move_sequences"], ids, small_ids)
    await connection.execute(sql["move_event_numbers"], ids)
    await _raise_attempts(connection, data_until)
    for step in ("disown_workers", "delete_sessions", "delete_nodes"):
        await connection.execute(sql[step])
    await connection.execute(sql["note_restored"], data_until, _BY, _REASON)
    await connection.execute(sql["tell_restored"], EventKind.CLUSTER_RESTORED, data_until)
    return PreparedDatabase(data_until, now, {each["name"]: each["last"] for each in moved})


async def _raise_attempts(connection: Connection, data_until: datetime) -> None:
    """Nodes do so for a server whose history of WAL they do not know, but a backup may be restored on the same one."""
    sql = queries("failover")
    for newest in await connection.fetch(sql["newest_failover"]):
        history = newest["system_id"], newest["wal_timeline"]
        await connection.fetch(
            sql["note_failover"],
            *history,
            "certain",
            data_until,
            CLOCKS_DIFFER,
            STEP,
            newest["first_attempt"],
        )


def _ids_to_pass_over(gap: timedelta) -> tuple[int, int]:
    seconds = max(ceil(gap.total_seconds()), 0)
    return seconds * _IDS_PER_SECOND + _LEAST_IDS, seconds * _SMALL_IDS_PER_SECOND + _LEAST_SMALL_IDS


def _still_running(nodes: list[str]) -> str:
    return f"servers use this database ({', '.join(nodes)}): stop them first"
