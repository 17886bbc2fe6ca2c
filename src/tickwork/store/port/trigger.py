"""What firing due times asks of the store."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.model.overlap import Blocker, Overlap
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


class Candidates(NamedTuple):
    """Jobs whose due times are being fired, as columns."""

    rounds: Sequence[int]  # which of the rounds each belongs to; they come round by round
    overlaps: Sequence[Overlap]
    works: ExecutionColumns
    followed: Sequence[bool]  # whether other jobs depend on them

    def spans(self) -> Iterator[tuple[int, range]]:
        """The rounds, and where each begins and ends."""
        begin = 0
        for number, count in Counter(self.rounds).items():
            yield number, range(begin, begin + count)
            begin += count


class QueueRoom(NamedTuple):
    """How many more may wait in a queue."""

    lanes: Collection[int]  # those of its lanes that were asked about
    room: int


class Collision(Exception):
    """Some due time that is being fired has an execution already."""


class Firing(Handover, Protocol):
    """One transaction that fires chunks of due rules."""

    async def take(
        self, lead: timedelta, late: timedelta, limit: int, only: int | None = None
    ) -> list[DueRule]:
        """Up to so many rules that are late by that much, and as many that are not; only that one, if one is named."""

    async def pick(self, rounds: Sequence[Round], chunk: int) -> Candidates: ...

    async def blockers(self, rounds: Sequence[Round], candidates: Candidates) -> dict[int, Blocker]:
        """What of their jobs has not ended, by the place of the candidate."""

    async def rooms(self, lanes: Sequence[int], lead: timedelta) -> list[QueueRoom]:
        """Of those queues of the lanes in which only so many may wait that are due by then."""

    async def cancel(self, blocking: Sequence[ExecutionKey]) -> None:
        """End them wherever they are: something newer replaces them."""

    async def insert(
        self,
        candidates: Candidates,
        workers: Sequence[int | None],
        blocked_by: Mapping[int, datetime],
        reasons: Mapping[int, str],
    ) -> None:
        """Those with a reason are skipped for it; a blocked one without waits for its turn. Collision when a due
        time has an execution already; then the transaction is over."""

    async def insert_carefully(
        self, candidates: Candidates, blocked_by: Mapping[int, datetime], reasons: Mapping[int, str]
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
        self,
        after: int,
        lead: timedelta,
        limit: int,
        next_at: Callable[[str, datetime, datetime], datetime | None],
    ) -> int | None:
        """Compute anew when some rules are due next, given their timing, from when on, and what they are set to; where
        to go on."""

    async def stop_rule(self, rule: int, reason: str) -> None:
        """It fires no more, and its jobs have failed; the due time that could not be fired is kept as missed."""

    async def release_queued(self, limit: int) -> int:
        """Let those go on whose turn has come; how many."""

    async def promote_held(self, until: datetime, limit: int, make_days_for: MakeDays) -> int:
        """Give one-time jobs due before that their executions, on days that may have passed meanwhile; how many."""


class DependencyStore(Protocol):
    async def skip_rounds_without_parents(self, limit: int) -> int:
        """Look for parents that are not due in the rounds of their children; how many were looked at."""
