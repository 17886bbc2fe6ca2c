"""How long an attempt may run, and an execution wait."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from support.invariant.violation import Violation, about
from support.observed_history import Key, ObservedHistory, Transition

WITH_TARGET = 0  # stands for the worker of what an HTTP target has accepted
TIMED_OUT = "Timeout"
_GRACE = timedelta(seconds=10)  # in which a worker may still end it itself
_NOTICED_WITHIN = timedelta(seconds=25)  # when nothing is wrong: nodes look every few seconds
_ROUNDING = timedelta(milliseconds=1)


def time_limits_hold(observed: ObservedHistory) -> Iterator[Violation]:
    """I22: what takes too long is ended in time and not before, whoever has it; what waits too long is not begun."""
    for key, transitions in observed.executions.items():
        for transition in transitions:
            if transition.ends_attempt:
                yield from _ended_in_time(observed, transition)
            yield from _given_up_in_time(observed, key, transition)
        yield from _does_not_run_on(observed, key)


def _ended_in_time(observed: ObservedHistory, transition: Transition) -> Iterator[Violation]:
    key, number = transition.key, transition.before.attempt
    seen, row = observed.seen_attempt(key, number), observed.attempts.get((key, number))
    if seen is None:
        return
    request = observed.job_at(key.job, transition.number).request
    timeout = timedelta(seconds=_seconds(request.get("timeout", "300s")))
    limit = seen.begun_at + timeout
    by_node = row is not None and row.error_type == TIMED_OUT and seen.outcome != "failed"
    grace = timedelta(0) if transition.before.worker == WITH_TARGET else _GRACE
    not_before = max(key.scheduled_for, _handed_out_at(observed, key, number)) + timeout + grace
    if by_node and transition.at < not_before - _ROUNDING:
        early = (not_before - transition.at).total_seconds()
        yield about(observed, key, f"attempt {number} was ended for its timeout {early:g} seconds too soon")
    if transition.at > _latest(observed, limit):
        took = (transition.at - seen.begun_at).total_seconds()
        yield about(observed, key, f"attempt {number} had {took:g} seconds, more than its timeout")


def _does_not_run_on(observed: ObservedHistory, key: Key) -> Iterator[Violation]:
    state = observed.last(key)
    seen = observed.seen_attempt(key, state.attempt) if state and state.status == "running" else None
    if seen is None:
        return
    request = observed.jobs[key.job][-1].request
    limit = seen.begun_at + timedelta(seconds=_seconds(request.get("timeout", "300s")))
    if observed.ended_at > _latest(observed, limit):
        yield about(observed, key, f"attempt {seen.attempt} still runs, longer than its timeout")


def _handed_out_at(observed: ObservedHistory, key: Key, number: int) -> datetime:
    """The earliest that it can have begun."""
    return next(
        each.at
        for each in observed.executions[key]
        if each.claims and each.after and each.after.attempt == number
    )


def _latest(observed: ObservedHistory, limit: datetime) -> datetime:
    """By when a node must have ended it. While something is wrong, nobody knows."""
    calm = observed.calm_at or observed.ended_at
    return max(limit + _GRACE, calm) + _NOTICED_WITHIN


def _given_up_in_time(observed: ObservedHistory, key: Key, transition: Transition) -> Iterator[Violation]:
    before, after = transition.before, transition.after
    if not (after and after.status == "skipped" and (after.reason or "").startswith("not started within")):
        return
    within = observed.job_at(key.job, transition.number).request.get("start_within")
    if within is None or transition.at < key.scheduled_for + timedelta(seconds=_seconds(within)) - _ROUNDING:
        yield about(observed, key, "was given up before its time")
    # A backfill may run it later, as another attempt.
    begun = any(each.key == key and each.attempt <= after.attempt for each in observed.seen_attempts)
    if before is None or before.status != "pending" or begun:
        yield about(observed, key, "was given up although it had started")


def _seconds(duration: str | float) -> float:
    return float(duration.removesuffix("s")) if isinstance(duration, str) else float(duration)
