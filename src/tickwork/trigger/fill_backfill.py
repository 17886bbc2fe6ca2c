"""Creates the executions of backfills, round robin over the active backfills.

Each turn is one transaction that locks a backfill, counts its ended executions and creates as many new ones as may run
at once. The transaction checks that the backfill's progress is still what this node read, so that no execution is
created twice by two nodes or by a repeated turn.
"""

from datetime import date, datetime

from tickwork.loop import Wake
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.store.port.define import BackfillStore, BackfillTurn
from tickwork.store.port.trigger import MakeDays

_MAX_DAYS = 31  # per turn: each day may need a new partition


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
        self._last_id = 0
        self._isolation = BadRowIsolation("backfill")

    async def fill(self) -> bool:
        """Create executions for the next backfill. Returns False after the last backfill."""
        turn = await self._store.next_turn(self._last_id)
        if turn is None:
            self._last_id = 0
            return False
        self._last_id = turn.id
        await self._isolation.run_each([turn], self._create_executions, self._give_up)
        return True

    async def _give_up(self, turn: BackfillTurn, _: Exception) -> None:
        await self._store.give_up(turn.id)

    async def _create_executions(self, turn: BackfillTurn) -> None:
        times = _limit_days(turn.times)
        await self._make_days_for(times)
        filled = await self._store.fill(turn._replace(times=times))
        if filled.made:
            self._wake.claim()
        if filled.passed_over:
            self._last_id -= 1  # it may run more: some due times had an execution already


def _limit_days(times: list[datetime]) -> list[datetime]:
    days: set[date] = set()
    for number, at in enumerate(times):
        days.add(at.date())
        if len(days) > _MAX_DAYS:
            return times[:number]
    return times
