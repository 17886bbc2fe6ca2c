"""What the dispatch stage asks of the store: claims, leases, rescue, REST workers, circuit breakers, queues."""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from math import inf
from typing import Literal, NamedTuple, Protocol

from tickwork.model.access import Caller
from tickwork.model.circuit_breaker import Breaker, BreakerKey, BreakerView
from tickwork.model.execution import ExecutionKey
from tickwork.model.field_types import Page
from tickwork.model.quantities import Rate
from tickwork.model.queue import QueueSettings, QueueView
from tickwork.model.requires_limits_fair_share import Placement
from tickwork.model.rest_worker import HeartbeatReport
from tickwork.model.why_waiting import WaitingFacts
from tickwork.model.worker import WorkerLoad
from tickwork.model.worker_protocol import Hello, Key, Micros
from tickwork.store.port.record import AttemptEnding, Claimed

NO_CONNECTION = 0  # of a worker that speaks plain REST
FIRST_CONNECTION = 1


class WorkerConnection(NamedTuple):
    """A worker on one of this node's connections."""

    worker_id: int
    connection: int


class ExecutionColumns(NamedTuple):
    """Executions with all that a worker needs to run them, as columns: at thousands per second, an object for each
    would cost more than the statements."""

    tenants: Sequence[int]
    times: Sequence[Micros]  # the due times, `scheduled_for`
    jobs: Sequence[int]
    lanes: Sequence[int]
    attempts: Sequence[int]
    ready: Sequence[Micros]  # when each may start
    tasks: Sequence[str]
    payloads: Sequence[bytes]
    targets: Sequence[bytes | None]
    timeouts: Sequence[float]
    priorities: Sequence[int]
    parents: Sequence[bytes | None]  # how its parents ended, as JSON
    # The stored TraceOrigin of its job, or empty; None if its rule created it, which traces that as `fire`.
    trace_origins: Sequence[str | None]

    @property
    def size(self) -> int:
        return len(self.jobs)

    def at(self, indexes: Sequence[int]) -> "ExecutionColumns":
        if len(indexes) == len(self.jobs):
            return self
        if isinstance(indexes, range):
            return ExecutionColumns._make(column[indexes.start : indexes.stop] for column in self)
        return ExecutionColumns._make([column[index] for index in indexes] for column in self)

    def keys(self) -> Iterator[Key]:
        return zip(self.tenants, self.times, self.jobs, strict=True)


class LeasedExecutions(NamedTuple):
    leases: Sequence[int]  # the lease of each execution
    executions: ExecutionColumns

    def of(self, leases: Container[int]) -> "LeasedExecutions":
        indexes = [index for index, lease in enumerate(self.leases) if lease in leases]
        return LeasedExecutions([self.leases[index] for index in indexes], self.executions.at(indexes))


NOTHING_LEASED = LeasedExecutions((), ExecutionColumns._make([()] * len(ExecutionColumns._fields)))


class Lane(NamedTuple):
    """Executions that the same workers can run, under the same limits."""

    id: int
    tenant_id: int
    queue: str
    task: str
    placement: Placement


LimiterName = tuple[int, Literal["queue", "key"], str]  # tenant, kind, name


class Limiter(NamedTuple):
    """A locked limiter. Only queues have settings."""

    id: int
    name: LimiterName
    paused: bool
    max_running: int | None
    rate: Rate | None
    used_until: datetime  # until when its rate is used up
    now: datetime
    max_workers: int | None = None


class Slot(NamedTuple):
    """Which part of a lease counts under a limiter."""

    limiter_id: int
    indexes: range


class Handover(Protocol):
    """The part of a transaction that hands executions over to workers."""

    async def lock_workers(self, connections: Sequence[WorkerConnection]) -> set[int]:
        """Those of the workers that may get executions on these connections, locked until the commit."""

    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def lock_limiters(self, names: Collection[LimiterName]) -> list[Limiter]:
        """Those of the limiters that exist. Transactions that start executions under the same limiter wait."""

    async def running(self, limiters: Sequence[int], *, exactly: bool) -> dict[int, int]:
        """How many executions run under each limiter. Not `exactly` is faster: at least as many as that."""

    async def workers_under(self, limiters: Sequence[int]) -> dict[int, set[int]]:
        """Which workers have executions that run under each limiter."""

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None: ...

    async def lease(self, worker_id: int, executions: ExecutionColumns, slots: Sequence[Slot] = ()) -> int:
        """Record which executions a worker gets, and which of them count under limiters. Returns the lease."""


class Backlog(NamedTuple):
    """Waiting executions of one lane and priority, in the order in which they became ready."""

    lane: int
    priority: int
    waited: float  # seconds for which the oldest has been ready
    deadline: float = inf  # the earliest one, in seconds since 1970


class DispatchSettings(NamedTuple):
    """What users have set that decides which lanes are served, and in which order. Few rows have any of it."""

    disabled_tasks: frozenset[tuple[int, str]] = frozenset()  # tenant, name
    queue_priorities: Mapping[tuple[int, str], int] = {}  # tenant, queue; only those that are not `normal`


class Heard(NamedTuple):
    """A heartbeat of a connected worker, with what it changes of the worker's row; None: nothing."""

    connection: WorkerConnection
    load: WorkerLoad | None = None
    labels: Mapping[str, str] | None = None
    resources: Mapping[str, float] | None = None


class Renewal(NamedTuple):
    """A worker in neither has lost its lease."""

    kept: Mapping[WorkerConnection, bool]  # whether the worker is to drain
    elsewhere: frozenset[WorkerConnection]  # the worker has reconnected since


class Revocation(NamedTuple):
    worker_id: int
    key: ExecutionKey
    attempt: int
    reason: str
    needs_report: bool = True  # False: the execution goes on without that worker


