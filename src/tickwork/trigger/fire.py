"""Rule + clock → executions.

One step fires a chunk of every rule whose time has come, in one transaction: the rules are locked, the next jobs of
each are read, their executions are written, and the rules' cursors move. If the node dies before the commit,
nothing has happened; after it, everything has. Rules are locked before their jobs are looked at, and whoever
changes a job's place in a rule takes the same lock, so a pause or an edit is either wholly before or wholly after.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from prometheus_client import Counter

from tickwork.model.schedule import Timing
from tickwork.store.port import Candidate, Collision, Firing, Handing, RoundNote, RuleStep, TriggerStore, Work
from tickwork.trigger.catch_up import GRACE, Plan, plan
from tickwork.trigger.jitter import spread
from tickwork.trigger.overlap import replaces, skip_reason

_FIRED = Counter("tickwork_executions_fired_total", "Executions that rules made, skipped ones included.")
LEAD = timedelta(milliseconds=250)  # hand over this early: workers start on the dot by their own clock
_RULES = 32  # late rules fired together, and as many that are on time
_CHUNK = 4000  # executions written together, shared by those rules
_LEAST = 50  # of each rule


class Handout(Protocol):
    """Room that connected workers have for work, reserved until it is delivered or released."""

    @property
    def workers(self) -> Sequence[int | None]: ...

    async def fix(self, handing: Handing) -> None: ...

    async def lease(self, handing: Handing) -> None: ...

    def deliver(self) -> None: ...

    def release(self) -> None: ...


class Trigger:
    def __init__(
        self,
        store: TriggerStore,
        timing_from_text: Callable[[str], Timing],
        place: Callable[[Sequence[Work]], Handout],
        make_days_for: Callable[[Iterable[datetime]], Awaitable[None]],
    ) -> None:
        self._store = store
        self._make_days_for = make_days_for
        self._timing_from_text = timing_from_text
        self._place = place

    async def fire(self) -> bool:
        """Fire a chunk of what is due; whether there was anything."""
        try:
            return await self._fire(self._place)
        except Collision:
            return await self._fire(None)

    async def _fire(self, place: Callable[[Sequence[Work]], Handout] | None) -> bool:
        """Without `place`: carefully, past executions that exist already, and nothing is handed out at once."""
        handout: Handout | None = None
        try:
            async with self._store.firing() as firing:
                rules = await firing.take(LEAD, GRACE, _RULES)
                if not rules:
                    return False
                plans = [plan(rule, self._timing_from_text(rule.timing)) for rule in rules]
                chunk = max(_CHUNK // len(plans), _LEAST)
                candidates = await self._pick(firing, plans, chunk)
                if place:
                    handout = await self._write(firing, candidates, place, rules[0].now + LEAD)
                else:
                    await firing.insert_carefully(candidates)
                await firing.advance(*_progress(plans, candidates, chunk))
        except BaseException:
            if handout:
                handout.release()
            raise
        if handout:
            handout.deliver()
        _FIRED.inc(len(candidates))
        return True

    async def _pick(self, firing: Firing, plans: Sequence[Plan], chunk: int) -> list[Candidate]:
        firing_now = [(plan.round, self._timing_from_text(plan.rule.timing)) for plan in plans if plan.round]
        if not firing_now:
            return []
        await self._make_days_for(round_.scheduled_for for round_, _ in firing_now)
        candidates = await firing.pick([round_ for round_, _ in firing_now], chunk)
        jitters = [timing.jitter for _, timing in firing_now]
        if any(jitters):
            candidates = [spread(candidate, jitters[candidate.round_number]) for candidate in candidates]
        replacing = [candidate for candidate in candidates if replaces(candidate)]
        if replacing:
            await firing.cancel_blockers(replacing)
            candidates = [each._replace(blocked_by=None) if replaces(each) else each for each in candidates]
        return candidates

    async def _write(
        self,
        firing: Firing,
        candidates: Sequence[Candidate],
        place: Callable[[Sequence[Work]], Handout],
        handed_out_until: datetime,
    ) -> Handout | None:
        if not candidates:
            return None
        startable = [
            each.blocked_by is None and each.work.ready_at <= handed_out_until for each in candidates
        ]
        handout = place([each.work for each, starts in zip(candidates, startable, strict=True) if starts])
        try:
            await handout.fix(firing)
            placed = iter(handout.workers)
            workers = [next(placed) if starts else None for starts in startable]
            await firing.insert(candidates, workers, [skip_reason(each) for each in candidates])
            await handout.lease(firing)
        except BaseException:
            handout.release()
            raise
        return handout


def _progress(
    plans: Sequence[Plan], candidates: Sequence[Candidate], chunk: int
) -> tuple[list[RuleStep], list[RoundNote]]:
    """Where each rule stands now, and what to keep about its due times."""
    firing = (plan for plan in plans if plan.round)
    by_round = {number: list(group) for number, group in groupby(candidates, lambda each: each.round_number)}
    picked = {plan.rule.id: by_round.get(number, []) for number, plan in enumerate(firing)}
    steps = [_step(plan, picked.get(plan.rule.id, []), chunk) for plan in plans]
    fired = [
        RoundNote(plan.rule.id, plan.round.scheduled_for)
        for step, plan in zip(steps, plans, strict=True)
        if plan.round and step.cursor is None
    ]
    return steps, [plan.note for plan in plans if plan.note] + fired


def _step(plan: Plan, picked: Sequence[Candidate], chunk: int) -> RuleStep:
    rule = plan.rule
    if plan.round is None:
        return RuleStep(rule.id, plan.following, rule.last_at, None, looks_empty=False)
    if len(picked) == chunk:
        last = picked[-1]
        cursor = (last.priority, last.work.job_id)
        return RuleStep(rule.id, plan.round.scheduled_for, rule.last_at, cursor, looks_empty=False)
    empty = not picked and rule.cursor is None
    return RuleStep(rule.id, plan.following, plan.round.scheduled_for, None, looks_empty=empty)
