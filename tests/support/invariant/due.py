"""Due times and what becomes of them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from support.change_log import FOREVER, instant
from support.invariant.violation import Violation, about
from support.observed_history import JobState, Key, Missed, ObservedHistory, RuleMove

_LATEST_START = timedelta(seconds=30)  # a due time this long before the end must have been dealt with
_MOMENT = timedelta(microseconds=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_GRACE = timedelta(seconds=10)  # what is late by less than this is not missed


class _Span(NamedTuple):
    """A time in which a job was active under one schedule."""

    state: JobState
    end_number: float
    end_at: datetime


def no_miss(observed: ObservedHistory) -> Iterator[Violation]:
    """I1: every due time of an active job has its execution, or a note that it was missed, and not both."""
    for job, states in observed.jobs.items():
        if _follows(states[0]):
            continue
        for span in _spans(states):
            for at in _due_in(observed, span):
                key = Key(job, at)
                noted = _missed(observed, span.state.rule, at)
                if key in observed.executions:
                    if noted and _first_trigger(observed, key) == "schedule" and not _was_left(observed, key):
                        yield about(observed, key, "has an execution and is noted as missed")
                elif not noted and _was_to_be_fired(observed, span, at):
                    yield about(observed, key, "has neither an execution nor a note why not")


def no_double_fire(observed: ObservedHistory) -> Iterator[Violation]:
    """I2: no due time of a job is fired twice."""
    for key, transitions in observed.executions.items():
        inserted = [each for each in transitions if each.before is None]
        if len(inserted) > 1:
            yield about(observed, key, f"was fired {len(inserted)} times")


def no_phantom(observed: ObservedHistory) -> Iterator[Violation]:
    """I3: what is fired is due by the definition in force, and its job is active."""
    for key, transitions in observed.executions.items():
        first = transitions[0]
        if first.before is not None or first.after is None or first.after.trigger == "manual":
            continue
        job = observed.job_at(key.job, first.number)
        if _follows(job):
            continue
        # A backfill runs what was due when it was planned, whatever the job is changed to since.
        planned = [state for state in observed.jobs[key.job] if state.number <= first.number]
        in_force = planned if first.after.trigger == "backfill" else [job]
        if not any(_is_due(observed, state, key.scheduled_for) for state in in_force):
            schedule = job.request.get("schedule")
            yield about(observed, key, f"was fired, but the job is not due then: {schedule}")
        if first.after.trigger == "schedule" and job.status != "active":
            yield about(observed, key, f"was fired while its job was {job.status}")


def never_early(observed: ObservedHistory) -> Iterator[Violation]:
    """I4: no attempt begins before its due time, nor before the time it was told to wait for."""
    ready: dict[tuple[Key, int], datetime] = {}
    for transition in observed.transitions:
        if transition.claims and transition.before and transition.before.ready_at:
            ready[transition.key, transition.after.attempt] = transition.before.ready_at
    for seen in observed.seen_attempts:
        not_before = max(seen.key.scheduled_for, ready.get((seen.key, seen.attempt), seen.begun_at))
        if seen.begun_at < seen.key.scheduled_for or seen.begun_at < not_before:
            early = (not_before - seen.begun_at).total_seconds()
            yield about(observed, seen.key, f"attempt {seen.attempt} began {early:g} seconds early")


def cursor_advances(observed: ObservedHistory) -> Iterator[Violation]:
    """I5: a rule only ever moves on: to later due times, and within one to later jobs."""
    for rule, moves in observed.rules.items():
        for move in moves:
            if move.before and move.after and not _moves_on(move):
                yield Violation(
                    f"rule {rule} went from {_place(move.before)} to {_place(move.after)} at {move.at}"
                )


def passed_over_by_policy(observed: ObservedHistory) -> Iterator[Violation]:
    """I6: due times are passed over only as far as the rule's policy says."""
    for missed in observed.missed:
        policy = msgspec.json.decode(observed.rules[missed.rule][0].after["catch_up"]).get("policy", "latest")
        problem = _wrongly_passed_over(observed, missed, policy)
        if problem:
            yield Violation(
                f"rule {missed.rule} passed over {missed.first:%H:%M:%S} to {missed.last:%H:%M:%S} "
                f"at {missed.at:%H:%M:%S}: {problem}"
            )


