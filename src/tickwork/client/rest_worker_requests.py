"""Builds the requests of a REST worker. Each is safe to send again after a lost answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tickwork.client.build_requests import Call, given, post
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.rest_worker import (
    CheckpointReport,
    ClaimedWork,
    ClaimRequest,
    CompleteReport,
    ErrorReport,
    FailReport,
    Heartbeat,
    LoadReport,
    LogText,
    ProgressReport,
    RecallRequest,
    RegisteredWorker,
    ReportedAttempt,
    StartReport,
    StepReport,
    TaskRequest,
    WorkerRequest,
)
from tickwork.model.worker import WorkerView


def register_worker(
    name: str,
    tasks: Sequence[str | TaskRequest],
    *,
    queues: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    slots: int = 1,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str | float] | None = None,
) -> Call[RegisteredWorker]:
    """Register a REST worker."""
    request = WorkerRequest(
        name=name,
        tasks=list(tasks),
        queues=list(queues),
        weights=dict(weights or {}),
        slots=slots,
        labels=dict(labels or {}),
        resources=dict(resources or {}),
    )
    return post("workers", answer=RegisteredWorker, body=request)


def heartbeat_worker(
    worker_id: str,
    *,
    load: LoadReport | Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str | float] | None = None,
) -> Call[Heartbeat]:
    """Renew the lease of a worker. `load` is what it measured of its machine; labels and resources replace those that
    it had. Raises LeaseGone if it must register again."""
    body = given({"load": load, "labels": labels, "resources": resources})
    return post("workers", worker_id, "heartbeat", answer=Heartbeat, body=body or None)


def claim_executions(worker_id: str, *, max: int = 1, wait: float = 0.0) -> Call[ClaimedWork]:  # noqa: A002 (its name in the API)
    """The executions that the worker has and has not started, or else up to `max` new ones. `wait` is in seconds and
    must be less than the client's timeout."""
    return post("workers", worker_id, "claim", answer=ClaimedWork, body=ClaimRequest(max, wait))


def drain_worker(worker_id: str) -> Call[WorkerView]:
    """Drain a worker of any kind: it accepts nothing new, finishes what it has and leaves."""
    return post("workers", worker_id, "drain", answer=WorkerView)


def start_execution(execution_id: str, attempt: int) -> Call[ReportedAttempt]:
    """Report that an attempt has started. Raises StaleAttempt if it does not belong to this worker."""
    return _report(execution_id, "start", StartReport(attempt))


def report_progress(
    execution_id: str,
    attempt: int,
    fraction: float | None = None,
    message: str | None = None,
    *,
    log: Sequence[str | LogText] = (),
    first_line: int = 0,
) -> Call[ReportedAttempt]:
    """Report the progress and log lines of an attempt. `first_line` is the number of the first line in the attempt."""
    report = ProgressReport(
        attempt=attempt, fraction=fraction, message=message, log=list(log), first_line=first_line
    )
    return _report(execution_id, "progress", report)


def store_checkpoint(
    execution_id: str,
    attempt: int,
    *,
    steps: Mapping[str, Any] | None = None,
    state: Any | UnsetType = UNSET,
    number: int | None = None,
) -> Call[ReportedAttempt]:
    """Store steps that are done, with their results by name, or a new state, for the attempts after this one. `number`
    counts the states of the attempt from 1."""
    done = [StepReport(name=name, result=result) for name, result in (steps or {}).items()]
    report = CheckpointReport(attempt=attempt, steps=done, state=state, number=number)
    return _report(execution_id, "checkpoint", report)


def recall_checkpoint(execution_id: str, attempt: int) -> Call[CheckpointView]:
    """What the attempts before this one have stored. Raises StaleAttempt if it does not belong to this worker."""
    return post("executions", execution_id, "recall", answer=CheckpointView, body=RecallRequest(attempt))


def complete_execution(execution_id: str, attempt: int, result: Any = None) -> Call[ReportedAttempt]:
    """Report that an attempt completed, with its result."""
    return _report(execution_id, "complete", CompleteReport(attempt, result))


def fail_execution(
    execution_id: str,
    attempt: int,
    type: str,  # noqa: A002 (its name in the API)
    message: str,
    *,
    traceback: str | None = None,
    retry: bool = True,
    retry_after: str | float = 0.0,
) -> Call[ReportedAttempt]:
    """Report that an attempt failed, and why. `retry=False` means that a retry is useless."""
    error = ErrorReport(type, message, traceback)
    report = FailReport(attempt=attempt, error=error, retry=retry, retry_after=retry_after)
    return _report(execution_id, "fail", report)


def _report(execution_id: str, action: str, report: msgspec.Struct) -> Call[ReportedAttempt]:
    return post("executions", execution_id, action, answer=ReportedAttempt, body=report)
