"""Gives waiting executions to workers that have capacity for them."""

from collections import Counter as Counted
from collections.abc import Mapping, Sequence
from datetime import timedelta

from prometheus_client import Counter

from tickwork.dispatch.claim_order import ClaimOrder
from tickwork.dispatch.connected_workers import ConnectedWorkers, LateBacklog
from tickwork.dispatch.handover_to_workers import Assignment
from tickwork.dispatch.limits import LockedLimits, lock_limits
from tickwork.loop import Wake
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.model.deadline import deadline_from_text
from tickwork.model.event_after_commit import AttemptsEnded
from tickwork.store.port.dispatch import Backlog, Claiming, DispatchStore, ExecutionColumns, Handover

_CLAIMED = Counter("tickwork_executions_claimed_total", "Waiting executions that were handed to workers.")
_LATE = 0.5  # seconds of waiting, after which newly fired executions must leave slots for the backlog
_SHARE_PAST_OWN, _SHARE_PAST_OTHERS = 7 / 8, 1 / 2  # of the free slots, for newly fired executions


class Claimer:
    def __init__(self, store: DispatchStore, connected: ConnectedWorkers, lead: timedelta) -> None:
        self._store = store
        self._connected = connected
        self._lead = lead
        self._order = ClaimOrder(connected)
        self._isolation = BadRowIsolation("claim")
        self.limit_reached = False  # executions wait for a limit, which the end of an attempt may free
        self.more_may_wait = True  # the last claim did not empty the backlogs

    async def claim(self) -> bool:
        """Hand over executions that are due within the lead; whether to claim again at once.

        Once the backlogs are empty, the next tick is early enough: the lead is longer than a tick."""
        if not self._connected.free_slots():
            self.more_may_wait = True
            return False
        try:
            return await self._claim_from(None)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._claim_one_by_one()
            return False

    async def _claim_one_by_one(self) -> None:
        """After a row error: hand over one execution of each backlog, and end those as failed that cause errors."""
        backlogs = await self._store.waiting(self._lead)
        await self._isolation.run_each(backlogs, self._claim_one, self._fail_first)

    async def _claim_one(self, backlog: Backlog) -> None:
        await self._claim_from(backlog)

    async def _fail_first(self, backlog: Backlog, error: Exception) -> None:
        await self._store.fail_oldest(backlog, self._lead, f"cannot be handed out: {error_text(error)}")

    async def _claim_from(self, only: Backlog | None) -> bool:
        """Most of the times that a node looks nothing waits, so it looks before it begins a transaction. What it picks
        is what still waits then."""
        backlogs = await self._served([only] if only else await self._store.waiting(self._lead))
        if not backlogs:
            self._observe((), LockedLimits((), ()))
            self.more_may_wait = False
            return False
        assignment: Assignment | None = None
        try:
            async with self._store.claiming() as claiming:
                assignment = await self._choose(claiming, backlogs, only)
                if assignment:
                    await self._write(claiming, assignment)
        except BaseException:
            if assignment:
                assignment.release()
            raise
        if assignment is None:
            return False
        assignment.deliver()
        return bool(assignment.shares) and self.more_may_wait

    async def _served(self, waiting: Sequence[Backlog]) -> list[Backlog]:
        """Those that a connected worker serves."""
        await self._connected.load_lanes((backlog.lane for backlog in waiting), self._store)
        return [backlog for backlog in waiting if self._connected.serving(backlog.lane)]

    async def _choose(
        self, claiming: Claiming, backlogs: list[Backlog], only: Backlog | None
    ) -> Assignment | None:
        free_slots = self._connected.free_slots()
        wanted = [(self._connected.lanes[lane], free_slots) for lane in {each.lane for each in backlogs}]
        limits = await lock_limits(claiming, wanted, free_slots)
        self._observe(backlogs, limits)
        backlogs = await self._with_deadlines(claiming, backlogs)
        quotas = self._order.allot(backlogs, limits)
        if only and quotas:
            quotas = {only: 1}
        start_within = [self._connected.lanes[backlog.lane].placement.start_within for backlog in quotas]
        executions = await claiming.pick(quotas, self._lead, start_within) if quotas else None
        self.more_may_wait = _quota_reached(backlogs, quotas, executions)
        if executions is None:
            return None
        limits.reset()
        return self._connected.assign(executions, limits)

    async def _with_deadlines(self, claiming: Claiming, backlogs: list[Backlog]) -> list[Backlog]:
        """The executions of a lane have the same deadline, so that the earliest due has the earliest one."""
        texts = {
            backlog: text
            for backlog in backlogs
            if (text := self._connected.lanes[backlog.lane].placement.deadline) is not None
        }
        if not texts:
            return backlogs
        due = await claiming.earliest_due([*texts], self._lead)
        found = {
            backlog: backlog._replace(deadline=deadline_from_text(text).of(at).timestamp())
            for (backlog, text), at in zip(texts.items(), due, strict=True)
        }
        return [found.get(backlog, backlog) for backlog in backlogs]

    def _observe(self, backlogs: Sequence[Backlog], limits: LockedLimits) -> None:
        """Remember which backlogs are late for lack of workers, and whether a limit keeps any of them waiting."""
        allowed = [each for each in backlogs if self._is_allowed(each, limits)]
        self._connected.late = self._late([backlog for backlog in allowed if backlog.waited > _LATE])
        self.limit_reached = len(allowed) < len(backlogs)

    def _is_allowed(self, backlog: Backlog, limits: LockedLimits) -> bool:
        lane = self._connected.lanes[backlog.lane]
        return limits.capacity(lane) > 0 and bool(
            limits.allowed_workers(lane, self._connected.serving(lane.id))
        )

    def _late(self, late: Sequence[Backlog]) -> LateBacklog | None:
        if not late:
            return None
        urgency = self._connected.urgency
        most_urgent = min(map(urgency, late))
        flows = {self._connected.flows[backlog.lane] for backlog in late if urgency(backlog) == most_urgent}
        return LateBacklog(most_urgent, flows.pop() if len(flows) == 1 else None)

    async def _write(self, claiming: Claiming, assignment: Assignment) -> None:
        await assignment.drop_lost_workers(claiming)
        for worker, _, executions in assignment.shares:
            await claiming.claim(executions, worker.id)
            self._order.record(executions)
            _CLAIMED.inc(executions.size)
        await assignment.lease(claiming)


