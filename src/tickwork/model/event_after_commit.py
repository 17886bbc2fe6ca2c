"""Events: what a committed transaction has made true. Services publish them through `record/publish_after_commit.py`.

An event about executions holds a whole batch, so that it costs the same however many there are.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tickwork.model.circuit_breaker import BreakerKey
from tickwork.model.execution import ExecutionKey
from tickwork.model.worker_protocol import Outcome


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job was edited, paused, resumed or cancelled."""

    tenant_id: int
    job: int


@dataclass(frozen=True, slots=True)
class JobsCreated:
    """These jobs were created."""

    jobs: Sequence[int]


@dataclass(frozen=True, slots=True)
class WorkArrived:
    """Executions of this tenant may have become ready: created, run manually, redriven, or their queue resumed."""

    tenant_id: int


@dataclass(frozen=True, slots=True)
class FanOutDefined:
    """A request has a job that runs for each element of a list. It may still be refused."""


@dataclass(frozen=True, slots=True)
class AttemptsEnded:
    """These outcomes were recorded. An execution may go on with another attempt, and an outcome that came too late
    changed nothing: only the database knows which of the executions have ended."""

    outcomes: Sequence[Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class LogWritten:
    """Log lines or progress of these executions were recorded."""

    executions: Collection[ExecutionKey]


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """The lease of a worker expired, and all of its executions were taken away from it."""

    worker_id: int
    name: str
    executions_rescued: int  # by this node


@dataclass(frozen=True, slots=True)
class BreakerOpened:
    """Calls to a destination wait, because it fails."""

    key: BreakerKey
    reason: str


@dataclass(frozen=True, slots=True)
class BreakerClosed:
    """Calls to a destination go on."""

    key: BreakerKey


Event: TypeAlias = (
    JobChanged
    | JobsCreated
    | WorkArrived
    | FanOutDefined
    | AttemptsEnded
    | LogWritten
    | WorkerLost
    | BreakerOpened
    | BreakerClosed
)
Publish: TypeAlias = Callable[[Event], None]
