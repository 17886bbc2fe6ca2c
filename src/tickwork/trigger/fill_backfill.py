"""Backfill + clock → executions.

Each backfill under way gets a turn: what has ended is counted, and as many due times as there is room for get their
executions, in one transaction under the backfill's lock. A turn is guarded by how far the backfill had come when it
was looked at, so that two nodes, or one that repeats itself, make nothing twice.
"""

from datetime import date, datetime

from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.store.port.define import BackfillStore, BackfillTurn
from tickwork.store.port.trigger import MakeDays
from tickwork.wake import Wake

_DAYS = 31  # whose partitions may have to be made in one turn


class Backfiller:
    def __init__(
        self,
        store: BackfillStore,
        make_days_for: MakeDays,
        wake: Wake,
    ) -> None:
        self._store = store
        self._make_days_for = make_days_for
        self._wake = wake
        self._last = 0
        self._isolation = BadRowIsolation("backfill")

    async def fill(self) -> bool:
        """Give the next backfill its turn; whether there may be another."""
        turn = await self._store.next_turn(self._last)
        if turn is None:
            self._last = 0
            return False
        self._last = turn.id
        await self._isolation.run_each([turn], self._give_turn, self._give_up)
        return True

    async def _give_up(self, turn: BackfillTurn, _: Exception) -> None:
        await self._store.give_up(turn.id)

    async def _give_turn(self, turn: BackfillTurn) -> None:
        times = _of_few_days(turn.times)
        await self._make_days_for(times)
        filled = await self._store.fill(turn._replace(times=times))
        if filled.made:
            self._wake.claim()
        if filled.passed_over:
            self._last -= 1  # it has room left: its turn again


def _of_few_days(times: list[datetime]) -> list[datetime]:
    days: set[date] = set()
    for number, at in enumerate(times):
        days.add(at.date())
        if len(days) > _DAYS:
            return times[:number]
    return times