def _quota_reached(
    backlogs: Sequence[Backlog], quotas: Mapping[Backlog, int], executions: ExecutionColumns | None
) -> bool:
    """Whether a backlog had at least as many executions as were requested, so that it may have more."""
    picked = Counted(zip(executions.lanes, executions.priorities, strict=True)) if executions else Counted()
    return any(picked[each.lane, each.priority] >= quotas.get(each, 0) for each in backlogs)


class ClaimAgain:
    """Wakes the claim loop before its next tick, when what limited the last claim has changed."""

    def __init__(self, claimer: Claimer, wake: Wake) -> None:
        self._claimer = claimer
        self._wake = wake

    def after_slots_freed(self) -> None:
        """A worker reported outcomes and has free slots."""
        if self._claimer.more_may_wait:
            self._wake.claim()

    def after_end(self, _: AttemptsEnded) -> None:
        """A limit that was reached may allow some executions again."""
        if self._claimer.limit_reached:
            self._wake.claim()


class Placer:
    """Assigns executions to workers at once, in the transaction that fires them."""

    def __init__(self, connected: ConnectedWorkers) -> None:
        self._connected = connected

    async def place(self, handover: Handover, executions: ExecutionColumns) -> Assignment:
        """As far as workers have free slots, limits allow, and nothing more urgent has waited long."""
        await self._connected.load_lanes(set(executions.lanes), handover)
        wanted = [
            (self._connected.lanes[lane], count)
            for lane, count in Counted(executions.lanes).items()
            if any(worker.free_slots for worker in self._connected.serving(lane))
        ]
        limits = await lock_limits(handover, wanted, executions.size)
        return self._connected.assign(executions, limits, self._placeable(executions))

    def _placeable(self, executions: ExecutionColumns) -> Sequence[int] | None:
        """The positions of executions that may be placed at once; None for all. Whether one is too late to be useful
        is for the claim to say: what a node fires may have been due while no node ran."""
        positions = self._before_backlog(executions)
        lanes = self._connected.lanes
        limited = {lane for lane in set(executions.lanes) if lanes[lane].placement.start_within is not None}
        if not limited:
            return positions
        candidates = range(executions.size) if positions is None else positions
        return [position for position in candidates if executions.lanes[position] not in limited]

    def _before_backlog(self, executions: ExecutionColumns) -> Sequence[int] | None:
        """The positions of executions that may start before the late backlog; None for all.

        Those are as urgent as the backlog or more. They leave some free slots to the backlog, but not all: a claim
        takes longer than placing, and a node that is late must not fall behind further."""
        late = self._connected.late
        if late is None:
            return None
        urgencies = self._connected.urgencies(executions)
        urgent = [position for position, urgency in enumerate(urgencies) if urgency < late.urgency]
        equal = [position for position, urgency in enumerate(urgencies) if urgency == late.urgency]
        is_own = {self._connected.flows[lane] for lane in set(executions.lanes)} == {late.flow}
        most = int(self._connected.free_slots() * (_SHARE_PAST_OWN if is_own else _SHARE_PAST_OTHERS))
        return urgent + equal[: max(most - len(urgent), 0)]
