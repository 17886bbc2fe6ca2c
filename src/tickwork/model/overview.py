"""How things stand, in one answer."""

import msgspec

from tickwork.model.circuit_breaker import BreakerView
from tickwork.model.error_group import ErrorGroupView
from tickwork.model.field_types import Instant
from tickwork.model.queue import QueueView
from tickwork.model.statistics import Percentiles


class FailingJob(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring job whose last execution failed for good."""

    job_id: str
    name: str | None
    key: str | None
    task: str
    queue: str
    failures_in_a_row: int
    failing_since: Instant
    last_failed_at: Instant


class RecentCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to executions in the last 24 hours."""

    fired: int
    started: int
    completed: int
    failed: int
    retried: int
    skipped: int
    missed: int
    lost: int
    cancelled: int
    success_share: float | None  # of those that completed or failed; null if there were none
    start_delay: Percentiles | None
    run_time: Percentiles | None


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What waits in all queues."""

    waiting: int
    exact: bool
    running: int
    oldest_age: float | None  # seconds
    oldest_queue: str | None
    stuck_queues: list[str]  # not paused, and the oldest execution has waited for more than a minute
    paused_queues: int


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The workers, and for how many attempts they have room. The built-in workers run HTTP jobs."""

    workers: int
    slots: int
    slots_busy: int
    http_slots: int
    http_slots_busy: int
    silent_workers: int  # not offline, but without a heartbeat for longer than they should be


class NextRun(msgspec.Struct, frozen=True, kw_only=True):
    """The next due time of a job."""

    at: Instant
    job_id: str
    name: str | None
    key: str | None
    task: str | None
    queue: str


class SilentWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is not offline, but has sent no heartbeat for longer than it should."""

    id: str
    name: str
    heartbeat_at: Instant
    holding: int  # executions; others get them when its lease ends


class OverviewView(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand. Counts that end at a limit say so."""

    at: Instant
    paused: bool = False  # the cluster is: nothing fires or is handed over
    last_24_hours: RecentCounts
    failing_jobs: int
    failing_jobs_exact: bool
    worst: list[FailingJob]  # up to 20 of the failing jobs, the latest failure first
    dead_letters: int
    dead_letters_exact: bool
    causes: list[
        ErrorGroupView
    ]  # up to 20 that left dead letters or failed within the last hour, the latest first
    open_breakers: int
    breakers: list[BreakerView]  # up to 20 that are not closed
    failing_pings: int  # that stay away or reported a failure
    backlog: Backlog
    queues: list[
        QueueView
    ]  # up to 20 that are paused, or in which something runs or waits; the fullest first
    unserved_queues: list[str]  # those of them that no worker serves
    capacity: Capacity
    silent: list[SilentWorker]  # up to 20
    next_runs: list[NextRun]  # up to 8
