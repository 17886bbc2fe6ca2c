"""Rule + clock → executions.

One step fires a chunk of every rule whose time has come, in one transaction: the rules are locked, the next jobs of
each are read, their executions are written, and the rules' cursors move. If the node dies before the commit,
nothing has happened; after it, everything has. Rules are locked before their jobs are looked at, and whoever
changes a job's place in a rule takes the same lock, so a pause or an edit is either wholly before or wholly after.
"""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Protocol

from prometheus_client import Counter

from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.model.execution import ExecutionKey
from tickwork.model.ids import to_micros
from tickwork.model.overlap import Queue, Replace, Skip, decide
from tickwork.model.worker_protocol import Micros
from tickwork.schedule.timing import timing_from_text
from tickwork.store.port.dispatch import ExecutionColumns, Handover
from tickwork.store.port.trigger import (
    Candidates,
    Collision,
    Cursor,
    DueRule,
    Firing,
    MakeDays,
    Round,
    RoundNote,
    RuleStep,
    TriggerStore,
)
from tickwork.trigger.catch_up import GRACE, STEPS, Plan, plan
from tickwork.trigger.jitter import spread
from tickwork.trigger.queue_full import FullQueues
from tickwork.wake import Wake

_FIRED = Counter("tickwork_executions_fired_total", "Executions that rules made, skipped ones included.")
LEAD = timedelta(milliseconds=250)  # hand over this early: workers start on the dot by their own clock
_FEWEST_RULES, _MOST_RULES = 8, 512  # late rules fired together, and as many that are on time
_CHUNK = 4000  # executions written together, shared by those rules
_LEAST = 8  # of each rule
_PASSED_OVER = 20_000  # missed due times noted together, shared by those rules
_NONE = range(0)


class Handout(Protocol):
    """Room that connected workers have for work, reserved until it is delivered or released."""

    def workers(self) -> Sequence[int | None]: ...

    async def fix(self, handing: Handover) -> None: ...

    async def lease(self, handing: Handover) -> None: ...

    def deliver(self) -> None: ...

    def release(self) -> None: ...


Place = Callable[[Handover, ExecutionColumns], Awaitable[Handout]]


