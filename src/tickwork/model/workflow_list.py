"""A workflow in a list: jobs that depend on each other, told by the first of them."""

import msgspec

from tickwork.model.field_types import Instant


class WorkflowStates(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a workflow are in each state in the latest round."""

    pending: int = 0
    running: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    none: int = 0  # without an execution in that round


class WorkflowView(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that depend on each other, with the state of the latest round."""

    job_id: str  # the oldest job of those that depend on no other
    name: str | None  # of that job, as key and task are
    key: str | None
    task: str
    jobs: int  # at most 2,000 are counted
    truncated: bool  # there are more
    states: WorkflowStates
    scheduled_for: Instant | None  # the latest due time of its jobs
    started_at: Instant | None  # the first start in the latest round
    finished_at: Instant | None  # the last end, if nothing of the round is left