def _follows(job: JobState) -> bool:
    """In the rounds of recurring jobs that it depends on: these are due, and it waits for them."""
    return job.rule is not None and bool(job.request.get("depends_on"))


def _spans(states: list[JobState]) -> Iterator[_Span]:
    begin: JobState | None = None
    for state in states:
        if begin and (state.status, state.rule, state.schedule) != (begin.status, begin.rule, begin.schedule):
            yield _Span(begin, state.number, state.at)
            begin = None
        if begin is None and state.status == "active":
            begin = state
    if begin:
        yield _Span(begin, float("inf"), FOREVER)


def _due_in(observed: ObservedHistory, span: _Span) -> list[datetime]:
    end = min(span.end_at, observed.ended_at - _LATEST_START)
    if span.state.rule is not None:
        return observed.oracle(span.state.schedule, span.state.active_from + _MOMENT, end)
    at = span.state.scheduled_for
    return [at] if at and not span.state.deferred else []


def _was_to_be_fired(observed: ObservedHistory, span: _Span, at: datetime) -> bool:
    """A job that was held, moved or ended before its rule came round to the due time has lost it."""
    if span.state.rule is None:
        return True
    for move in reversed(observed.rules[span.state.rule]):  # one that falls asleep passes what it wakes up to
        if move.before and move.after and _passes(move, at):
            return move.number < span.end_number
    return observed.settled and span.end_number == float("inf")


def _passes(move: RuleMove, at: datetime) -> bool:
    before, after = instant(move.before["next_at"]), instant(move.after["next_at"])
    return before is not None and before <= at and (after is None or after > at)


def _missed(observed: ObservedHistory, rule: int | None, at: datetime) -> bool:
    return any(each.rule == rule and each.first <= at <= each.last for each in observed.missed)


def _first_trigger(observed: ObservedHistory, key: Key) -> str | None:
    first = observed.executions[key][0].after
    return first.trigger if first else None


def _was_left(observed: ObservedHistory, key: Key) -> bool:
    """It belonged to a timing that the job left; what became of the same time under the next one is another matter."""
    last = observed.last(key)
    return last is not None and last.reason == "rescheduled"


def _is_due(observed: ObservedHistory, job: JobState, at: datetime) -> bool:
    if job.rule is None:
        return at == job.scheduled_for
    return at in observed.oracle(job.schedule, at, at + _MOMENT)


def _moves_on(move: RuleMove) -> bool:
    before, after = _place(move.before), _place(move.after)
    if instant(move.before["next_at"]) is None or instant(move.after["next_at"]) is None:
        return after[0] >= before[0]
    return after > before


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    """Where a rule stands, so that later is greater."""
    return (
        instant(row["last_at"]) or _LONG_AGO,
        instant(row["next_at"]) or FOREVER,
        -1 if row["cursor_priority"] is None else row["cursor_priority"],
        row["cursor_job"] or 0,
    )


def _wrongly_passed_over(observed: ObservedHistory, missed: Missed, policy: str) -> str | None:
    if policy == "all":
        return "its policy is to run them all"
    if policy == "skip" and missed.last > missed.at - _GRACE:
        return "the last of them was not late enough"
    if policy == "latest" and _fired_with(observed, missed) <= missed.last:
        return "its policy is to run the latest"
    return None


def _fired_with(observed: ObservedHistory, missed: Missed) -> datetime:
    """The due time that the rule fires in the same breath; one of long ago when there is none."""
    move = [each for each in observed.rules[missed.rule] if each.number < missed.number][-1]
    firing = "last_at" if move.after["cursor_job"] is None else "next_at"
    return instant(move.after[firing]) or _LONG_AGO
