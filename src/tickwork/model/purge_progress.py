"""A purge: a job is deleted with everything about it, a batch at a time."""

from typing import Literal

import msgspec

from tickwork.model.field_types import Instant
from tickwork.model.job_change_record import ChangeAuthor


class PurgeView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a purge has come. The job's key is free from the beginning."""

    job_id: str
    status: Literal["running", "completed"]
    requested_at: Instant
    requested_by: ChangeAuthor | None
    ended_at: Instant | None
    removed: dict[str, int]  # how many so far: executions, attempts, events and so on
    is_in_archive: bool = False  # the archive may still have something of it: its files are written anew
