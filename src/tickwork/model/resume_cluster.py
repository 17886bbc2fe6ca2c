"""What a paused cluster will do when it is resumed, and what the operator chooses about it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.model.cluster import PauseView, RestoreView
from tickwork.model.field_types import Instant


class PauseRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class ResumeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`catch_up` and `on_worker_lost`: as each job says itself."""

    missed: Literal["catch_up", "skip"] = "catch_up"
    running: Literal["on_worker_lost", "retry", "cancel"] = "on_worker_lost"
    overdue: Literal["run", "cancel"] = "run"


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. If there was too much for one request, the cluster is still paused: repeat the request."""

    resumed: bool
    skipped_rules: int  # schedules whose missed due times were skipped
    retried: int  # executions
    cancelled: int  # executions


class MissedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring job that was due while the cluster was paused or its database was away."""

    tenant: str
    job_id: str
    name: str | None
    key: str | None
    task: str
    first_at: Instant
    last_at: Instant  # of those that were counted
    due: int
    due_is_exact: bool  # false: there are more
    runs: int  # how many of them run by the job's catch-up policy
    catch_up: str


class InterruptedExecution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution that runs as far as the database knows, on a worker that has no lease any more."""

    tenant: str
    id: str
    job_id: str
    name: str | None
    task: str
    scheduled_for: Instant
    attempt: int
    started_at: Instant | None
    worker: str | None  # null: the target of an HTTP job that finishes later
    on_worker_lost: Literal["retry", "fail"] | None  # null: the job cannot be read


class OverdueExecution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution that is due and was not handed over."""

    tenant: str
    id: str
    job_id: str
    name: str | None
    task: str
    scheduled_for: Instant
    attempt: int
    one_time: bool  # it is the only one of its job


class ResumeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to decide before the cluster is resumed. Each list has the oldest, up to `limit`. Counts end at
    10,000."""

    at: Instant
    paused: PauseView | None
    restored: RestoreView | None
    missed_jobs: int
    missed: list[MissedJob]
    interrupted_executions: int
    interrupted: list[InterruptedExecution]
    overdue_executions: int
    overdue: list[OverdueExecution]