class Claiming(Handover, Protocol):
    """One transaction that claims waiting executions for workers."""

    async def earliest_due(self, backlogs: Sequence[Backlog], lead: timedelta) -> list[datetime]:
        """Of each backlog, the earliest due time among the executions that are to start next."""

    async def pick(
        self, quotas: Mapping[Backlog, int], lead: timedelta, start_within: Sequence[float | None]
    ) -> ExecutionColumns:
        """Lock the oldest executions of each backlog, up to its quota. `start_within`: of each, how many seconds after
        their due time they are of use, if that is limited."""

    async def claim(self, executions: ExecutionColumns, worker_id: int) -> None: ...


class Rescuing(AttemptEnding, Protocol):
    """One transaction that takes executions away from dead workers."""

    async def take_dead(self, limit: int, only: int | None = None) -> list[int]: ...

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]: ...

    async def end(self, workers: Sequence[int]) -> dict[int, str]:
        """End the workers that have no lease left. Returns their names."""


class DispatchStore(Protocol):
    @property
    def first_lease(self) -> int:
        """Earlier leases were written before the last failover that may have lost commits."""

    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def forget_slots(self) -> None:
        """Delete slots that no longer count under any limiter."""

    async def waiting(self, lead: timedelta) -> list[Backlog]:
        """The backlogs in which an execution is due within the lead."""

    def claiming(self) -> AbstractAsyncContextManager[Claiming]: ...

    async def fail_oldest(self, backlog: Backlog, lead: timedelta, reason: str) -> None:
        """Fail the execution that has waited longest in a backlog."""

    async def fail_execution(self, key: ExecutionKey, reason: str) -> None:
        """Fail an execution that has not ended."""

    def rescuing(self) -> AbstractAsyncContextManager[Rescuing]: ...

    async def register(
        self,
        caller: Caller | None,
        hello: Hello,
        token: bytes,
        lease: timedelta,
        connection_number: int = FIRST_CONNECTION,
    ) -> WorkerConnection:
        """The worker belongs to the caller's API key. Without a caller it is the built-in worker, for all tenants."""

    async def resume(
        self, caller: Caller | None, hello: Hello, token: bytes, lease: timedelta
    ) -> WorkerConnection | None:
        """Reconnect the worker with this token, with its labels and resources of now. It belongs to the caller's API
        key from now on."""

    async def leased_to(self, worker_id: int) -> LeasedExecutions: ...

    async def renew(self, heard: Sequence[Heard], lease: timedelta) -> Renewal:
        """Extend the leases, and write what the workers measured and changed, in the same rows."""

    async def settings(self) -> DispatchSettings: ...

    async def drain(self, worker_id: int) -> None: ...

    async def leave(self, worker_id: int) -> None: ...

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]: ...

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None: ...

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        """Whether a worker still has to stop an execution of this job."""


class RestWorker(NamedTuple):
    """A REST worker with its executions."""

    hello: Hello
    draining: bool
    leased: LeasedExecutions
    started: Sequence[bool]  # whether it reported the start of each


class RestWorkerStore(Protocol):
    async def heartbeat(
        self, caller: Caller, worker: int, lease: timedelta, report: HeartbeatReport | None = None
    ) -> bool:
        """Renew the lease of a REST worker. Returns whether it is to drain. NotFound, LeaseGone, NotAllowed when it was
        registered with another API key, or Conflict when it is connected by WebSocket."""

    def serving(self, caller: Caller, worker: int) -> AbstractAsyncContextManager[RestWorker]:
        """One transaction in which no other one gives this worker executions. Raises LeaseGone."""

    async def is_there_news(
        self, tenant_id: int, worker: int, tasks: Sequence[str], queues: Sequence[str]
    ) -> bool:
        """Whether an execution of these tasks and queues is due, or the worker is to drain. No queues: all."""

    async def drain(self, tenant_id: int, worker: int, only_of: int | None) -> None:
        """Make a worker drain. NotFound, Conflict when it is built in, or NotAllowed when it was registered with
        another API key than `only_of`."""


Decide = Callable[[Breaker], Breaker]


class BreakerChange(NamedTuple):
    before: Breaker
    after: Breaker


class CircuitBreakerStore(Protocol):
    async def read(self) -> list[Breaker]:
        """The circuit breakers of all tenants."""

    async def change(
        self, decisions: Mapping[BreakerKey, Decide], make: Collection[BreakerKey] = ()
    ) -> list[BreakerChange]:
        """Lock the circuit breakers that exist, and write what is decided about each. Those in `make` are created
        first, closed."""

    async def release_held(self, limit: int) -> int:
        """Release executions of up to `limit` circuit breakers that are due to be looked at. Returns how many."""

    async def views(self, tenant_id: int, destination: str | None = None) -> list[BreakerView]: ...


class QueueLoad(NamedTuple):
    """How many executions wait in the queues with this name, of all tenants together."""

    name: str
    depth: int
    oldest_age: float  # seconds


class QueueStore(Protocol):
    async def queues(self, tenant_id: int, limit: int, cursor: str | None) -> Page[QueueView]: ...

    async def queue(self, tenant_id: int, name: str) -> QueueView:
        """NotFound when no job has named the queue and it has no settings."""

    async def set(self, tenant_id: int, name: str, settings: QueueSettings) -> QueueView:
        """Replace all settings of a queue, except whether it is paused. What runs already counts under the limits."""

    async def pause(self, tenant_id: int, name: str) -> QueueView: ...

    async def resume(self, tenant_id: int, name: str) -> QueueView: ...

    async def loads(self, most: int) -> list[QueueLoad]: ...


class WhyWaitingStore(Protocol):
    async def facts(self, tenant_id: int, job: int, scheduled_for: datetime) -> WaitingFacts: ...
