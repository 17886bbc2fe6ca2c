"""A backfill: runs a job for due times in the past, a limited number at a time."""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Instant

Order = Literal["oldest", "newest"]
Policy = Literal["missing", "failed"]  # failed: also those that failed or were skipped


class BackfillStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class BackfillRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}
):
    """A backfill as users write it: the body of POST /jobs/{id}/backfill."""

    from_: Instant
    to: Instant
    order: Order = "oldest"
    max_active: Annotated[int, Meta(ge=1, le=1000)] = 1
    policy: Policy = "missing"
    dry_run: bool = False


class BackfillPlan(msgspec.Struct, frozen=True):
    """What a backfill would run: how many due times, and between which."""

    total: int
    first: Instant | None
    last: Instant | None


class BackfillView(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A backfill as shown to users."""

    id: str
    job_id: str
    from_: Instant
    to: Instant
    order: Order
    policy: Policy
    max_active: int
    total: int  # due times to run
    made: int  # due times that have an execution by now
    active: int  # executions that have not ended
    completed: int
    failed: int
    status: BackfillStatus
    created_at: Instant
    ended_at: Instant | None  # of a cancelled one, when the last of its executions ended
