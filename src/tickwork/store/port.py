"""What the stages ask of the store: values in, values out, one transaction per intention.

The stages know only this file. Every method raises `Unavailable` when the database cannot be reached; whoever
calls may simply call again, because repeating any of them changes nothing that was already done.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol

from tickwork.model.backfill import BackfillRequest, BackfillView, Policy
from tickwork.model.breaker import Breaker, BreakerKey, BreakerView
from tickwork.model.dead_letter import DeadLetterFilter, DeadLetterView, Refused
from tickwork.model.execution import (
    AttemptOutcome,
    AttemptView,
    ExecutionFilter,
    ExecutionKey,
    ExecutionStatus,
    ExecutionView,
    MissedView,
    Progress,
)
from tickwork.model.graph import JobGraph
from tickwork.model.job import JobFilter, JobSpec, JobStatus, JobView, Overlap
from tickwork.model.lifecycle import Held, Verdict
from tickwork.model.log import LogEntry, Position
from tickwork.model.page import Page
from tickwork.model.protocol import Hello, Key, LogLine, Micros, Outcome
from tickwork.model.queue import QueueSettings, QueueView
from tickwork.model.rate import Rate
from tickwork.model.terms import Terms
from tickwork.model.why import Facts
from tickwork.model.worker import TaskView, WorkerView

Cursor = tuple[int, int]  # (priority, job): how far a round has been fired
NOT_BEGUN: Cursor = (-1, 0)


class DueRule(NamedTuple):
    id: int
    timing: str
    catch_up: str
    next_at: datetime
    last_at: datetime | None
    cursor: Cursor | None
    now: datetime


class Round(NamedTuple):
    """One due time of one rule, being fired from the cursor on."""

    rule_id: int
    scheduled_for: datetime
    last_at: datetime | None
    cursor: Cursor


class RuleStep(NamedTuple):
    """Where a rule stands after a chunk."""

    rule_id: int
    next_at: datetime | None
    last_at: datetime | None
    cursor: Cursor | None
    looks_empty: bool  # no job was found: let it sleep if there really is none


class RoundNote(NamedTuple):
    """What became of a due time, or of a range of them that nobody ran."""

    rule_id: int
    scheduled_for: datetime
    missed: int = 0
    missed_until: datetime | None = None
    reason: str | None = None


class Works(NamedTuple):
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

    def at(self, places: Sequence[int]) -> "Works":
        """Those at these places."""
        if len(places) == len(self.jobs):
            return self
        if isinstance(places, range):
            return Works._make(column[places.start : places.stop] for column in self)
        return Works._make([column[place] for place in places] for column in self)

    def keys(self) -> "Iterator[Key]":
        return zip(self.tenants, self.times, self.jobs, strict=True)


class Candidates(NamedTuple):
    """Jobs whose due times are being fired, as columns."""

    rounds: Sequence[int]  # which of the rounds each belongs to; they come round by round
    overlaps: Sequence[Overlap]
    works: Works
    followed: Sequence[bool]  # whether other jobs depend on them

    def spans(self) -> Iterator[tuple[int, range]]:
        """The rounds, and where each begins and ends."""
        begin = 0
        for number, count in Counter(self.rounds).items():
            yield number, range(begin, begin + count)
            begin += count


class Blocker(NamedTuple):
    """The execution of a job that has not ended, when the job's executions must not overlap."""

    scheduled_for: datetime
    queued: int  # executions of the job that wait for one another


NO_CONNECTION = 0  # of a worker that speaks plain REST
FIRST_CONNECTION = 1


class Seat(NamedTuple):
    """A worker on one of this node's connections."""

    worker_id: int
    connection: int


class Lane(NamedTuple):
    """What the same workers can run on the same terms."""

    id: int
    tenant_id: int
    queue: str
    task: str
    terms: Terms


class Line(NamedTuple):
    """Executions of a lane and a priority that wait, the oldest first."""

    lane: int
    priority: int
    waited: float  # seconds for which the oldest has been ready


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


class Registration(NamedTuple):
    worker_id: int
    connection: int


class HeldWorks(NamedTuple):
    leases: Sequence[int]
    works: Works

    def of(self, leases: Container[int]) -> "HeldWorks":
        places = [place for place, lease in enumerate(self.leases) if lease in leases]
        return HeldWorks([self.leases[place] for place in places], self.works.at(places))


class RestWorker(NamedTuple):
    """A worker that speaks plain REST, and what is in its hands."""

    hello: Hello
    draining: bool
    held: HeldWorks
    begun: Sequence[bool]  # which of these it has said to have begun


NOTHING_HELD = HeldWorks((), Works._make([()] * len(Works._fields)))


