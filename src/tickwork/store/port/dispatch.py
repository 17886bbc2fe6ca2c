"""What the dispatch stage asks of the store: claims, leases, rescue, REST workers, circuit breakers, queues."""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from tickwork.model.access import Caller
from tickwork.model.circuit_breaker import Breaker, BreakerKey, BreakerView
from tickwork.model.execution import ExecutionKey
from tickwork.model.page import Page
from tickwork.model.placement import Placement
from tickwork.model.quantities import Rate
from tickwork.model.queue import QueueSettings, QueueView
from tickwork.model.why_waiting import WaitingFacts
from tickwork.model.worker_protocol import Hello, Key, Micros
from tickwork.store.port.record import AttemptEnding, Claimed

NO_CONNECTION = 0  # of a worker that speaks plain REST
FIRST_CONNECTION = 1


class WorkerConnection(NamedTuple):
    """A worker on one of this node's connections."""

    worker_id: int
    connection: int


class ExecutionColumns(NamedTuple):
    """Executions that could be handed to workers, with all that is needed to run them. As columns: so many are
    handed out in a second that an object for each would cost more than the statements."""

    tenants: Sequence[int]
    times: Sequence[Micros]  # when they were scheduled for
    jobs: Sequence[int]
    lanes: Sequence[int]
    attempts: Sequence[int]
    ready: Sequence[Micros]  # not to be started before
    tasks: Sequence[str]
    payloads: Sequence[bytes]
    targets: Sequence[bytes | None]
    timeouts: Sequence[float]
    priorities: Sequence[int]
    parents: Sequence[bytes | None]  # how those ended that they depend on, as JSON

    @property
    def size(self) -> int:
        return len(self.jobs)

    def at(self, places: Sequence[int]) -> "ExecutionColumns":
        """Those at these places."""
        if len(places) == len(self.jobs):
            return self
        if isinstance(places, range):
            return ExecutionColumns._make(column[places.start : places.stop] for column in self)
        return ExecutionColumns._make([column[place] for place in places] for column in self)

    def keys(self) -> Iterator[Key]:
        return zip(self.tenants, self.times, self.jobs, strict=True)


class HeldExecutionColumns(NamedTuple):
    leases: Sequence[int]
    works: ExecutionColumns

    def of(self, leases: Container[int]) -> "HeldExecutionColumns":
        places = [place for place, lease in enumerate(self.leases) if lease in leases]
        return HeldExecutionColumns([self.leases[place] for place in places], self.works.at(places))


NOTHING_HELD = HeldExecutionColumns((), ExecutionColumns._make([()] * len(ExecutionColumns._fields)))


class Lane(NamedTuple):
    """Executions that the same workers can run, under the same limits."""

    id: int
    tenant_id: int
    queue: str
    task: str
    placement: Placement


GateName = tuple[int, Literal["queue", "key"], str]  # with the tenant first


class Gate(NamedTuple):
    """A queue or a key that is limited, locked by whoever hands out under it. The settings are those of a queue."""

    id: int
    name: GateName
    paused: bool
    max_running: int | None
    rate: Rate | None
    used_until: datetime  # up to when its rate is used up
    now: datetime


class Slot(NamedTuple):
    """Which part of a lease counts under a gate."""

    gate_id: int
    places: range


class Handover(Protocol):
    """The part of a transaction that puts executions into workers' hands."""

    async def hold(self, seats: Sequence[WorkerConnection]) -> set[int]:
        """The workers that may be handed work on these connections, fixed until the commit."""

    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def lock_gates(self, names: Collection[GateName]) -> list[Gate]:
        """Those of them that exist; whoever hands out under one waits for the others that do."""

    async def running(self, gates: Sequence[int], *, exactly: bool) -> dict[int, int]:
        """How much runs under each gate, or quickly: no less than that."""

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None: ...

    async def lease(self, worker_id: int, works: ExecutionColumns, slots: Sequence[Slot] = ()) -> int:
        """Note what a worker is handed, and what of it counts under which gates; the lease."""


class Line(NamedTuple):
    """Executions of a lane and a priority that wait, the oldest first."""

    lane: int
    priority: int
    waited: float  # seconds for which the oldest has been ready


class Renewal(NamedTuple):
    """Who is in neither has lost what it held."""

    kept: Mapping[WorkerConnection, bool]  # and whether somebody wants the worker to drain
    elsewhere: frozenset[WorkerConnection]  # the worker has come back on another connection


class Revocation(NamedTuple):
    worker_id: int
    key: ExecutionKey
    attempt: int
    reason: str


