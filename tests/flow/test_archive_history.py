"""Days that are older than the kept history are archived, read back, and only then dropped."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from support.archived_history import write_history
from tickwork.config import Settings
from tickwork.model.archive import ArchiveDamaged
from tickwork.model.errors import NotFound
from tickwork.model.execution import ExecutionFilter
from tickwork.node import Node
from tickwork.record.archive.archive_storage import FolderLocation
from tickwork.record.archive.part_files import read_tables, verify_files
from tickwork.record.archive.read_archive import executions, manifests, query
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.restored_from_archive_store import PostgresRestoredStore
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)
_DAY = timedelta(days=1)
_FAILED_JOB = 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
async def archiving_node(settings: Settings, folder: Path, clock: SettableClock) -> AsyncIterator[Node]:
    await clock.set(_BEGIN)
    node = Node(msgspec.structs.replace(settings, archive_url=str(folder), history_days=3))
    await node.open()
    yield node
    await node.stop()


async def archive(node: Node) -> None:
    await node.step("maintain partitions")
    while await node.step("archive history"):
        pass


async def test_an_old_day_is_archived_with_all_that_the_api_shows_and_then_dropped(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 2)
    shown = [await _shown(archiving_node, job) for job in (1, 2, 3)]
    await clock.set(_BEGIN + 4 * _DAY)
    await archive(archiving_node)
    location = FolderLocation(folder)
    assert location.parts() == ["20260109-1", "20260110-1"]
    manifest = location.newest_manifest("20260110-1")
    verify_files(location, manifest)
    rows = {table: rows.to_pylist() for table, rows in read_tables(location, manifest)}
    assert {table: len(rows[table]) for table in rows} == {"executions": 3, "attempts": 4, "logs": 2}
    assert [row["worker_name"] for row in rows["attempts"]] == ["ann"] * 4
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 3
    assert await connection.fetchval("SELECT count(*) FROM tickwork.sealed_execution") == 0
    with pytest.raises(NotFound):
        await _shown(archiving_node, 1)
    restored = [each for batch in executions(location, [manifest], None, None) for each in batch]
    assert await PostgresRestoredStore(archiving_node._database).keep(restored, _DAY) == 3
    assert [await _shown(archiving_node, job) for job in (1, 2, 3)] == shown
    await clock.set(_BEGIN + 6 * _DAY)
    with pytest.raises(NotFound):
        await _shown(archiving_node, 1)
    await archiving_node.step("maintain partitions")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.restored_execution") == 0


async def _shown(node: Node, job: int) -> bytes:
    """Everything that the API shows of an execution."""
    key = 1, job, _BEGIN
    answers = [
        await node.history.get(*key),
        await node.history.attempts(*key),
        await node.history.input(*key),
        await node.logs.page(*key, None, 100),
        await node.logs.tail(*key, None, 1),
    ]
    return msgspec.json.format(msgspec.json.encode(answers))


async def test_a_list_that_reaches_into_archived_days_says_so(
    archiving_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 2)
    assert (await archiving_node.history.list(1, ExecutionFilter(), 10)).archived_until is None
    await clock.set(_BEGIN + 4 * _DAY)
    await archive(archiving_node)
    until = datetime(2026, 1, 11, tzinfo=UTC)
    page = await archiving_node.history.list(1, ExecutionFilter(), 10)
    assert (len(page.items), page.archived_until) == (3, until)
    assert (await archiving_node.history.list(1, ExecutionFilter(since=until), 10)).archived_until is None
    assert (await archiving_node.archive.state()).until == until


async def test_a_day_that_cannot_be_archived_is_kept_and_the_node_stays_ready(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 2)
    _put_in_the_way(folder)
    await clock.set(_BEGIN + 5 * _DAY)
    await archive(archiving_node)
    state = await archiving_node.archive.state()
    assert "archive" in state.problem
    assert (state.problem_since, state.waiting_days) == (_BEGIN + 5 * _DAY, 3)
    assert archiving_node.ready()
    kept = await connection.fetchval(
        "SELECT (SELECT count(*) FROM tickwork.execution) + count(*) FROM tickwork.sealed_execution"
    )
    assert kept == 6
    _remove(folder)
    await archive(archiving_node)
    state = await archiving_node.archive.state()
    assert (state.problem, state.problem_since, state.waiting_days) == (None, None, 0)
    assert sum(each.rows("executions") for each in manifests(FolderLocation(folder))) == 6


def _put_in_the_way(path: Path) -> None:
    path.write_text("in the way")


def _tamper_with(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _remove(path: Path) -> None:
    path.unlink()


async def test_one_node_at_a_time_archives(
    archiving_node: Node,
    settings: Settings,
    folder: Path,
    clock: SettableClock,
    connection: asyncpg.Connection,
) -> None:
    await write_history(connection, _BEGIN, 1)
    other = Node(msgspec.structs.replace(settings, archive_url=str(folder), history_days=3))
    await other.open()
    await clock.set(_BEGIN + 4 * _DAY)
    for node in (archiving_node, other):
        await node.step("maintain partitions")
    assert await archiving_node.step("archive history")
    assert not await other.step("archive history")
    await clock.set(_BEGIN + 4 * _DAY + timedelta(minutes=3))  # the first one died
    while await other.step("archive history"):
        pass
    assert not await archiving_node.step("archive history")
    await other.stop()
    assert FolderLocation(folder).parts() == ["20260109-1", "20260110-1"]


async def test_executions_that_run_again_on_an_archived_day_are_archived_as_another_part(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 1)
    await clock.set(_BEGIN + 4 * _DAY)
    await archive(archiving_node)
    await archiving_node._partitions.make_for([_BEGIN])
    await write_history(connection, _BEGIN, 1, jobs=4)
    await archive(archiving_node)
    found = {each.part: each.rows("executions") for each in manifests(FolderLocation(folder))}
    assert found == {"20260109-1": 0, "20260110-1": 3, "20260110-2": 4}


async def test_a_tampered_or_missing_file_is_noticed(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 1)
    await clock.set(_BEGIN + 4 * _DAY)
    await archive(archiving_node)
    location = FolderLocation(folder)
    manifest = location.newest_manifest("20260110-1")
    file = Path(location.path("20260110-1", manifest.generation, "executions.parquet"))
    _tamper_with(file)
    with pytest.raises(ArchiveDamaged, match=r"executions\.parquet is not what was written"):
        verify_files(location, manifest)
    _remove(file)
    with pytest.raises(ArchiveDamaged, match=r"executions\.parquet is missing"):
        verify_files(location, manifest)


async def test_a_purged_job_leaves_the_archive_too(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 2)
    await clock.set(_BEGIN + 5 * _DAY)
    await archive(archiving_node)
    location = FolderLocation(folder)
    restored = [each for batch in executions(location, manifests(location), None, None) for each in batch]
    await PostgresRestoredStore(archiving_node._database).keep(restored, _DAY)
    await archiving_node.purges.purge(1, _FAILED_JOB)
    assert (await archiving_node.purges.progress(1, _FAILED_JOB)).is_in_archive
    with pytest.raises(NotFound):
        await _shown(archiving_node, _FAILED_JOB)
    await clock.set(_BEGIN + 5 * _DAY + timedelta(minutes=2))
    while await archiving_node.step("delete purged jobs"):
        pass
    await archive(archiving_node)
    progress = await archiving_node.purges.progress(1, _FAILED_JOB)
    assert (progress.is_in_archive, progress.removed["archived_executions"]) == (False, 2)
    left = manifests(location)
    assert [each.rows("executions") for each in left] == [0, 2, 2]
    assert [len(location.generations(each.part)) for each in left] == [1, 1, 1]
    for manifest in left:
        verify_files(location, manifest)
        assert all("j2" not in rows["job_id"].to_pylist() for _, rows in read_tables(location, manifest))
    assert await PostgresRestoredStore(archiving_node._database).keep(restored, _DAY) == 4


@pytest.mark.timeout(1200)
async def test_a_year_is_archived_dropped_queried_and_restored(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    """The clock goes on by a week each time, as the days of a year do."""
    weeks = 52
    for week in range(weeks):
        begin = _BEGIN + 7 * week * _DAY
        await clock.set(begin)
        await archive(archiving_node)
        await write_history(connection, begin, 7)
    await clock.set(_BEGIN + (7 * weeks + 4) * _DAY)
    await archive(archiving_node)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 0
    location = FolderLocation(folder)
    found = manifests(location)
    assert len(found) == 1 + 7 * weeks + 1
    for manifest in found:
        verify_files(location, manifest)
    sql = "SELECT status, count(*) FROM executions GROUP BY status ORDER BY status"
    assert list(query(location, found, sql).rows) == [
        ("completed", 7 * weeks), ("failed", 7 * weeks), ("skipped", 7 * weeks),
    ]  # fmt: skip
    joined = """
        SELECT count(*), min(a.error_message), max(e.scheduled_for)
        FROM attempts a JOIN executions e USING (execution_id)
        JOIN logs l ON l.execution_id = a.execution_id AND l.attempt = a.attempt
        WHERE l.level = 'error'
    """
    last = _BEGIN + (7 * weeks - 1) * _DAY
    assert [(n, text, at.astimezone(UTC)) for n, text, at in query(location, found, joined).rows] == [
        (7 * weeks, "no 3", last)
    ]
    of_job = [each for batch in executions(location, found, None, "j2") for each in batch]
    assert [each.key.scheduled_for for each in of_job] == [_BEGIN + day * _DAY for day in range(7 * weeks)]
    of_day = [each for batch in executions(location, found, last.date(), None) for each in batch]
    assert await PostgresRestoredStore(archiving_node._database).keep(of_day, _DAY) == 3
    attempts = await archiving_node.history.attempts(1, _FAILED_JOB, last)
    assert [attempt.error.message for attempt in attempts] == ["no 1", "no 2", "no 3"]


async def test_nothing_is_archived_or_imported_without_the_setting(
    still_node: Node, clock: SettableClock
) -> None:
    await clock.set(datetime.now(UTC) + 60 * _DAY)
    assert isinstance(still_node._partitions, Partitions)
    await still_node.step("maintain partitions")
    with pytest.raises(KeyError):
        await still_node.step("archive history")
    assert await still_node.archive.state() is None