class Revocation(NamedTuple):
    worker_id: int
    key: ExecutionKey
    attempt: int
    reason: str


class AttemptNote(NamedTuple):
    """An attempt that did not complete, for the history."""

    key: ExecutionKey
    attempt: int
    outcome: AttemptOutcome
    worker_id: int | None
    started_at: datetime | None
    finished_at: datetime
    error: bytes | None = None


class Claimed(NamedTuple):
    """Which attempt somebody believes to hold."""

    key: ExecutionKey
    worker_id: int
    attempt: int | None  # None: whichever this worker holds


class Logged(NamedTuple):
    """Lines that an attempt logged, numbered from `first` on."""

    key: ExecutionKey
    attempt: int
    first: int
    lines: Sequence[LogLine]


class ProgressNote(NamedTuple):
    claimed: Claimed
    progress: Progress


class Standing(NamedTuple):
    """How an execution stands, for those who follow its log."""

    status: ExecutionStatus
    attempt: int
    progress: Progress | None
    end: Position  # of its log
    ended_for: timedelta | None  # None while it has not ended


class Collision(Exception):
    """Some due time that is being fired has an execution already."""


class Handing(Protocol):
    """The part of a transaction that puts executions into workers' hands."""

    async def hold(self, seats: Sequence[Seat]) -> set[int]:
        """The workers that may be handed work on these connections, fixed until the commit."""

    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def lock_gates(self, names: Collection[GateName]) -> list[Gate]:
        """Those of them that exist; whoever hands out under one waits for the others that do."""

    async def running(self, gates: Sequence[int], *, exactly: bool) -> dict[int, int]:
        """How much runs under each gate, or quickly: no less than that."""

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None: ...

    async def lease(self, worker_id: int, works: Works, slots: Sequence[Slot] = ()) -> int:
        """Note what a worker is handed, and what of it counts under which gates; the lease."""


class QueueRoom(NamedTuple):
    """How many more may wait in a queue."""

    lanes: Collection[int]  # those of its lanes that were asked about
    room: int


class Firing(Handing, Protocol):
    """One transaction that fires chunks of due rules."""

    async def take(self, lead: timedelta, late: timedelta, limit: int) -> list[DueRule]:
        """Up to so many rules that are late by that much, and as many that are not."""

    async def pick(self, rounds: Sequence[Round], chunk: int) -> Candidates: ...

    async def blockers(self, rounds: Sequence[Round], candidates: Candidates) -> dict[int, Blocker]:
        """What stands in the way, by the place of the candidate."""

    async def rooms(self, lanes: Sequence[int], lead: timedelta) -> list[QueueRoom]:
        """Of those queues of the lanes in which only so many may wait that are due by then."""

    async def cancel(self, blocking: Sequence[ExecutionKey]) -> None:
        """End them wherever they are: something newer replaces them."""

    async def insert(
        self,
        candidates: Candidates,
        workers: Sequence[int | None],
        blockers: Mapping[int, Blocker],
        reasons: Mapping[int, str],
    ) -> None:
        """Those with a reason are skipped for it; a blocked one without waits for its turn. Collision when a due
        time has an execution already; then the transaction is over."""

    async def insert_carefully(
        self, candidates: Candidates, blockers: Mapping[int, Blocker], reasons: Mapping[int, str]
    ) -> None:
        """Leave executions that exist, except those that were stopped before their time."""

    async def advance(self, steps: Sequence[RuleStep], notes: Sequence[RoundNote]) -> None: ...


class TriggerStore(Protocol):
    def firing(self) -> AbstractAsyncContextManager[Firing]: ...

    async def bounded_lanes(self) -> frozenset[int]:
        """The lanes of queues in which only so many may wait."""

    async def zone_data(self) -> str | None:
        """The version of the time zone data that the timers were computed with."""

    async def set_zone_data(self, version: str) -> None: ...

    async def retime(
        self, after: int, lead: timedelta, limit: int, next_at: Callable[[str, datetime], datetime | None]
    ) -> int | None:
        """Compute anew when some rules are due next, given their timing and from when on; where to go on."""

    async def release_queued(self, limit: int) -> int:
        """Let those go on whose turn has come; how many."""

    async def promote_held(self, until: datetime, limit: int) -> int:
        """Give one-time jobs due before that their executions; how many."""


class Claiming(Handing, Protocol):
    """One transaction that hands out waiting executions."""

    async def waiting(self, lead: timedelta) -> list[Line]: ...

    async def pick(self, quotas: Mapping[Line, int], lead: timedelta) -> Works:
        """Lock up to so many of each line."""

    async def claim(self, works: Works, worker_id: int) -> None: ...


