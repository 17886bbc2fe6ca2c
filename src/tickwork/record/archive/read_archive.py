"""Reads the archive: which days there are, SQL over all of them, and executions as the API showed them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import duckdb
import msgspec
import pyarrow as pa
from pyarrow import compute, dataset

from tickwork.model.archive import ARCHIVE_TABLES, ArchiveTable, Manifest
from tickwork.model.attempt_log import LogEntry
from tickwork.model.execution import (
    AttemptError,
    AttemptOutcome,
    AttemptView,
    ExecutionKey,
    ExecutionStatus,
    ExecutionView,
    Progress,
    Trigger,
)
from tickwork.model.past_attempt_input import ExecutionInput
from tickwork.model.process_limits import UsageView
from tickwork.model.public_ids import parse_job_id
from tickwork.record.archive.archive_storage import Location
from tickwork.record.archive.part_files import SCHEMAS
from tickwork.store.port.archive import ArchiveRow, RestoredExecution

_LOG_TAIL = 20  # lines that the API shows of an attempt that did not complete
_TOGETHER = 500  # executions that are read at once
_ROWS = 1000  # of an answer that are read at once


def manifests(location: Location) -> list[Manifest]:
    """Of all parts, oldest first. ArchiveDamaged if one cannot be read."""
    found = (location.newest_manifest(part) for part in location.parts())
    return sorted((each for each in found if each), key=lambda each: (each.begin, each.number))


def parts_of_day(found: Sequence[Manifest], day: date) -> list[Manifest]:
    """A day may also be in the part of a month."""
    return [each for each in found if each.begin.date() <= day < each.end.date()]


class Answer(NamedTuple):
    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


def query(location: Location, found: Sequence[Manifest], sql: str) -> Answer:
    """Run SQL over views that are named as the tables. It can read nothing else of this machine."""
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    connection.execute("SET TimeZone = 'UTC'")
    for table in ARCHIVE_TABLES:
        connection.register(table, _dataset(location, found, table))
    connection.execute("SET enable_external_access = false")
    asked = connection.sql(sql)
    if asked is None:
        raise duckdb.InvalidInputException("this has no answer: write a SELECT")
    answer = asked.to_arrow_reader(_ROWS)
    return Answer(answer.schema.names, _rows(answer))


def _rows(answer: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    """By Arrow: DuckDB itself needs another package for times with a zone."""
    for batch in answer:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def executions(
    location: Location, found: Sequence[Manifest], day: date | None, job: str | None
) -> Iterator[list[RestoredExecution]]:
    """Executions as the API showed them, of a day, of a job, or both; some hundred at a time."""
    wanted = _wanted(day, job)
    for manifest in found:
        tables = {table: _dataset(location, [manifest], table) for table in ARCHIVE_TABLES}
        batches = tables["executions"].to_batches(filter=wanted, batch_size=_TOGETHER)
        for batch in batches:
            if batch.num_rows:
                yield _restored(batch.to_pylist(), tables)


def _wanted(day: date | None, job: str | None) -> compute.Expression | None:
    conditions = []
    if day is not None:
        begin, at = datetime.combine(day, time(), UTC), dataset.field("scheduled_for")
        conditions.append((at >= begin) & (at < begin + timedelta(days=1)))
    if job is not None:
        conditions.append(dataset.field("job_id") == job)
    return conditions[0] & conditions[-1] if conditions else None


def _dataset(location: Location, found: Sequence[Manifest], table: ArchiveTable) -> dataset.Dataset:
    paths = [
        location.path(each.part, each.generation, file.name)
        for each in found
        for file in each.files
        if file.table == table
    ]
    schema = SCHEMAS[table]
    if not paths:
        return dataset.dataset(pa.Table.from_pylist([], schema))
    return dataset.dataset(paths, schema, format="parquet", filesystem=location.files)


def _restored(
    rows: Sequence[ArchiveRow], tables: dict[ArchiveTable, dataset.Dataset]
) -> list[RestoredExecution]:
    """Both other tables are sorted by due time, so that only a part of each is read."""
    times = [row["scheduled_for"] for row in rows]
    at, name = dataset.field("scheduled_for"), dataset.field("execution_id")
    ids = pa.array([row["execution_id"] for row in rows])
    of_these = (at >= min(times)) & (at <= max(times)) & name.isin(ids)
    logs = _by_execution(tables["logs"].to_table(filter=of_these).to_pylist(), "line")
    attempts = _by_execution(tables["attempts"].to_table(filter=of_these).to_pylist(), "attempt")
    return [_execution(row, attempts, logs) for row in rows]


def _by_execution(rows: list[ArchiveRow], order: str) -> dict[str, list[ArchiveRow]]:
    found: dict[str, list[ArchiveRow]] = {}
    for row in sorted(rows, key=lambda row: (row["attempt"], row[order])):
        found.setdefault(row["execution_id"], []).append(row)
    return found


def _execution(
    row: ArchiveRow, attempts: dict[str, list[ArchiveRow]], logs: dict[str, list[ArchiveRow]]
) -> RestoredExecution:
    name = row["execution_id"]
    log = [
        LogEntry(
            attempt=line["attempt"], line=line["line"], at=line["at"], level=line["level"], text=line["text"]
        )
        for line in logs.get(name, ())
    ]
    return RestoredExecution(
        ExecutionKey(row["tenant_id"], row["scheduled_for"], parse_job_id(row["job_id"])),
        _execution_view(row),
        [_attempt_view(each, log) for each in attempts.get(name, ())],
        msgspec.json.decode(row["input"], type=ExecutionInput),
        log,
        row["tenant"] or "",
    )


def _execution_view(row: ArchiveRow) -> ExecutionView:
    return ExecutionView(
        id=row["execution_id"],
        job_id=row["job_id"],
        job_name=row["job_name"],
        task=row["task"],
        status=ExecutionStatus(row["status"]),
        waiting_for=None,
        trigger=Trigger(row["trigger"]),
        scheduled_for=row["scheduled_for"],
        due_at=row["due_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        worker=row["worker"],
        progress=None if row["progress"] is None else msgspec.json.decode(row["progress"], type=Progress),
        result=None if row["result"] is None else msgspec.Raw(row["result"].encode()),
        error=_error(row),
        reason=row["reason"],
    )


def _attempt_view(row: ArchiveRow, log: Sequence[LogEntry]) -> AttemptView:
    outcome = AttemptOutcome(row["outcome"]) if row["outcome"] else None
    lines = [entry.text for entry in log if entry.attempt == row["attempt"]]
    failed = outcome not in (None, AttemptOutcome.COMPLETED)
    used = row["cpu_seconds"] is not None
    return AttemptView(
        attempt=row["attempt"],
        outcome=outcome,
        worker=row["worker"],
        worker_name=row["worker_name"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        silent_for=row["silent_for"],
        log_tail="\n".join(lines[-_LOG_TAIL:]) if failed and lines else None,
        usage=UsageView(row["cpu_seconds"], row["peak_memory"]) if used else None,
        error=_error(row),
    )


def _error(row: ArchiveRow) -> AttemptError | None:
    if row["error_type"] is None:
        return None
    return AttemptError(row["error_type"], row["error_message"], row["error_traceback"])
