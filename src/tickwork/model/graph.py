"""Jobs that depend on each other, and how they stand."""

import msgspec

from tickwork.model.execution import ExecutionStatus, WaitingFor
from tickwork.model.instant import Instant


class GraphJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job among those it depends on and those that depend on it, with its execution in their latest round."""

    job_id: str
    name: str | None
    key: str | None
    task: str
    depends_on: list[str]
    execution_id: str | None  # None: it had none in that round
    scheduled_for: Instant | None
    status: ExecutionStatus | None
    waiting_for: WaitingFor | None
    started_at: Instant | None
    finished_at: Instant | None


class JobGraph(msgspec.Struct, frozen=True):
    items: list[GraphJob]  # the nearest to the job that was asked for first
    truncated: bool  # there are more
