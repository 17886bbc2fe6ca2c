"""Turns rows into the views that users see."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import msgspec

from tickwork.model.execution import (
    AttemptError,
    AttemptOutcome,
    AttemptView,
    Blocking,
    ExecutionStatus,
    ExecutionView,
    Trigger,
    WaitingFor,
)  # fmt: skip
from tickwork.model.job import JobRequest, JobStatus, JobView, job_view
from tickwork.model.job_change_record import ChangeAuthor, ChangeNote, JobChange
from tickwork.model.job_graph import GraphJob, GraphParent
from tickwork.model.job_health import UNKNOWN_STATE, JobState
from tickwork.model.json_limits import raw_json
from tickwork.model.parsed_schedule_and_preview import describe_once
from tickwork.model.process_limits import UsageView
from tickwork.model.public_ids import execution_id, job_id, key_id, worker_id
from tickwork.model.task import TaskView
from tickwork.model.worker import LEASE, WITH_TARGET, WorkerLoad, WorkerView
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.batch_columns import stored
from tickwork.store.log_store import progress_of
from tickwork.store.port.dispatch import NO_CONNECTION

LOG_TAIL = 20  # lines of each attempt's log
_BROKEN_RESULT = "the stored result is not valid JSON, and is not shown"


def job_of(row: asyncpg.Record, state: JobState = UNKNOWN_STATE) -> JobView:
    schedule, words = (
        describe_once(row["scheduled_for"]) if row["timing"] is None else _describe(row["timing"])
    )
    return job_view(
        _request(row),
        row["payload"],
        number=row["id"],
        status=JobStatus(row["status"]),
        schedule=schedule,
        words=words,
        next_run_at=row["next_run_at"],
        once_at=row["scheduled_for"] if row["timing"] is None else None,
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        state=state,
    )


def _describe(text: str) -> tuple[dict[str, Any], str]:
    try:
        timing = timing_from_text(text)
    except Exception:  # noqa: BLE001 (the other jobs of the list must be shown)
        return {}, "the stored schedule cannot be read"
    return timing.canonical, timing.words


def _request(row: asyncpg.Record) -> JobRequest:
    """The stored definition; only the task when it cannot be read, so that the other rows are shown."""
    return stored(row["definition"], JobRequest) or JobRequest(task=row["task"])


def graph_job_of(row: asyncpg.Record) -> GraphJob:
    at = row["scheduled_for"]
    return GraphJob(
        job_id=job_id(row["id"]),
        name=row["name"],
        key=row["key"],
        task=row["task"],
        depends_on=[job_id(parent) for parent in row["parents"]],
        parents=[
            GraphParent(job_id(parent), on, when)
            for parent, on, when in zip(row["parents"], row["needs"], row["conditional"], strict=True)
        ],
        element_of=job_id(row["element_of"]) if row["element_of"] else None,
        execution_id=execution_id(row["id"], at) if at else None,
        scheduled_for=at,
        status=ExecutionStatus(row["status"]) if at else None,
        waiting_for=WaitingFor(row["waiting_for"]) if row["waiting_for"] else None,
        reason=row["reason"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


def change_of(row: asyncpg.Record) -> JobChange:
    """Of an event. One that cannot be read says when and what kind."""
    said = stored((row["detail"] or "{}").encode(), _ChangeDetail) or _ChangeDetail()
    return JobChange(
        at=row["at"],
        kind=row["kind"].removeprefix("job."),
        version=said.version,
        by=said.by,
        fields=said.fields,
        more_fields=said.more_fields,
    )


class _ChangeDetail(ChangeNote, frozen=True, kw_only=True):
    version: int | None = None


def creation_of(row: asyncpg.Record) -> JobChange:
    by = None if row["key_id"] is None else ChangeAuthor(key_id(row["key_id"]), row["key_name"])
    return JobChange(at=row["created_at"], kind="created", version=1, by=by, fields=[])


def blocking_of(row: asyncpg.Record) -> Blocking:
    name = execution_id(row["job_id"], row["scheduled_for"])
    return Blocking(name, job_id(row["job_id"]), ExecutionStatus(row["status"]))


def execution_of(row: asyncpg.Record) -> ExecutionView:
    request = _request(row)
    result = None if row["result"] is None else raw_json(row["result"])
    is_broken = row["result"] is not None and result is None
    return ExecutionView(
        id=execution_id(row["job_id"], row["scheduled_for"]),
        job_id=job_id(row["job_id"]),
        job_name=request.name or request.key,
        task=row["task"],
        status=ExecutionStatus(row["status"]),
        waiting_for=WaitingFor(row["waiting_for"]) if row["waiting_for"] else None,
        trigger=Trigger(row["trigger"]),
        scheduled_for=row["scheduled_for"],
        due_at=row["due_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        attempt=row["attempt"],
        max_attempts=_last_attempt(row, request.retry.policy().max_attempts),
        worker=_worker_name(row),
        progress=progress_of(row["progress"]),
        result=result,
        error=stored(row["error"], AttemptError),
        reason=_BROKEN_RESULT if is_broken else row["reason"],
    )


def _worker_name(row: asyncpg.Record) -> str | None:
    """The worker that has or had the attempt; None where an HTTP target has it."""
    number = row["worker_id"]
    return None if number is None or number == WITH_TARGET else worker_id(number)


def _last_attempt(row: asyncpg.Record, max_attempts: int) -> int:
    """The number of the last attempt if all from here on fail. Attempts that do not count against the retry policy, and
    those before a redrive, are added to what the job allows."""
    attempt: int = row["attempt"]
    this_one_failed = row["status"] == ExecutionStatus.FAILED and row["error"] is not None
    failed_before: int = row["failures"] - this_one_failed
    return max(attempt, attempt - 1 + max_attempts - failed_before)


def attempt_of(row: asyncpg.Record) -> AttemptView:
    return AttemptView(
        attempt=row["attempt"],
        outcome=AttemptOutcome(row["outcome"]),
        worker=_worker_name(row),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        error=stored(row["error"], AttemptError),
    )


def with_worker_log_and_usage(
    attempt: AttemptView,
    workers: Mapping[str, asyncpg.Record],
    tails: Mapping[int, Sequence[str]],
    usage: Mapping[int, UsageView],
) -> AttemptView:
    worker = workers.get(attempt.worker or "")
    silent_for = None
    if worker and attempt.finished_at and attempt.outcome == AttemptOutcome.LOST:
        silent_for = max((attempt.finished_at - (worker["lease_until"] - LEASE)).total_seconds(), 0.0)
    return msgspec.structs.replace(
        attempt,
        worker_name=worker["name"] if worker else None,
        silent_for=silent_for,
        log_tail="\n".join(tails[attempt.attempt][-LOG_TAIL:]) if attempt.attempt in tails else None,
        usage=usage.get(attempt.attempt),
    )


def current_attempt(execution: ExecutionView) -> AttemptView | None:
    """The attempt that is stored in the execution's row: the one that completed, or the one that a worker or an HTTP
    target has."""
    if execution.worker is None and execution.started_at is None:
        return None
    completed = execution.status == ExecutionStatus.COMPLETED
    cancelled = execution.status == ExecutionStatus.CANCELLED
    return AttemptView(
        attempt=execution.attempt,
        outcome=AttemptOutcome.COMPLETED if completed else AttemptOutcome.CANCELLED if cancelled else None,
        worker=execution.worker,
        started_at=execution.started_at,
        finished_at=execution.finished_at,
        error=None,
    )


def worker_of(row: asyncpg.Record) -> WorkerView:
    alive = row["ended_at"] is None and row["lease_until"] > row["now"] - timedelta(seconds=1)
    return WorkerView(
        id=worker_id(row["id"]),
        name=row["name"],
        status="offline" if not alive else "draining" if row["draining"] else "online",
        protocol="rest" if row["connection"] == NO_CONNECTION else "websocket",
        host=row["host"],
        version=row["version"],
        tasks=row["tasks"],
        commands=row["commands"],
        queues=row["queues"],
        weights=msgspec.json.decode(row["weights"]),
        slots=row["slots"],
        holding=row["holding"],
        labels=msgspec.json.decode(row["labels"]),
        resources=(resources := msgspec.json.decode(row["resources"])),
        resources_used=dict.fromkeys(resources, 0.0) | msgspec.json.decode(row["resources_used"] or "{}"),
        load=stored(row["load"].encode(), WorkerLoad) if row["load"] else None,
        started_at=row["started_at"],
        heartbeat_at=row["lease_until"] - LEASE,
        lease_until=row["lease_until"],
        ended_at=row["ended_at"],
    )


def task_of(row: asyncpg.Record) -> TaskView:
    return TaskView(
        name=row["name"],
        parameters=msgspec.json.decode(row["parameters"]),
        description=row["description"],
        defaults=msgspec.json.decode(row["defaults"]),
        workers=[worker_id(number) for number in row["workers"]],
        state="disabled" if row["disabled_at"] else "retired" if row["retired_at"] else "active",
        offered_at=row["offered_at"],
        disabled_at=row["disabled_at"],
        disabled_by=row["disabled_by"],
        disabled_reason=row["disabled_reason"],
        retired_at=row["retired_at"],
        retired_by=row["retired_by"],
        replacement=row["replacement"],
    )