class Claiming(Handover, Protocol):
    """One transaction that hands out waiting executions."""

    async def waiting(self, lead: timedelta) -> list[Line]: ...

    async def pick(self, quotas: Mapping[Line, int], lead: timedelta) -> ExecutionColumns:
        """Lock up to so many of each line."""

    async def claim(self, works: ExecutionColumns, worker_id: int) -> None: ...


class Rescuing(AttemptEnding, Protocol):
    """One transaction that takes work out of dead workers' hands."""

    async def take_dead(self, limit: int, only: int | None = None) -> list[int]: ...

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]: ...

    async def end(self, workers: Sequence[int]) -> dict[int, str]:
        """Those of which nothing is left to take, with their names."""


class DispatchStore(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def forget_slots(self) -> None:
        """Clear away what no longer counts under any gate."""

    def claiming(self) -> AbstractAsyncContextManager[Claiming]: ...

    async def set_aside_first(self, line: Line, lead: timedelta, reason: str) -> None:
        """End as failed what has waited longest in a line."""

    async def set_aside(self, key: ExecutionKey, reason: str) -> None:
        """End it as failed, wherever it is, unless it has ended."""

    def rescuing(self) -> AbstractAsyncContextManager[Rescuing]: ...

    async def register(
        self,
        caller: Caller | None,
        hello: Hello,
        token: bytes,
        lease: timedelta,
        connection_number: int = FIRST_CONNECTION,
    ) -> WorkerConnection:
        """It belongs to the key that it comes with. Nobody's worker is the built-in one, for all tenants."""

    async def resume(self, caller: Caller | None, token: bytes, lease: timedelta) -> WorkerConnection | None:
        """Who has the token is the worker; it belongs to the key that it comes with now."""

    async def held_by(self, worker_id: int) -> HeldExecutionColumns: ...

    async def renew(self, seats: Collection[WorkerConnection], lease: timedelta) -> Renewal: ...

    async def drain(self, worker_id: int) -> None: ...

    async def leave(self, worker_id: int) -> None: ...

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]: ...

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None: ...

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        """Whether some worker has yet to stop an execution of this job."""


class RestWorker(NamedTuple):
    """A worker that speaks plain REST, and what is in its hands."""

    hello: Hello
    draining: bool
    held: HeldExecutionColumns
    begun: Sequence[bool]  # which of these it has said to have begun


class WorkerStore(Protocol):
    async def heartbeat(self, caller: Caller, worker: int, lease: timedelta) -> bool:
        """A worker that speaks plain REST lives; whether somebody wants it to drain. NotFound, LeaseGone, NotAllowed
        when another key registered it, or Conflict when it is connected otherwise."""

    def serving(self, caller: Caller, worker: int) -> AbstractAsyncContextManager[RestWorker]:
        """One transaction, in which nobody else hands this worker anything; LeaseGone."""

    async def is_there_news(self, tenant_id: int, worker: int, hello: Hello) -> bool:
        """Whether something is due that this worker might be handed, or it is to drain."""

    async def drain(self, tenant_id: int, worker: int, only_of: int | None) -> None:
        """It is to take nothing new; NotFound, Conflict when it is a part of the server, or NotAllowed when it was
        not registered with the only key that will do."""


Decide = Callable[[Breaker], Breaker]


class BreakerChange(NamedTuple):
    before: Breaker
    after: Breaker


class BreakerStore(Protocol):
    async def read(self) -> list[Breaker]:
        """All of them, of every tenant."""

    async def change(
        self, decisions: Mapping[BreakerKey, Decide], make: Collection[BreakerKey] = ()
    ) -> list[BreakerChange]:
        """Lock those of them that exist, and let each become what is decided; some are made first, closed."""

    async def let_go(self, limit: int) -> int:
        """Let executions go on for which the time has come, of so many breakers; how many."""

    async def views(self, tenant_id: int, destination: str | None = None) -> list[BreakerView]: ...


class QueueLoad(NamedTuple):
    """How much waits in the queues of a name, of all tenants together."""

    name: str
    depth: int
    oldest_age: float  # seconds


class QueueStore(Protocol):
    async def queues(self, tenant_id: int, limit: int, cursor: str | None) -> Page[QueueView]: ...

    async def queue(self, tenant_id: int, name: str) -> QueueView:
        """NotFound when no job has named it and nobody has set it."""

    async def set(self, tenant_id: int, name: str, settings: QueueSettings) -> QueueView:
        """All of its settings but whether it is paused. What runs already counts from now on."""

    async def pause(self, tenant_id: int, name: str) -> QueueView: ...

    async def resume(self, tenant_id: int, name: str) -> QueueView: ...

    async def loads(self, most: int) -> list[QueueLoad]: ...


class WhyStore(Protocol):
    async def facts(self, tenant_id: int, job: int, scheduled_for: datetime) -> WaitingFacts: ...