class Settling(Protocol):
    """One transaction that decides about attempts which did not complete."""

    async def lock(self, claimed: Sequence[Claimed]) -> list[Held]:
        """Those that are still in the hands they are believed in."""

    async def settle(self, verdicts: Sequence[Verdict], notes: Sequence[AttemptNote]) -> None: ...

    async def close_leases(self, leases: Sequence[int]) -> None: ...


class Rescuing(Settling, Protocol):
    """One transaction that takes work out of dead workers' hands."""

    async def take_dead(self, limit: int) -> list[int]: ...

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]: ...

    async def end(self, workers: Sequence[int]) -> None: ...


class DispatchStore(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def forget_slots(self) -> None:
        """Clear away what no longer counts under any gate."""

    def claiming(self) -> AbstractAsyncContextManager[Claiming]: ...

    def rescuing(self) -> AbstractAsyncContextManager[Rescuing]: ...

    async def register(
        self,
        tenant_id: int | None,
        hello: Hello,
        token: bytes,
        lease: timedelta,
        connection_number: int = FIRST_CONNECTION,
    ) -> Registration: ...

    async def resume(self, tenant_id: int | None, token: bytes, lease: timedelta) -> Registration | None: ...

    async def held_by(self, worker_id: int) -> HeldWorks: ...

    async def renew(self, workers: Sequence[int], lease: timedelta) -> dict[int, bool]:
        """Those that keep what they hold, and whether somebody wants them to drain."""

    async def drain(self, worker_id: int) -> None: ...

    async def leave(self, worker_id: int) -> None: ...

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]: ...

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None: ...

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        """Whether some worker has yet to stop an execution of this job."""


class WorkerStore(Protocol):
    async def heartbeat(self, tenant_id: int, worker: int, lease: timedelta) -> bool:
        """A worker that speaks plain REST lives; whether somebody wants it to drain. NotFound, LeaseGone, or Conflict
        when it is connected otherwise."""

    def serving(self, tenant_id: int, worker: int) -> AbstractAsyncContextManager[RestWorker]:
        """One transaction, in which nobody else hands this worker anything; LeaseGone."""

    async def is_there_news(self, tenant_id: int, worker: int, hello: Hello) -> bool:
        """Whether something is due that this worker might be handed, or it is to drain."""

    async def drain(self, tenant_id: int, worker: int) -> None:
        """It is to take nothing new; NotFound, or Conflict when it is a part of the server."""


class RecordStore(Protocol):
    async def complete(self, completed: Sequence[tuple[int, Outcome]], leases: Sequence[int]) -> int:
        """End what workers say has completed, and close the leases; how many were still held by whoever says so."""

    def settling(self) -> AbstractAsyncContextManager[Settling]: ...

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        """End it wherever it is, and have its worker told; NotFound, or Conflict when it has ended already."""


class AttemptStanding(NamedTuple):
    """How an attempt stands that somebody reports on."""

    status: ExecutionStatus
    attempt: int  # at which the execution is
    worker_id: int | None  # that holds the attempt and speaks plain REST; None: no such one
    started_at: datetime | None
    reason: str | None
    outcome: AttemptOutcome | None  # what became of the attempt
    leases: Sequence[int]


class ReportStore(Protocol):
    async def standing(self, key: ExecutionKey, attempt: int) -> AttemptStanding:
        """NotFound when there is no such execution."""

    async def begin(self, key: ExecutionKey, attempt: int) -> bool:
        """Note that the attempt has begun; whether a worker that speaks plain REST holds it."""

    async def let_go(self, key: ExecutionKey, attempt: int, standing: AttemptStanding) -> None:
        """Nothing of an attempt that has ended is in anybody's hands any more, nor to be stopped."""


class LogStore(Protocol):
    async def keep(self, logged: Sequence[Logged]) -> None:
        """Those lines that are not kept already; of each attempt only the newest are."""

    async def set_progress(self, notes: Sequence[ProgressNote]) -> list[ProgressNote]:
        """Of attempts that still run; gives those that have to be said again because somebody was in the way."""

    async def lines(self, key: ExecutionKey, begin: Position, limit: int) -> list[LogEntry]: ...

    async def page(
        self, key: ExecutionKey, attempt: int | None, limit: int, cursor: str | None
    ) -> Page[LogEntry]: ...

    async def last_lines(self, key: ExecutionKey, attempt: int | None, count: int) -> list[LogEntry]: ...

    async def standing(self, key: ExecutionKey) -> Standing | None: ...


class Definition(NamedTuple):
    """A job as it was defined, and which version that is."""

    document: dict[str, Any]
    version: int


