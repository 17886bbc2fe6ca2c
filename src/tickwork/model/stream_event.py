"""Events as users follow them: what happened to jobs, executions, workers, queues, breakers, API keys, pings and nodes.

Most are *news*: durable, in order, kept as long as the history. What every execution does is the *pulse*: live only,
sampled when there is very much of it, and sent only to those who ask for its kinds.
"""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from tickwork.model.field_types import Instant
from tickwork.model.public_ids import execution_id, job_id


class EventKind(StrEnum):
    JOB_CREATED = "job.created"
    JOB_CHANGED = "job.changed"
    JOB_PAUSED = "job.paused"
    JOB_RESUMED = "job.resumed"
    JOB_CANCELLED = "job.cancelled"
    JOB_FAILED = "job.failed"
    JOB_PURGED = "job.purged"
    EXECUTION_RETRYING = "execution.retrying"
    EXECUTION_LOST = "execution.lost"
    EXECUTION_FAILED = "execution.failed"
    EXECUTION_SNOOZED = "execution.snoozed"
    EXECUTION_RECOVERED = "execution.recovered"
    EXECUTION_SKIPPED = "execution.skipped"
    EXECUTION_MISSED = "execution.missed"
    EXECUTION_CANCELLED = "execution.cancelled"
    EXECUTION_LATE = "execution.late"
    EXECUTION_SLOW = "execution.slow"
    EXECUTION_BLOCKED = "execution.blocked"
    EXECUTION_EDITED = "execution.edited"
    DEADLINE_ENDANGERED = "deadline.endangered"
    BACKFILL_ENDED = "backfill.ended"
    WORKFLOW_ENDED = "workflow.ended"
    DEAD_LETTERS_EXCEEDED = "deadletters.exceeded"
    DEAD_LETTERS_RECEDED = "deadletters.receded"
    BREAKER_OPENED = "breaker.opened"
    BREAKER_CLOSED = "breaker.closed"
    WORKER_JOINED = "worker.joined"
    WORKER_LOST = "worker.lost"
    WORKER_LEFT = "worker.left"
    QUEUE_CHANGED = "queue.changed"
    QUEUE_PAUSED = "queue.paused"
    QUEUE_RESUMED = "queue.resumed"
    QUEUE_STUCK = "queue.stuck"
    QUEUE_RECOVERED = "queue.recovered"
    KEY_CREATED = "key.created"
    KEY_REVOKED = "key.revoked"
    PING_LATE = "ping.late"
    PING_MISSING = "ping.missing"
    PING_FAILED = "ping.failed"
    PING_RECOVERED = "ping.recovered"
    PING_SLOW = "ping.slow"
    NODE_SILENT = "node.silent"
    NODE_BACK = "node.back"
    DATABASE_FAILOVER = "database.failover"
    COMMITS_LOST = "commits.lost"
    CLUSTER_PAUSED = "cluster.paused"
    CLUSTER_RESUMED = "cluster.resumed"
    CLUSTER_RESTORED = "cluster.restored"
    # The pulse
    EXECUTION_STARTED = "execution.started"
    EXECUTION_COMPLETED = "execution.completed"
    PULSE_SAMPLED = "pulse.sampled"


PULSE = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_COMPLETED, EventKind.PULSE_SAMPLED})
LATE_AFTER = 60.0  # seconds from its due time until an execution that starts is an event
SLOW_AFTER = 300.0  # seconds of running that are an event


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    at: Instant
    id: int | None = None  # its place in the stream; the pulse has none
    job_id: str | None = None
    execution_id: str | None = None
    job_name: str | None = None
    job_key: str | None = None
    task: str | None = None
    queue: str | None = None
    attempt: int | None = None
    error_type: str | None = None
    fingerprint: str | None = None
    detail: dict[str, Any] = {}


class NumberedEvent(NamedTuple):
    """An event in its place in the stream."""

    number: int  # 0 for the pulse
    tenant_id: int
    tags: Collection[str]
    event: StreamEvent


class EventFilter(NamedTuple):
    kinds: frozenset[str] = frozenset()  # none: all news
    job: str | None = None
    task: str | None = None
    queue: str | None = None
    tag: str | None = None

    @property
    def wants_pulse(self) -> bool:
        return not PULSE.isdisjoint(self.kinds)

    def admits(self, each: NumberedEvent) -> bool:
        event = each.event
        if event.kind == EventKind.PULSE_SAMPLED:
            return self.wants_pulse
        if each.number and event.kind in PULSE:
            return False  # stored for notifications only; followers hear of it through the pulse
        return (
            (event.kind in self.kinds if self.kinds else event.kind not in PULSE)
            and self.job in (None, event.job_id)
            and self.task in (None, event.task)
            and self.queue in (None, event.queue)
            and (self.tag is None or self.tag in each.tags)
        )


def fingerprint_text(fingerprint: int) -> str:
    """As users see it: 16 hexadecimal digits."""
    return f"{fingerprint & (1 << 64) - 1:016x}"


def ids(job: int | None, scheduled_for: datetime | None) -> tuple[str | None, str | None]:
    """The ids of the job and of the execution that an event is about."""
    if job is None:
        return None, None
    return job_id(job), execution_id(job, scheduled_for) if scheduled_for else None
