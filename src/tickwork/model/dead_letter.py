"""An execution that ended as failed, kept until somebody redrives or discards it."""

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tickwork.model.execution import AttemptError, ExecutionKey, Trigger
from tickwork.model.field_types import Instant

WORKER_LOST = (
    "WorkerLost"  # the filter `error` for executions that lost their worker: they have no error of their own
)
CHUNK = 5000  # dead letters in one transaction


class DeadLetterFilter(NamedTuple):
    task: str | None = None
    queue: str | None = None
    job: int | None = None
    error: str | None = None  # a type, with or without its module
    since: datetime | None = None
    until: datetime | None = None
    fingerprint: int | None = None  # of the cause


class DeadLetterChoice(NamedTuple):
    """Which dead letters: the given keys, or all that match the filter."""

    keys: list[ExecutionKey] | None = None
    filter: DeadLetterFilter = DeadLetterFilter()


class RedrivePace(NamedTuple):
    """When redriven executions become ready: one per interval, from `start_at`."""

    start_at: datetime | None = None  # now
    interval: timedelta = timedelta(0)
    most: int = 1_000_000


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter as shown to users. Its id is that of the execution, which has the traceback and all attempts."""

    id: str
    job_id: str
    job_name: str | None
    job_key: str | None
    task: str
    queue: str
    trigger: Trigger
    scheduled_for: Instant
    failed_at: Instant
    attempts: int
    reason: str | None
    error: AttemptError | None


class Refused(msgspec.Struct, frozen=True):
    id: str
    reason: str


class Redriven(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a redrive."""

    redriven: int
    as_of: Instant  # later failures are not included
    last_at: Instant | None  # when the last of them is ready; None when there is none
    not_found: list[str] = []
    refused: list[Refused] = []


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a discard."""

    discarded: int
    not_found: list[str] = []
