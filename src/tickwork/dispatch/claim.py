"""Waiting executions → workers with room for them."""

from collections import Counter as Counted
from collections.abc import Mapping, Sequence
from datetime import timedelta

from prometheus_client import Counter

from tickwork.dispatch.claim_order import ClaimOrder
from tickwork.dispatch.connected_workers import Behind, ConnectedWorkers
from tickwork.dispatch.limits import LockedLimits, lock_limits
from tickwork.dispatch.send_to_worker import Handout
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.store.port.dispatch import Backlog, Claiming, DispatchStore, ExecutionColumns, Handover

_CLAIMED = Counter("tickwork_executions_claimed_total", "Waiting executions that were handed to workers.")
_TOO_LONG = 0.5  # seconds of waiting, after which not everything is handed out past it
_PASSING_OWN, _PASSING_OTHERS = 7 / 8, 1 / 2  # of the places may be given away past it


class Claimer:
    def __init__(self, store: DispatchStore, roster: ConnectedWorkers, lead: timedelta) -> None:
        self._store = store
        self._roster = roster
        self._lead = lead
        self._order = ClaimOrder(roster)
        self._isolation = BadRowIsolation("claim")
        self.something_is_held_back = False  # by a limit, which may be free as soon as something ends
        self.something_may_be_left = True  # for want of room

    async def claim(self) -> bool:
        """Hand out what is due, or nearly; whether to go on at once. When nothing is left, what comes within the lead
        has time until the next look."""
        if not self._roster.room():
            self.something_may_be_left = True
            return False
        try:
            return await self._claim_from(None)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._claim_each()
            return False

    async def _claim_each(self) -> None:
        """Something that waits cannot be handed out: of each line one is, and what fails ends with the reason."""
        async with self._store.claiming() as claiming:
            waiting = await claiming.waiting(self._lead)
        await self._isolation.run_each(waiting, self._claim_one, self._set_aside)

    async def _claim_one(self, line: Backlog) -> None:
        await self._claim_from(line)

    async def _set_aside(self, line: Backlog, error: Exception) -> None:
        await self._store.fail_oldest(line, self._lead, f"cannot be handed out: {error_text(error)}")

    async def _claim_from(self, only: Backlog | None) -> bool:
        handout: Handout | None = None
        try:
            async with self._store.claiming() as claiming:
                handout = await self._choose(claiming, only)
                if handout:
                    await self._claim(claiming, handout)
        except BaseException:
            if handout:
                handout.release()
            raise
        if handout is None:
            return False
        handout.deliver()
        return bool(handout.shares) and self.something_may_be_left

    async def _choose(self, claiming: Claiming, only: Backlog | None) -> Handout | None:
        waiting = [only] if only else await claiming.waiting(self._lead)
        await self._roster.learn((line.lane for line in waiting), claiming)
        lines = [line for line in waiting if self._roster.serving(line.lane)]
        if not lines:
            self._notice((), LockedLimits((), ()))
            self.something_may_be_left = False
            return None
        room = self._roster.room()
        wanted = [(self._roster.lanes[lane], room) for lane in {line.lane for line in lines}]
        gates = await lock_limits(claiming, wanted, room)
        self._notice(lines, gates)
        quotas = self._order.allot(lines, gates)
        if only and quotas:
            quotas = {only: 1}
        works = await claiming.pick(quotas, self._lead) if quotas else None
        self.something_may_be_left = _some_left(lines, quotas, works)
        if works is None:
            return None
        gates.start_over()
        return self._roster.place(works, gates)

    def _notice(self, lines: Sequence[Backlog], gates: LockedLimits) -> None:
        """What has waited for too long though nothing but workers is missing, and whether a limit holds anything."""
        free = [line for line in lines if gates.room(self._roster.lanes[line.lane])]
        self._roster.behind = self._behind([line for line in free if line.waited > _TOO_LONG])
        self.something_is_held_back = len(free) < len(lines)

    def _behind(self, late: Sequence[Backlog]) -> Behind | None:
        if not late:
            return None
        most_urgent = min(line.priority for line in late)
        flows = {self._roster.flows[line.lane] for line in late if line.priority == most_urgent}
        return Behind(most_urgent, flows.pop() if len(flows) == 1 else None)

    async def _claim(self, claiming: Claiming, handout: Handout) -> None:
        await handout.fix(claiming)
        for member, _, works in handout.shares:
            await claiming.claim(works, member.seat.worker_id)
            self._order.remember(works)
            _CLAIMED.inc(works.size)
        await handout.lease(claiming)


def _some_left(
    lines: Sequence[Backlog], quotas: Mapping[Backlog, int], works: ExecutionColumns | None
) -> bool:
    """Whether one of the lines gave all that it was asked for."""
    picked = Counted(zip(works.lanes, works.priorities, strict=True)) if works else Counted()
    return any(picked[line.lane, line.priority] >= quotas.get(line, 0) for line in lines)


class Placer:
    """Puts what is being fired into free hands at once."""

    def __init__(self, roster: ConnectedWorkers) -> None:
        self._roster = roster

    async def place(self, handing: Handover, works: ExecutionColumns) -> Handout:
        """As far as there are any, no gate is in the way, and nothing more urgent has waited for long."""
        await self._roster.learn(set(works.lanes), handing)
        wanted = [
            (self._roster.lanes[lane], count)
            for lane, count in Counted(works.lanes).items()
            if any(member.room for member in self._roster.serving(lane))
        ]
        gates = await lock_limits(handing, wanted, works.size)
        return self._roster.place(works, gates, self._may_pass(works))

    def _may_pass(self, works: ExecutionColumns) -> Sequence[int] | None:
        """What is no less urgent than all that waits. It leaves some room for that, but not all: to go through the line
        takes longer, and a node that is behind must not fall back further."""
        behind = self._roster.behind
        if behind is None:
            return None
        urgent, equal = (
            [place for place, priority in enumerate(works.priorities) if priority in levels]
            for levels in (range(behind.priority), (behind.priority,))
        )
        alone = {self._roster.flows[lane] for lane in set(works.lanes)} == {behind.flow}
        most = int(self._roster.room() * (_PASSING_OWN if alone else _PASSING_OTHERS))
        return urgent + equal[: max(most - len(urgent), 0)]
