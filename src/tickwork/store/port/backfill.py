"""What running past due times asks of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from tickwork.model.backfill import BackfillRequest, BackfillView, Policy
from tickwork.model.page import Page


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

    async def give_up(self, backfill: int) -> None:
        """It cannot be filled: no more of it is made, and it has ended."""
