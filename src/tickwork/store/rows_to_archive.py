"""Reads the day that is being archived, some hundred rows at a time, by their keys.

Nobody else writes to these tables, so many short reads see the same as a long one, and hold no old snapshot.
"""

from collections.abc import Iterable, Mapping, Sequence

import asyncpg
import msgspec

from tickwork.model.execution import AttemptError, AttemptView, ExecutionKey, ExecutionView
from tickwork.model.process_limits import UsageView
from tickwork.model.public_ids import execution_id, job_id, parse_worker_id, worker_id
from tickwork.store.log_store import entries_of
from tickwork.store.past_attempt_input_store import CLOCK_ERROR, input_view
from tickwork.store.pool import Database
from tickwork.store.port.archive import SYSTEM_END, ArchivePage, ArchiveRow, Place
from tickwork.store.query_files import queries
from tickwork.store.row_views import attempt_of, current_attempt, execution_of, with_worker_log_and_usage

_EXECUTIONS = 250  # read at once: each may have a payload and a result of 256 KB
_CHUNKS = 200  # of logs, of 16 KB
_CHECKPOINTS = 100  # of 256 KB at most
_NO_TAILS: Mapping[int, Sequence[str]] = {}


class PostgresSealedRows:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("rows_to_archive")

    async def executions(self, after: Place) -> ArchivePage:
        rows = await self._database.fetch(self._sql["sealed_executions"], *after, _EXECUTIONS)
        if not rows:
            return ArchivePage({"executions": [], "attempts": []}, None)
        inputs = await self._database.fetch(self._sql["sealed_inputs"], *after, _EXECUTIONS, CLOCK_ERROR)
        views = {_key(row): execution_of(row) for row in rows}
        executions = [
            _execution_row(row, views[_key(row)], given) for row, given in zip(rows, inputs, strict=True)
        ]
        attempts = await self._attempts(views)
        end = _key(rows[-1]) if len(rows) == _EXECUTIONS else None
        return ArchivePage({"executions": executions, "attempts": attempts}, end)

    async def _attempts(self, views: Mapping[ExecutionKey, ExecutionView]) -> list[ArchiveRow]:
        keys = list(views)
        noted: dict[ExecutionKey, list[AttemptView]] = {key: [] for key in keys}
        for row in await self._database.fetch(self._sql["sealed_attempts"], *keys[0], *keys[-1]):
            if _key(row) in noted:
                noted[_key(row)].append(attempt_of(row))
        for key, execution in views.items():
            current = current_attempt(execution)
            if current and current.attempt not in {attempt.attempt for attempt in noted[key]}:
                noted[key].append(current)
        workers = await self._workers(noted.values())
        usage = await self._usage(keys)
        return [
            _attempt_row(key, with_worker_log_and_usage(attempt, workers, _NO_TAILS, usage.get(key, {})))
            for key, attempts in noted.items()
            for attempt in attempts
        ]

    async def _workers(self, noted: Iterable[Sequence[AttemptView]]) -> dict[str, asyncpg.Record]:
        numbers = {parse_worker_id(each.worker) for attempts in noted for each in attempts if each.worker}
        names = queries("read_jobs_executions_workers")["worker_names"]
        return {worker_id(row["id"]): row for row in await self._database.fetch(names, sorted(numbers))}

    async def _usage(self, keys: Sequence[ExecutionKey]) -> dict[ExecutionKey, dict[int, UsageView]]:
        """Of these executions. A job belongs to one tenant."""
        by_due_time = {(key.scheduled_for, key.job_id): key for key in keys}
        times, jobs = zip(*by_due_time, strict=True)
        usage: dict[ExecutionKey, dict[int, UsageView]] = {}
        for row in await self._database.fetch(self._sql["sealed_usage"], times, jobs):
            key = by_due_time[row["scheduled_for"], row["job_id"]]
            usage.setdefault(key, {})[row["attempt"]] = UsageView(row["cpu_seconds"], row["peak_memory"])
        return usage

    async def logs(self, after: Place) -> ArchivePage:
        place = (*after, 0, 0) if after == SYSTEM_END else after
        rows = await self._database.fetch(self._sql["sealed_log"], *place, _CHUNKS)
        lines = [
            _identity(_key(row))
            | {
                "attempt": entry.attempt,
                "line": entry.line,
                "at": entry.at,
                "level": entry.level,
                "text": entry.text,
            }
            for row in rows
            for entry in entries_of(row)
        ]
        last = (*_key(rows[-1]), rows[-1]["attempt"], rows[-1]["first_line"]) if rows else None
        return ArchivePage({"logs": lines}, last if len(rows) == _CHUNKS else None)

    async def checkpoints(self, after: Place) -> ArchivePage:
        place = (*after, "") if after == SYSTEM_END else after
        rows = await self._database.fetch(self._sql["sealed_checkpoints"], *place, _CHECKPOINTS)
        found = [
            _identity(_key(row))
            | {name: row[name] for name in ("attempt", "number", "stored_at", "took", "step")}
            | {"value": _text(row["value"])}
            for row in rows
        ]
        last = (*_key(rows[-1]), rows[-1]["step"]) if rows else None
        return ArchivePage({"checkpoints": found}, last if len(rows) == _CHECKPOINTS else None)

    async def count_executions(self) -> int:
        (row,) = await self._database.fetch(self._sql["count_sealed_executions"])
        count: int = row["count"]
        return count


def _key(row: asyncpg.Record) -> ExecutionKey:
    return ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"])


def _identity(key: ExecutionKey) -> ArchiveRow:
    return {
        "tenant_id": key.tenant_id,
        "execution_id": execution_id(key.job_id, key.scheduled_for),
        "job_id": job_id(key.job_id),
        "scheduled_for": key.scheduled_for,
    }


def _execution_row(row: asyncpg.Record, view: ExecutionView, given: asyncpg.Record) -> ArchiveRow:
    return _identity(_key(row)) | {
        "tenant": row["tenant"],
        "job_name": view.job_name,
        "job_key": row["job_key"],
        "tags": row["tags"] or [],
        "task": view.task,
        "queue": row["queue"],
        "status": view.status.value,
        "trigger": view.trigger.value,
        "priority": row["priority"],
        "due_at": view.due_at,
        "started_at": view.started_at,
        "finished_at": view.finished_at,
        "attempt": view.attempt,
        "max_attempts": view.max_attempts,
        "worker": view.worker,
        "progress": None if view.progress is None else _json(view.progress),
        "result": None if view.result is None else _json(view.result),
        "reason": view.reason,
        "input": _json(input_view(_key(row), given)),
        **_error(view.error),
    }


def _attempt_row(key: ExecutionKey, attempt: AttemptView) -> ArchiveRow:
    return _identity(key) | {
        "attempt": attempt.attempt,
        "outcome": attempt.outcome.value if attempt.outcome else None,
        "worker": attempt.worker,
        "worker_name": attempt.worker_name,
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
        "silent_for": attempt.silent_for,
        "cpu_seconds": attempt.usage.cpu_seconds if attempt.usage else None,
        "peak_memory": attempt.usage.peak_memory if attempt.usage else None,
        **_error(attempt.error),
    }


def _error(error: AttemptError | None) -> ArchiveRow:
    return {
        "error_type": error.type if error else None,
        "error_message": error.message if error else None,
        "error_traceback": error.traceback if error else None,
    }


def _json(value: object) -> str:
    return _text(msgspec.json.encode(value))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
