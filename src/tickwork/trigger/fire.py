"""Fires due rules: creates the executions of their jobs and hands them over to free workers.

One step is one transaction for a chunk of each due rule: it locks the rules, reads the next jobs of each, inserts their
executions and advances the rules' cursors. If the node dies before the commit, nothing has happened. Rules are locked
before their jobs are read, and a change of a job's rule takes the same lock, so a pause or an edit takes effect
completely before or completely after the step.
"""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from time import time_ns
from typing import NamedTuple, Protocol

from prometheus_client import Counter

from tickwork.loop import Wake
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text, is_row_error
from tickwork.model.execution import ExecutionKey
from tickwork.model.overlap import Queue, Replace, Skip, decide
from tickwork.model.public_ids import to_micros
from tickwork.model.worker_protocol import Micros
from tickwork.schedule.compile_timing import timing_from_text
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
from tickwork.trigger.jitter import add_jitter
from tickwork.trigger.queue_full import FullQueues

_FIRED = Counter("tickwork_executions_fired_total", "Executions that rules created, skipped ones included.")
LEAD = timedelta(milliseconds=250)  # hand over this early: workers start at the due time by their own clock
_MIN_RULES, _MAX_RULES = 8, 512  # late rules per step; as many rules that are on time come on top
_CHUNK = 4000  # executions per step, divided among its rules
_MIN_PER_RULE = 8
_MAX_MISSED = 20_000  # missed due times per step, divided among its rules
_EMPTY = range(0)


class Assignment(Protocol):
    """Executions with the workers that get them, whose slots are reserved until `deliver` or `release`."""

    def workers(self) -> Sequence[int | None]: ...

    async def drop_lost_workers(self, handover: Handover, /) -> None: ...

    async def lease(self, handover: Handover, /) -> None: ...

    def deliver(self) -> None: ...

    def release(self) -> None: ...


AssignWorkers = Callable[[Handover, ExecutionColumns], Awaitable[Assignment]]


class TraceFired(Protocol):
    def __call__(
        self,
        executions: ExecutionColumns,
        origins: Sequence[str | None],
        skipped: Mapping[int, str],
        began: int,
        /,
    ) -> None:
        """`origins`: of the jobs. `skipped`: the reasons, by index. `began`: nanoseconds."""


class FiredCounter(Protocol):
    def count_fired(self, lanes: Sequence[int], times: Sequence[Micros], /) -> None:
        """Count executions that were created: the lane and the due time of each."""

    def recount_fired(self, times: Iterable[Micros], /) -> None:
        """Whether executions with these due times were created is not known."""


class _Inserted(NamedTuple):
    assignment: Assignment | None
    skipped: Mapping[int, str]  # the reasons, by index