class Trigger:
    def __init__(
        self,
        store: TriggerStore,
        place: Place,
        make_days_for: MakeDays,
        backlogs: FullQueues,
        wake: Wake,
    ) -> None:
        self._store = store
        self._backlogs = backlogs
        self._wake = wake
        self._make_days_for = make_days_for
        self._place = place
        self._width = _FEWEST_RULES
        self._isolation = BadRowIsolation("fire")

    async def fire(self) -> bool:
        """Fire a chunk of what is due; whether there was anything."""
        try:
            return await self._fire_together()
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._fire_each()
            return True

    async def _fire_together(self) -> bool:
        try:
            return await self._fire(self._place)
        except Collision:
            return await self._fire(None)

    async def _fire_each(self) -> None:
        """One of them cannot be fired: the others are, and that one stops with the reason."""
        async with self._store.firing() as firing:
            rules = await firing.take(LEAD, GRACE, self._width)
        await self._isolation.run_each([rule.id for rule in rules], self._fire_alone, self._stop)

    async def _fire_alone(self, rule: int) -> None:
        """What cannot be handed out at once may still be made, so that it is known which of its jobs it is."""
        try:
            await self._fire(self._place, rule)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._fire(None, rule)

    async def _stop(self, rule: int, error: Exception) -> None:
        await self._store.stop_rule(rule, f"its schedule cannot be fired: {error_text(error)}")

    async def _fire(self, place: Place | None, only: int | None = None) -> bool:
        """Without `place`: carefully, past executions that exist already, and nothing is handed out at once."""
        handout: Handout | None = None
        try:
            async with self._store.firing() as firing:
                rules = await firing.take(LEAD, GRACE, self._width, only)
                if not rules:
                    return False
                steps = max(_PASSED_OVER // len(rules), 1)
                plans = [plan(rule, timing_from_text(rule.timing), min(steps, STEPS)) for rule in rules]
                chunk = max(_CHUNK // len(plans), _LEAST)
                rounds = [each.round for each in plans if each.round]
                candidates = await self._pick(firing, rounds, plans, chunk)
                if candidates:
                    blocked = await self._overlapping(firing, rounds, candidates)
                    until = to_micros(rules[0].now + LEAD)
                    handout = await self._write(firing, candidates, blocked, place, until)
                await firing.advance(*_progress(plans, candidates, chunk))
        except BaseException:
            if handout:
                handout.release()
            raise
        if handout:
            handout.deliver()
        fired = candidates.works.size if candidates else 0
        _FIRED.inc(fired)
        self._adapt(len(plans), fired)
        return True

    def _adapt(self, rules: int, fired: int) -> None:
        """Few rules together when they have many jobs, many when they have few."""
        if fired >= _CHUNK / 2:
            self._width = max(self._width // 2, _FEWEST_RULES)
            self._wake.fire_beside()
        elif rules >= self._width:
            self._width = min(self._width * 2, _MOST_RULES)

    async def _pick(
        self, firing: Firing, rounds: Sequence[Round], plans: Sequence[Plan], chunk: int
    ) -> Candidates | None:
        if not rounds:
            return None
        await self._make_days_for(round_.scheduled_for for round_ in rounds)
        candidates = await firing.pick(rounds, chunk)
        if not candidates.works.size:
            return None
        jitters = [timing_from_text(plan.rule.timing).jitter for plan in plans if plan.round]
        return spread(candidates, jitters) if any(jitters) else candidates

    async def _write(
        self,
        firing: Firing,
        candidates: Candidates,
        blocked: Mapping[int, Skip | Queue],
        place: Place | None,
        handed_out_until: Micros,
    ) -> Handout | None:
        startable = _startable(candidates, blocked, handed_out_until)
        lanes = candidates.works.lanes
        blocked_by = {place: each.blocked_by for place, each in blocked.items()}
        skipped = {place: each.reason for place, each in blocked.items() if isinstance(each, Skip)}
        if place is None:
            nobody = [None] * candidates.works.size
            skipped |= await self._backlogs.overflowing(firing, lanes, startable, nobody)
            await firing.insert_carefully(candidates, blocked_by, skipped)
            return None
        handout = await place(firing, candidates.works.at(startable))
        try:
            await handout.fix(firing)
            workers = _spread_out(handout.workers(), startable, candidates.works.size)
            skipped |= await self._backlogs.overflowing(firing, lanes, startable, workers)
            await firing.insert(candidates, workers, blocked_by, skipped)
            await handout.lease(firing)
        except BaseException:
            handout.release()
            raise
        return handout

    async def _overlapping(
        self, firing: Firing, rounds: Sequence[Round], candidates: Candidates
    ) -> dict[int, Skip | Queue]:
        """What becomes of the candidates that cannot run now. Executions that others replace are cancelled."""
        if all(overlap == "allow" for overlap in candidates.overlaps):
            return {}
        blockers = await firing.blockers(rounds, candidates)
        decisions = {place: decide(candidates.overlaps[place], each) for place, each in blockers.items()}
        replaced = [
            _execution_of(candidates, place, each.replaced)
            for place, each in decisions.items()
            if isinstance(each, Replace)
        ]
        if replaced:
            await firing.cancel(replaced)
        return {place: each for place, each in decisions.items() if isinstance(each, Skip | Queue)}


def _execution_of(candidates: Candidates, place: int, scheduled_for: datetime) -> ExecutionKey:
    works = candidates.works
    return ExecutionKey(works.tenants[place], scheduled_for, works.jobs[place])


def _startable(candidates: Candidates, blocked: Container[int], until: Micros) -> Sequence[int]:
    """The places of those that could be handed to a worker now."""
    ready = candidates.works.ready
    if not blocked and max(ready) <= until:
        return range(len(ready))
    return [place for place, at in enumerate(ready) if at <= until and place not in blocked]


def _spread_out(workers: Sequence[int | None], places: Sequence[int], count: int) -> Sequence[int | None]:
    if len(places) == count:
        return workers
    all_of_them: list[int | None] = [None] * count
    for place, worker in zip(places, workers, strict=True):
        all_of_them[place] = worker
    return all_of_them


def _progress(
    plans: Sequence[Plan], candidates: Candidates | None, chunk: int
) -> tuple[list[RuleStep], list[RoundNote]]:
    """Where each rule stands now, and what to keep about its due times."""
    spans = dict(candidates.spans()) if candidates else {}
    numbers = count()
    steps: list[RuleStep] = []
    notes = [plan.note for plan in plans if plan.note]
    for each in plans:
        if each.round is None:
            steps.append(_passed(each))
            continue
        span = spans.get(next(numbers), _NONE)
        if candidates and len(span) == chunk:
            steps.append(_within(each.rule, each.round, _cursor_at(candidates, span[-1])))
        else:
            steps.append(_fired(each, each.round, found_none=not span))
            notes.append(RoundNote(each.rule.id, each.round.scheduled_for))
    return steps, notes


def _cursor_at(candidates: Candidates, place: int) -> Cursor:
    return candidates.works.priorities[place], candidates.works.jobs[place]


def _passed(plan: Plan) -> RuleStep:
    return RuleStep(plan.rule.id, plan.following, plan.rule.last_at, None, looks_empty=False)


def _within(rule: DueRule, round_: Round, last: Cursor) -> RuleStep:
    """There may be more of it."""
    return RuleStep(rule.id, round_.scheduled_for, rule.last_at, last, looks_empty=False)


def _fired(plan: Plan, round_: Round, *, found_none: bool) -> RuleStep:
    empty = found_none and plan.rule.cursor is None
    return RuleStep(plan.rule.id, plan.following, round_.scheduled_for, None, looks_empty=empty)
