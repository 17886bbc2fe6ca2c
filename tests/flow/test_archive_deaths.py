"""Whatever kills the node that archives, between any two steps: no day is lost, and none is archived twice."""

import inspect
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from support.archived_history import write_history
from tickwork.model.archive import ArchivePart
from tickwork.record.archive.archive_history import Archiver
from tickwork.record.archive.archive_storage import FolderLocation
from tickwork.record.archive.part_files import read_tables, verify_files
from tickwork.store.archive_store import PostgresArchiveStore
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.store.rows_to_archive import PostgresSealedRows
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)
_DAY = timedelta(days=1)
_DAYS = 60


class Killed(BaseException):
    pass


class Death:
    """Comes at one of the calls that an archiver makes of its store and of its files."""

    def __init__(self, at: int, *, after_call: bool) -> None:
        self._left = at
        self._after_call = after_call

    def threatens(self, target: Any) -> Any:
        return _Threatened(target, self)

    def comes(self, *, after_call: bool) -> None:
        if after_call == self._after_call:
            self._left -= 1
            if self._left == 0:
                raise Killed


class _Threatened:
    def __init__(self, target: Any, death: Death) -> None:
        self._target = target
        self._death = death

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name == "path" or not callable(value):
            return value
        return self._async(value) if inspect.iscoroutinefunction(value) else self._sync(value)

    def _sync(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            self._death.comes(after_call=False)
            answer = call(*arguments)
            self._death.comes(after_call=True)
            return answer

        return called

    def _async(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*arguments: Any) -> Any:
            self._death.comes(after_call=False)
            answer = await call(*arguments)
            self._death.comes(after_call=True)
            return answer

        return called


@pytest.fixture
async def database(database_url: str, clock: SettableClock) -> AsyncIterator[Database]:
    await clock.set(_BEGIN + _DAYS * _DAY)
    database = Database(database_url, size=2)
    await database.open()
    yield database
    await database.close()


def archiver(
    database: Database, partitions: Partitions, folder: Path, name: str, death: Death | None = None
) -> Archiver:
    parts = (
        PostgresArchiveStore(database, partitions, name),
        PostgresSealedRows(database),
        FolderLocation(folder),
    )
    return Archiver(*(death.threatens(each) for each in parts)) if death else Archiver(*parts)


@pytest.mark.parametrize("after_call", [False, True])
async def test_a_death_at_any_step_loses_nothing_and_archives_nothing_twice(
    database: Database,
    connection: asyncpg.Connection,
    clock: SettableClock,
    tmp_path: Path,
    after_call: bool,
) -> None:
    await Partitions(database, _DAYS + 1).make_for(_BEGIN + day * _DAY for day in range(_DAYS))
    await write_history(connection, _BEGIN, _DAYS)
    partitions = Partitions(database, 3, are_archived=True)
    await partitions.make_ahead()
    days = deaths = 0
    died = True
    while died:
        days += 1
        before = await _dropped(connection)
        died = await _archive_a_day_and_die(
            archiver(database, partitions, tmp_path, f"dying {days}", Death(days, after_call=after_call)),
            lambda: _dropped(connection),
        )
        deaths += died
        await clock.set(_BEGIN + _DAYS * _DAY + timedelta(minutes=6 * days))
        follower = archiver(database, partitions, tmp_path, f"following {days}")
        while await _dropped(connection) <= before:
            assert await follower.step()
        await clock.set(_BEGIN + _DAYS * _DAY + timedelta(minutes=6 * days + 3))
    assert deaths > 15
    await _check(connection, PostgresArchiveStore(database, partitions, "checks"), FolderLocation(tmp_path))


async def _archive_a_day_and_die(dying: Archiver, dropped: Callable[[], Any]) -> bool:
    before = await dropped()
    try:
        while await dropped() <= before:
            await dying.step()
    except Killed:
        return True
    return False


async def _dropped(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT count(*) FROM tickwork.archive_part WHERE state = 'dropped'")


async def _check(
    connection: asyncpg.Connection, store: PostgresArchiveStore, location: FolderLocation
) -> None:
    parts = await store.parts()
    there = [row[0] for row in await connection.fetch("SELECT scheduled_for FROM tickwork.execution")]
    for part in parts:
        _check_part(location, part)
    assert sorted(there + [part.begin + timedelta(hours=6) for part in parts for _ in range(3)]) == sorted(
        _BEGIN + day * _DAY for day in range(_DAYS) for _ in range(3)
    )
    assert len(parts) == len({part.label for part in parts})
    assert await connection.fetchval("SELECT count(*) FROM pg_class WHERE relname LIKE 'sealed_%_2%'") == 0


def _check_part(location: FolderLocation, part: ArchivePart) -> None:
    assert location.generations(part.name) == [part.manifest.generation]
    assert location.newest_manifest(part.name) == part.manifest
    verify_files(location, part.manifest)
    tables = [(table, row["execution_id"]) for table, rows in read_tables(location, part.manifest)
              for row in rows.to_pylist()]  # fmt: skip
    counts = {table: sum(each == table for each, _ in tables) for table in ("executions", "attempts", "logs")}
    assert counts == {"executions": 3, "attempts": 4, "logs": 2}
    assert len({name for table, name in tables if table == "executions"}) == 3
