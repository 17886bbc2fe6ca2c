"""What the trigger stage asks of the store: firing rules, waiting executions, dependencies."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.model.overlap import Blocker, Overlap
from tickwork.model.statistics import GroupBy
from tickwork.model.upcoming import DueFilter
from tickwork.schedule.due.local_time_now_in_each_zone import ZoneTimes
from tickwork.store.port.dispatch import ExecutionColumns, Handover

Cursor = tuple[int, int]  # (priority, job): how far a round has been fired
NOT_BEGUN: Cursor = (-1, 0)

MakeDays = Callable[[Iterable[datetime]], Awaitable[None]]  # partitions for executions at these times


class DueRule(NamedTuple):
    id: int
    timing: str
    catch_up: str
    next_at: datetime
    last_at: datetime | None
    cursor: Cursor | None
    now: datetime


class Round(NamedTuple):
    """One due time of one rule, to be fired from the cursor on."""

    rule_id: int
    scheduled_for: datetime
    last_at: datetime | None
    cursor: Cursor


class RuleStep(NamedTuple):
    """The progress of a rule after a chunk of its jobs was fired."""

    rule_id: int
    next_at: datetime | None
    last_at: datetime | None
    cursor: Cursor | None
    looks_empty: bool  # no job was found: the rule gets no next due time if it has no active job


class RoundNote(NamedTuple):
    """A due time that was fired, or a missed range."""

    rule_id: int
    scheduled_for: datetime
    missed: int = 0
    missed_until: datetime | None = None
    reason: str | None = None


class Candidates(NamedTuple):
    """Jobs that are being fired, as columns."""

    rounds: Sequence[int]  # the index of each one's round, in ascending order
    overlaps: Sequence[Overlap]
    executions: ExecutionColumns
    followed: Sequence[bool]  # whether other jobs depend on it
    trace_origins: Sequence[str | None]  # the stored TraceOrigin of its job

    def spans(self) -> Iterator[tuple[int, range]]:
        """The index of each round, with the range of its candidates."""
        begin = 0
        for number, count in Counter(self.rounds).items():
            yield number, range(begin, begin + count)
            begin += count


class QueueCapacity(NamedTuple):
    """How many more executions may wait in a queue."""

    lanes: Collection[int]  # those of its lanes that were given
    free: int


class Collision(Exception):
    """A due time that is being fired has an execution already."""


class Firing(Handover, Protocol):
    """One transaction that fires chunks of due rules."""

    async def take(
        self, lead: timedelta, late: timedelta, limit: int, only: int | None = None
    ) -> list[DueRule]:
        """Lock up to `limit` due rules that are late by `late`, and as many that are not; or only the rule `only`."""

    async def pick(self, rounds: Sequence[Round], chunk: int) -> Candidates: ...

    async def blockers(self, rounds: Sequence[Round], candidates: Candidates) -> dict[int, Blocker]:
        """Executions of the same jobs that have not ended, by the index of the candidate."""

    async def queue_capacities(self, lanes: Sequence[int], lead: timedelta) -> list[QueueCapacity]:
        """For the queues of these lanes that limit how many executions may wait. Those due within `lead` count."""

    async def cancel(self, blocking: Sequence[ExecutionKey]) -> None:
        """Cancel executions that newer ones replace, also when a worker has them."""

    async def insert(
        self,
        candidates: Candidates,
        workers: Sequence[int | None],
        blocked_by: Mapping[int, datetime],
        reasons: Mapping[int, str],
    ) -> None:
        """Candidates with a reason are skipped. Blocked ones without a reason wait. Collision when a due time has an
        execution already: the transaction cannot go on."""

    async def insert_carefully(
        self, candidates: Candidates, blocked_by: Mapping[int, datetime], reasons: Mapping[int, str]
    ) -> None:
        """Leave existing executions alone, except those that were skipped before their due time."""

    async def advance(self, steps: Sequence[RuleStep], notes: Sequence[RoundNote]) -> None: ...


class TriggerStore(Protocol):
    async def is_any_rule_due(self, lead: timedelta) -> bool: ...

    def firing(self) -> AbstractAsyncContextManager[Firing]: ...

    async def bounded_lanes(self) -> frozenset[int]:
        """The lanes of queues that limit how many executions may wait."""

    async def zone_data(self) -> str | None:
        """The version of the time zone data that the timers were computed with."""

    async def set_zone_data(self, version: str) -> None: ...

    async def retime(
        self,
        after: int,
        lead: timedelta,
        limit: int,
        next_at: Callable[[str, datetime, datetime], datetime | None],
    ) -> int | None:
        """Compute the next due times of up to `limit` rules again. `next_at` gets a timing, the time to start from and
        the present due time. Returns the last rule, or None after all rules."""

    async def stop_rule(self, rule: int, reason: str) -> None:
        """Stop a rule that cannot be fired. Its jobs fail, and its due time is recorded as missed."""

    async def give_up_unstarted(self, limit: int) -> int:
        """Skip executions that did not start within the time that their job gives them. Returns how many."""

    async def release_queued(self, limit: int) -> int:
        """Release executions that waited for an earlier one of their job. Returns how many."""

    async def promote_deferred(self, until: datetime, limit: int, make_days_for: MakeDays) -> int:
        """Create the executions of deferred jobs that are due before `until`, also on past days. Returns how many."""


class DependencyStore(Protocol):
    async def skip_rounds_without_parents(self, limit: int) -> int:
        """Decide about parents that may not be due in the rounds of their children. Returns about how many."""


class DuePlace(NamedTuple):
    """The place of a due time among all of a tenant, in their order. One-time jobs come first, as rule 0."""

    at: datetime
    rule_id: int
    priority: int
    job_id: int


class UpcomingRule(NamedTuple):
    """A rule that will be due, and how far its next round has been fired."""

    id: int
    timing: str
    next_at: datetime
    cursor: Cursor


class DueJob(NamedTuple):
    """A job at one of its due times."""

    place: DuePlace
    name: str | None
    task: str
    queue: str
    is_active: bool = True


class JobsInSpan(NamedTuple):
    """How many jobs of a rule have the same due times: from `begins` (None: all) to `ends`, both included."""

    rule_id: int
    begins: datetime | None
    ends: datetime | None
    jobs: int
    group: str | None = None  # the task or the queue of these jobs, if they are wanted by it
    is_wanted: bool = True  # whether they fit the filter


class TimedJob(NamedTuple):
    """A job: what it is called, and when it is due."""

    id: int
    name: str | None
    key: str | None
    task: str
    queue: str
    is_active: bool
    once_at: datetime | None  # of a one-time job
    rule: UpcomingRule | None
    active_from: datetime
    active_until: datetime | None


class DueCount(NamedTuple):
    """How many one-time jobs are due in a step of a range."""

    step: int
    jobs: int
    last_at: datetime
    is_deferred: bool
    group: str | None = None
    is_wanted: bool = True  # whether they fit the filter


class UpcomingStore(Protocol):
    async def now(self) -> datetime: ...

    def place(self, cursor: str) -> DuePlace: ...

    def cursor(self, place: DuePlace) -> str: ...

    async def count_rules_due_before(self, tenant_id: int, end: datetime) -> int: ...

    async def rules_due_before(
        self, tenant_id: int, end: datetime, one_in: int, limit: int, without: Sequence[int]
    ) -> list[UpcomingRule]:
        """A share of them, chosen by chance."""

    async def rules_with_most_jobs(self, tenant_id: int, end: datetime) -> list[UpcomingRule]:
        """Those due before a time that the statistics of the database name. None before there are any."""

    async def rules_next_due_after(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[UpcomingRule]:
        """Rules whose next round comes after a place, soonest first."""

    async def rules_possibly_due_after(
        self, tenant_id: int, second: int, rule: int, end: int, zones: ZoneTimes, limit: int
    ) -> list[tuple[datetime, UpcomingRule]]:
        """Rules whose next round comes before a second, in seconds since 1970, and a rule; each with the first time
        after that at which it can be due, in the order of these times and of rules. `zones` is about that second, and
        it must not be before `end` that a clock changes."""

    async def jobs_due_in(self, rounds: Sequence[DuePlace], limit: int) -> list[DueJob]:
        """The next jobs of these rounds in their order, of each those after the given place."""

    async def executions_due(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[DueJob]: ...

    async def deferred_jobs_due(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[DueJob]: ...

    async def timings(self, tenant_id: int, jobs: Sequence[int]) -> dict[int, TimedJob]:
        """Those of the jobs that exist."""

    async def with_tag(self, jobs: Sequence[int], tag: str) -> set[int]:
        """Those of the jobs that have the tag."""

    async def jobs_of_rules(
        self, rules: Sequence[int], since: datetime, limit: int, by: GroupBy | None, wanted: DueFilter
    ) -> list[JobsInSpan]:
        """Counts active jobs up to the limit, which holds for each rule, those that fit the filter and the others."""

    async def estimated_jobs_of_rules(self, rules: Sequence[int]) -> dict[int, int]:
        """From the statistics of the database. Empty before there are any."""

    async def count_one_time(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        starts: Sequence[datetime],
        limit: int,
        by: GroupBy | None,
        wanted: DueFilter,
    ) -> list[DueCount]:
        """By steps that begin at `starts`. Counts up to the limit, which holds for deferred jobs and for the others."""
