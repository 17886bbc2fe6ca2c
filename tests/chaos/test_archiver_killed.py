"""Nodes that archive and purge are killed at every step, and another process goes on: each execution stays in exactly
one place, and what was purged is nowhere."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from support.archived_history import write_history
from support.killed_archiver import HISTORY_DAYS, Archivers
from support.left_behind import left_of_job, left_of_tenant
from tickwork.model.public_ids import execution_id, parse_job_id
from tickwork.record.archive.archive_storage import FolderLocation
from tickwork.record.archive.part_files import verify_files
from tickwork.record.archive.read_archive import manifests, query
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)
_DAY = timedelta(days=1)
_DUTY_IS_FREE = timedelta(minutes=3)
_JOBS = 3  # of each day that is archived
_PURGED_DAYS = 5  # of which two are in the archive when the first purge begins
_FILES = {"executions.parquet", "attempts.parquet", "logs.parquet", "manifest.json"}
_PARTS = "SELECT count(*) FROM tickwork.archive_part"
_ROWS = "SELECT job_id, scheduled_for FROM tickwork.{} WHERE scheduled_for >= $1 AND job_id > $2"


@pytest.fixture
async def archivers(database_url: str, tmp_path: Path, long: bool) -> AsyncIterator[Archivers]:
    async with Archivers(database_url, tmp_path, at_every_step=long) as archivers:
        yield archivers


class Places:
    """Where the executions of some days and jobs are."""

    def __init__(self, connection: asyncpg.Connection, folder: Path) -> None:
        self._connection = connection
        self.location = FolderLocation(folder)

    async def check(self, expected: int, since: datetime, *, above_job: int = 0) -> None:
        """None is twice in a query over the API and the archive; what is in neither is sealed, and none is lost."""
        shown = await self._rows("execution", since, above_job)
        archived = self._archived(since, above_job)
        assert len({*shown, *archived}) == len(shown) + len(archived)
        everything = {*shown, *archived, *await self._rows("sealed_execution", since, above_job)}
        assert len(everything) == expected

    async def _rows(self, table: str, since: datetime, above_job: int) -> list[str]:
        rows = await self._connection.fetch(_ROWS.format(table), since, above_job)
        return [execution_id(row["job_id"], row["scheduled_for"]) for row in rows]

    def _archived(self, since: datetime, above_job: int) -> list[str]:
        """As `tickwork archive query` answers."""
        found = [each for each in manifests(self.location) if each.end > since]
        rows = query(self.location, found, "SELECT execution_id, job_id FROM executions").rows
        return [execution for execution, job in rows if parse_job_id(job) > above_job]

    def check_files(self, parts: int) -> None:
        """Each part is one generation that is what was written, and no other file is left."""
        found = manifests(self.location)
        assert len(found) == parts
        for manifest in found:
            verify_files(self.location, manifest)
            assert self.location.generations(manifest.part) == [manifest.generation]
        assert {path.name for path in Path(self.location.root).rglob("*") if path.is_file()} <= _FILES


async def test_a_day_archived_by_processes_killed_at_every_step_is_neither_lost_nor_doubled(
    archivers: Archivers,
    database_url: str,
    connection: asyncpg.Connection,
    clock: SettableClock,
    long: bool,
) -> None:
    days = 200 if long else 40
    await _make_days(database_url, clock, days)
    await write_history(connection, _BEGIN, days, _JOBS)
    places, deaths = Places(connection, archivers.folder), list[str]()
    while step := await archivers.run(die_at=len(deaths) + 1):
        deaths.append(step)
        began = max(await connection.fetchval(_PARTS) - 2, 0)  # the day that the process before it had begun
        await places.check((days - began) * _JOBS, _midnight(began))
        await clock.advance(_DUTY_IS_FREE)
    _say(f"{len(deaths)} deaths while days were archived: {', '.join(dict.fromkeys(deaths))}")
    assert {
        "after ALTER was committed", "before open executions.parquet.draft", "after the first bytes of a file",
        "before os.rename manifest.json.draft", "after note_written was committed", "after note_dropped was committed",
    } <= {*deaths}  # fmt: skip
    await places.check(days * _JOBS, _BEGIN)
    places.check_files(parts=await connection.fetchval(_PARTS))
    assert await connection.fetchval("SELECT count(*) FROM pg_class WHERE relname LIKE 'sealed_%_2%'") == 0


async def test_a_job_purged_by_processes_killed_at_every_step_is_gone_and_others_are_there(
    archivers: Archivers,
    database_url: str,
    connection: asyncpg.Connection,
    clock: SettableClock,
    long: bool,
) -> None:
    jobs = 400 if long else 100
    await _make_days(database_url, clock, _PURGED_DAYS - HISTORY_DAYS)
    await write_history(connection, _BEGIN, _PURGED_DAYS, jobs)
    places, deaths = Places(connection, archivers.folder), list[str]()
    while step := await archivers.run(die_at=len(deaths) + 1, purge=len(deaths) + 1):
        deaths.append(step)
        others = jobs - len(deaths)
        await places.check(others * _PURGED_DAYS, _midnight(0), above_job=len(deaths))
        await clock.advance(_DUTY_IS_FREE)
    purged = len(deaths) + 1
    _say(f"{len(deaths)} deaths of {purged} purges: {', '.join(dict.fromkeys(deaths))}")
    assert {
        "after begin_purge was committed", "before open executions.parquet.draft", "after the first bytes of a file",
        "before os.rename manifest.json.draft", "after note_written was committed", "before delete_file manifest.json",
        "after note_purged_tenants was committed",
    } <= {*deaths}  # fmt: skip
    await places.check((jobs - purged) * _PURGED_DAYS, _midnight(0))
    places.check_files(parts=await connection.fetchval(_PARTS))
    assert [await left_of_job(connection, job) for job in range(1, purged + 1)] == [[]] * purged


async def test_a_tenant_purged_by_processes_killed_at_every_step_is_gone_and_others_are_there(
    archivers: Archivers,
    database_url: str,
    connection: asyncpg.Connection,
    clock: SettableClock,
) -> None:
    tenants = 100
    await _make_days(database_url, clock, _PURGED_DAYS - HISTORY_DAYS)
    await connection.execute(
        "INSERT INTO tickwork.tenant (name, signing_secret) SELECT 'tenant-' || n, '' FROM generate_series(2, $1) AS n",
        tenants + 1,
    )
    found = await connection.fetch(
        "SELECT id, name FROM tickwork.tenant WHERE name LIKE 'tenant-%' ORDER BY id"
    )
    for place, tenant in enumerate(found):
        await write_history(
            connection, _BEGIN, _PURGED_DAYS, jobs=1, tenant=tenant["id"], first_job=place + 1
        )
    places, deaths = Places(connection, archivers.folder), list[str]()
    while step := await archivers.run(
        die_at=len(deaths) + 1, purge_tenant=found[len(deaths)]["name"], at_every_step=False
    ):
        deaths.append(step)
        others = tenants - len(deaths)
        await places.check(others * _PURGED_DAYS, _midnight(0), above_job=len(deaths))
        await clock.advance(_DUTY_IS_FREE)
    purged = len(deaths) + 1
    _say(f"{len(deaths)} deaths of {purged} purges of tenants: {', '.join(dict.fromkeys(deaths))}")
    assert {
        "after revoke_keys_of_tenant was committed", "after end_tenant_purge was committed",
        "before open executions.parquet.draft", "after note_purged_tenants was committed",
    } <= {*deaths}  # fmt: skip
    await places.check((tenants - purged) * _PURGED_DAYS, _midnight(0))
    places.check_files(parts=await connection.fetchval(_PARTS))
    assert [await left_of_tenant(connection, each["id"]) for each in found[:purged]] == [{}] * purged


async def _make_days(database_url: str, clock: SettableClock, days: int) -> None:
    """So many days are older than the history that is kept."""
    await clock.set(_BEGIN + (days + HISTORY_DAYS) * _DAY)
    database = Database(database_url, size=2)
    await database.open()
    await Partitions(database, days + HISTORY_DAYS + 1).make_for(
        _BEGIN + day * _DAY for day in range(days + HISTORY_DAYS)
    )
    await database.close()


def _midnight(day: int) -> datetime:
    return (_BEGIN + day * _DAY).replace(hour=0)


def _say(what: str) -> None:
    print(what)  # noqa: T201 (a figure to publish; `pytest -s` shows it)
