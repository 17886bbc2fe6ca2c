"""Waiting executions → workers with room for them."""

from datetime import timedelta

from prometheus_client import Counter

from tickwork.dispatch.handout import Handout
from tickwork.dispatch.roster import Roster
from tickwork.store.port import Claiming, DispatchStore

_CLAIMED = Counter("tickwork_executions_claimed_total", "Waiting executions that were handed to workers.")


class Claimer:
    def __init__(self, store: DispatchStore, roster: Roster, lead: timedelta) -> None:
        self._store = store
        self._roster = roster
        self._lead = lead

    async def claim(self) -> bool:
        """Hand out what is due, or nearly; whether there was anything."""
        self._roster.learn(await self._store.lanes_after(self._roster.newest_lane))
        rooms = self._roster.rooms()
        if not rooms:
            return False
        handout: Handout | None = None
        try:
            async with self._store.claiming() as claiming:
                handout = self._roster.place(await claiming.pick(rooms, self._lead))
                claimed = await self._claim(claiming, handout)
        except BaseException:
            if handout:
                handout.release()
            raise
        handout.deliver()
        return claimed

    async def _claim(self, claiming: Claiming, handout: Handout) -> bool:
        await handout.fix(claiming)
        shares = handout.shares()
        for worker_id, works in shares:
            await claiming.claim(works, worker_id)
            _CLAIMED.inc(works.size)
        await handout.lease(claiming)
        return bool(shares)