class Made(NamedTuple):
    job: int
    is_new: bool  # else it was there before, and is kept or replaced
    next_run_at: datetime | None = None  # of a new one


class ParentJob(NamedTuple):
    """A job that others may depend on."""

    id: int
    status: JobStatus
    timing: str | None  # of one that repeats
    catch_up: str | None
    is_known: bool  # else it was due once, and how it ended is forgotten


class DefineStore(Protocol):
    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, str]:
        """The parameter schemas of those tasks that some worker has offered."""

    async def task_names(self, tenant_id: int) -> list[str]: ...

    async def find_parents(self, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        """Those of them that exist."""

    async def create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[Made]:
        """All or none; Conflict when a key is taken and the job says that this is an error."""

    async def definition(self, tenant_id: int, job: int) -> Definition: ...

    async def change(self, tenant_id: int, job: int, spec: JobSpec, version: int) -> None:
        """Stale when the job is no longer at that version."""

    async def set_status(
        self, tenant_id: int, job: int, status: JobStatus, version: int | None = None
    ) -> None:
        """Stale when a version is given and the job is no longer at it."""


class RunStore(Protocol):
    async def run(self, tenant_id: int, job: int, overlap: Overlap) -> datetime:
        """One more execution, due now; Conflict when it would overlap and must not."""


class OwnTimes(NamedTuple):
    """When a job is due."""

    timing: str
    until: datetime | None  # due times after this are not its own


class BackfillTurn(NamedTuple):
    """A backfill as it stood when looked at, and what it may run next."""

    id: int
    made: int
    times: list[datetime]


class Filled(NamedTuple):
    """How many due times got their execution, and for how many somebody else was quicker."""

    made: int
    passed_over: int


class BackfillStore(Protocol):
    async def own_times(self, tenant_id: int, job: int) -> OwnTimes:
        """Conflict when the job is not due again and again."""

    async def to_fill(
        self, tenant_id: int, job: int, times: Sequence[datetime], policy: Policy
    ) -> list[datetime]:
        """Those of the times, in the same order, that the policy would run."""

    async def create(
        self, tenant_id: int, job: int, request: BackfillRequest, times: Sequence[datetime]
    ) -> int: ...

    async def backfill(self, tenant_id: int, backfill: int) -> BackfillView: ...

    async def backfills(
        self, tenant_id: int, job: int, limit: int, cursor: str | None
    ) -> Page[BackfillView]: ...

    async def cancel(self, tenant_id: int, backfill: int) -> None:
        """Conflict when it has completed."""

    async def next_turn(self, after: int) -> BackfillTurn | None:
        """The next backfill under way after that one."""

    async def fill(self, turn: BackfillTurn) -> Filled:
        """Nothing, when the backfill no longer stands where the turn says, or its job is paused."""


class OldestDeadLetters(NamedTuple):
    keys: list[ExecutionKey]
    next_cursor: str | None


class Revived(NamedTuple):
    revived: int
    missing: list[ExecutionKey]  # not dead letters, or not any more
    refused: list[Refused]


class DeadLetterStore(Protocol):
    async def newest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> Page[DeadLetterView]: ...

    async def oldest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> OldestDeadLetters: ...

    async def last_of_job(self, tenant_id: int, job: int) -> datetime | None:
        """The due time of the one that failed last."""

    async def redrive(
        self, tenant_id: int, keys: Sequence[ExecutionKey], start_at: datetime, interval: timedelta
    ) -> Revived:
        """Those that are dead letters wait to be run again, one after the other; refused are those whose job is
        cancelled."""

    async def discard(self, tenant_id: int, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        """They are no dead letters any more; those that were none."""

    async def retry(self, key: ExecutionKey) -> None:
        """NotFound, or Conflict when it did not end as failed or cancelled, or its job is cancelled."""


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
    async def facts(self, tenant_id: int, job: int, scheduled_for: datetime) -> Facts: ...


class ReadStore(Protocol):
    async def now(self) -> datetime: ...

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        """In the order asked for; NotFound when one is not this tenant's."""

    async def jobs(
        self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None
    ) -> Page[JobView]: ...

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        """NotFound when the job is not this tenant's."""

    async def execution(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView: ...

    async def executions(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> Page[ExecutionView]: ...

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> list[AttemptView]: ...

    async def missed(self, tenant_id: int, job: int, limit: int) -> list[MissedView]: ...

    async def workers(self, tenant_id: int, limit: int, cursor: str | None) -> Page[WorkerView]: ...

    async def worker(self, tenant_id: int, worker: int) -> WorkerView: ...

    async def tasks(self, tenant_id: int) -> list[TaskView]: ...
