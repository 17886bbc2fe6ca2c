"""How a job is doing: its last run, what runs now, and whether it needs attention."""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Instant

Health: TypeAlias = Literal["ok", "failing", "late", "blocked", "unknown"]
HISTORY = 100  # the latest executions that shares and durations are computed from
_MEDIAN, _P95 = 0.5, 0.95


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """The execution of a job that ended last. Skipped ones did not run."""

    execution_id: str
    status: ExecutionStatus
    scheduled_for: Instant
    started_at: Instant | None
    finished_at: Instant
    duration: float | None  # seconds


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One of the latest executions of a job."""

    id: str
    status: ExecutionStatus
    scheduled_for: Instant
    duration: float | None  # seconds; null if it has not run to an end


class JobState(NamedTuple):
    """How a job is doing, as lists show it."""

    last_run: LastRun | None
    running: int
    failures_in_a_row: int
    failing_since: datetime | None
    health: Health


UNKNOWN_STATE = JobState(None, 0, 0, None, "unknown")


class HeartbeatView(msgspec.Struct, frozen=True, kw_only=True):
    """The heartbeat URL of a job, and what its last call came to."""

    url: str
    called_at: Instant | None
    error: str | None  # of the last call
    failures: int  # calls that failed since an execution completed


class JobHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """How a job is doing, with its record: the answer to GET /jobs/{id}/health."""

    job_id: str
    health: Health
    last_run: LastRun | None
    running: int
    failures_in_a_row: int
    failing_since: Instant | None
    runs: int  # of the latest executions, those that ran and ended
    success_share: float | None  # of these runs; None: there were none
    typical_duration: float | None  # the median, in seconds
    p95_duration: float | None
    next_runs: list[Instant]
    heartbeat: HeartbeatView | None = None  # null: the job has no heartbeat URL


def health_of(*, failing: bool, blocked: bool, late: bool, has_run: bool) -> Health:
    """What needs attention most comes first."""
    if failing:
        return "failing"
    if blocked:
        return "blocked"
    if late:
        return "late"
    return "ok" if has_run else "unknown"


class DurationSummary(NamedTuple):
    typical: float | None
    p95: float | None


def summarize(durations: list[float]) -> DurationSummary:
    """Exact, by rank: there are at most HISTORY of them."""
    ranked = sorted(durations)
    return DurationSummary(_at_rank(ranked, _MEDIAN), _at_rank(ranked, _P95))


def _at_rank(ranked: list[float], share: float) -> float | None:
    return ranked[min(int(len(ranked) * share), len(ranked) - 1)] if ranked else None
