"""Jobs that depend on each other, as a graph, with their executions in the latest round."""

import msgspec

from tickwork.model.execution import ExecutionStatus, WaitingFor
from tickwork.model.field_types import Instant
from tickwork.model.job import NeededOutcome


class GraphParent(msgspec.Struct, frozen=True):
    """A parent of a job, and when the job runs after it."""

    job_id: str
    on: NeededOutcome
    when: bool  # only if a condition on its result is true


class GraphJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job in a graph of dependencies, with its execution in the latest round."""

    job_id: str
    name: str | None
    key: str | None
    task: str
    depends_on: list[str]
    parents: list[GraphParent]  # the same jobs in the same order
    element_of: str | None  # the job that runs for each element of a list, of which this is one
    execution_id: str | None  # None: it had none in that round
    scheduled_for: Instant | None
    status: ExecutionStatus | None
    waiting_for: WaitingFor | None
    reason: str | None  # why it was skipped or cancelled
    started_at: Instant | None
    finished_at: Instant | None


class JobGraph(msgspec.Struct, frozen=True):
    items: list[GraphJob]  # those nearest to the requested job first
    truncated: bool  # there are more