class Trigger:
    def __init__(
        self,
        store: TriggerStore,
        assign_workers: AssignWorkers,
        make_days_for: MakeDays,
        full_queues: FullQueues,
        wake: Wake,
        counter: FiredCounter,
        trace_fired: TraceFired | None = None,
    ) -> None:
        self._store = store
        self._trace_fired = trace_fired
        self._counter = counter
        self._full_queues = full_queues
        self._wake = wake
        self._make_days_for = make_days_for
        self._assign_workers = assign_workers
        self._max_rules = _MIN_RULES
        self._isolation = BadRowIsolation("fire")
        self._has_fired = False  # in the last step: then there is often more, which needs no look first

    async def fire(self) -> bool:
        """Fire a chunk of each due rule. Returns False if no rule was due."""
        if not self._has_fired and not await self._store.is_any_rule_due(LEAD):
            return False
        self._has_fired = await self._fire_all()
        return self._has_fired

    async def _fire_all(self) -> bool:
        try:
            return await self._fire_together()
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._fire_each()
            return True

    async def _fire_together(self) -> bool:
        try:
            return await self._fire(self._assign_workers)
        except Collision:
            return await self._fire(None)

    async def _fire_each(self) -> None:
        """Fire each rule alone, because one of them cannot be fired. That one stops, with the reason."""
        async with self._store.firing() as firing:
            rules = await firing.take(LEAD, GRACE, self._max_rules)
        await self._isolation.run_each([rule.id for rule in rules], self._fire_alone, self._stop)

    async def _fire_alone(self, rule: int) -> None:
        """If the executions cannot be handed over, only create them: claiming then finds out which one is bad."""
        try:
            await self._fire(self._assign_workers, rule)
        except Exception as error:
            if not is_row_error(error):
                raise
            await self._fire(None, rule)

    async def _stop(self, rule: int, error: Exception) -> None:
        await self._store.stop_rule(rule, f"its schedule cannot be fired: {error_text(error)}")

    async def _fire(self, assign_workers: AssignWorkers | None, only: int | None = None) -> bool:
        """Without `assign_workers`, executions that exist already are left alone, and none is handed over."""
        assignment: Assignment | None = None
        candidates: Candidates | None = None
        skipped: Mapping[int, str] = {}
        committing = False
        began = time_ns()  # for the trace: it decides nothing
        try:
            async with self._store.firing() as firing:
                rules = await firing.take(LEAD, GRACE, self._max_rules, only)
                if not rules:
                    return False
                steps = max(_MAX_MISSED // len(rules), 1)
                plans = [plan(rule, timing_from_text(rule.timing), min(steps, STEPS)) for rule in rules]
                chunk = max(_CHUNK // len(plans), _MIN_PER_RULE)
                rounds = [each.round for each in plans if each.round]
                candidates = await self._pick(firing, rounds, plans, chunk)
                if candidates:
                    blocked = await self._apply_overlap(firing, rounds, candidates)
                    until = to_micros(rules[0].now + LEAD)
                    assignment, skipped = await self._insert(
                        firing, candidates, blocked, assign_workers, until
                    )
                await firing.advance(*_progress(plans, candidates, chunk))
                committing = True
        except BaseException:
            if assignment:
                assignment.release()
            if candidates and committing:
                self._counter.recount_fired(candidates.executions.times)
            raise
        if candidates and self._trace_fired:
            self._trace_fired(candidates.executions, candidates.trace_origins, skipped, began)
        if assignment:
            assignment.deliver()
        fired = candidates.executions.size if candidates else 0
        if candidates:
            self._counter.count_fired(candidates.executions.lanes, candidates.executions.times)
        _FIRED.inc(fired)
        self._adapt_max_rules(len(plans), fired)
        return True

    def _adapt_max_rules(self, rules: int, fired: int) -> None:
        """Take fewer rules per step when they have many jobs, and more when they have few."""
        if fired >= _CHUNK / 2:
            self._max_rules = max(self._max_rules // 2, _MIN_RULES)
            self._wake.fire_in_parallel()
        elif rules >= self._max_rules:
            self._max_rules = min(self._max_rules * 2, _MAX_RULES)

    async def _pick(
        self, firing: Firing, rounds: Sequence[Round], plans: Sequence[Plan], chunk: int
    ) -> Candidates | None:
        if not rounds:
            return None
        await self._make_days_for(round_.scheduled_for for round_ in rounds)
        candidates = await firing.pick(rounds, chunk)
        if not candidates.executions.size:
            return None
        jitters = [timing_from_text(plan.rule.timing).jitter for plan in plans if plan.round]
        return add_jitter(candidates, jitters) if any(jitters) else candidates

    async def _insert(
        self,
        firing: Firing,
        candidates: Candidates,
        blocked: Mapping[int, Skip | Queue],
        assign_workers: AssignWorkers | None,
        until: Micros,
    ) -> _Inserted:
        startable = _startable(candidates, blocked, until)
        lanes = candidates.executions.lanes
        blocked_by = {index: decision.blocked_by for index, decision in blocked.items()}
        skipped = {
            index: decision.reason for index, decision in blocked.items() if isinstance(decision, Skip)
        }
        if assign_workers is None:
            no_workers = [None] * candidates.executions.size
            skipped |= await self._full_queues.skipped(firing, lanes, startable, no_workers)
            await firing.insert_carefully(candidates, blocked_by, skipped)
            return _Inserted(None, skipped)
        assignment = await assign_workers(firing, candidates.executions.at(startable))
        try:
            await assignment.drop_lost_workers(firing)
            workers = _workers_of_all(assignment.workers(), startable, candidates.executions.size)
            skipped |= await self._full_queues.skipped(firing, lanes, startable, workers)
            await firing.insert(candidates, workers, blocked_by, skipped)
            await assignment.lease(firing)
        except BaseException:
            assignment.release()
            raise
        return _Inserted(assignment, skipped)

    async def _apply_overlap(
        self, firing: Firing, rounds: Sequence[Round], candidates: Candidates
    ) -> dict[int, Skip | Queue]:
        """The decisions for candidates that cannot run now, by index. Cancels executions that are replaced."""
        if all(overlap == "allow" for overlap in candidates.overlaps):
            return {}
        blockers = await firing.blockers(rounds, candidates)
        decisions = {
            index: decide(candidates.overlaps[index], blocker) for index, blocker in blockers.items()
        }
        replaced = [
            _execution_key(candidates, index, decision.replaced)
            for index, decision in decisions.items()
            if isinstance(decision, Replace)
        ]
        if replaced:
            await firing.cancel(replaced)
        return {index: each for index, each in decisions.items() if isinstance(each, Skip | Queue)}


def _execution_key(candidates: Candidates, index: int, scheduled_for: datetime) -> ExecutionKey:
    columns = candidates.executions
    return ExecutionKey(columns.tenants[index], scheduled_for, columns.jobs[index])


def _startable(candidates: Candidates, blocked: Container[int], until: Micros) -> Sequence[int]:
    """The indexes of the candidates that may be handed over now."""
    ready = candidates.executions.ready
    if not blocked and max(ready) <= until:
        return range(len(ready))
    return [index for index, at in enumerate(ready) if at <= until and index not in blocked]


def _workers_of_all(
    workers: Sequence[int | None], startable: Sequence[int], count: int
) -> Sequence[int | None]:
    """The worker of each candidate, from those of the startable ones."""
    if len(startable) == count:
        return workers
    workers_of_all: list[int | None] = [None] * count
    for index, worker in zip(startable, workers, strict=True):
        workers_of_all[index] = worker
    return workers_of_all


def _progress(
    plans: Sequence[Plan], candidates: Candidates | None, chunk: int
) -> tuple[list[RuleStep], list[RoundNote]]:
    """The new position of each rule, and what to record about its due times."""
    spans = dict(candidates.spans()) if candidates else {}
    numbers = count()
    steps: list[RuleStep] = []
    notes = [plan.missed for plan in plans if plan.missed]
    for each in plans:
        if each.round is None:
            steps.append(_nothing_fired(each))
            continue
        span = spans.get(next(numbers), _EMPTY)
        if candidates and len(span) == chunk:
            steps.append(_partly_fired(each.rule, each.round, _cursor_at(candidates, span[-1])))
        else:
            steps.append(_fully_fired(each, each.round, found_none=not span))
            notes.append(RoundNote(each.rule.id, each.round.scheduled_for))
    return steps, notes


def _cursor_at(candidates: Candidates, index: int) -> Cursor:
    return candidates.executions.priorities[index], candidates.executions.jobs[index]


def _nothing_fired(plan: Plan) -> RuleStep:
    return RuleStep(plan.rule.id, plan.next_at, plan.rule.last_at, None, looks_empty=False)


def _partly_fired(rule: DueRule, round_: Round, last: Cursor) -> RuleStep:
    """The round may have more jobs after `last`."""
    return RuleStep(rule.id, round_.scheduled_for, rule.last_at, last, looks_empty=False)


def _fully_fired(plan: Plan, round_: Round, *, found_none: bool) -> RuleStep:
    empty = found_none and plan.rule.cursor is None
    return RuleStep(plan.rule.id, plan.next_at, round_.scheduled_for, None, looks_empty=empty)
