"""Attempts: who holds one, whose word counts, how many there may be and how far apart."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from support.invariant.time_limit import TIMED_OUT, WITH_TARGET
from support.invariant.violation import Violation, about
from support.observed_history import (
    AttemptRow,
    JobState,
    Key,
    ObservedHistory,
    SeenAttempt,
    State,
    Transition,
)

_MOST_LOSSES = 3
_ROUNDING = timedelta(milliseconds=1)
_REPORTED = ("failed", "snoozed")  # only the code itself can have ended it so


def one_holder_at_a_time(observed: ObservedHistory) -> Iterator[Violation]:
    """I11: an attempt is taken from its worker only by its report, by a stop, or after its lease ran out."""
    for (key, number), row in observed.attempts.items():
        if row.outcome != "lost" or row.worker is None:
            continue
        lease = observed.lease_at(row.worker, row.number)
        if lease and lease.lease_until > row.at and not _given_up(observed, key, number, row):
            left = (lease.lease_until - row.at).total_seconds()
            yield about(
                observed, key, f"attempt {number} was taken from w{row.worker} {left:g} seconds too soon"
            )
    for key, transitions in observed.executions.items():
        for transition in transitions:
            before, after = transition.before, transition.after
            if not (before and after and before.status == after.status == "running"):
                continue
            accepted = after.worker == WITH_TARGET and before.attempt == after.attempt
            if (before.worker, before.attempt) != (after.worker, after.attempt) and not accepted:
                yield about(observed, key, f"changed hands while attempt {before.attempt} ran")


def newest_attempt_decides(observed: ObservedHistory) -> Iterator[Violation]:
    """I12: attempt numbers only grow, and an outcome is taken only from the attempt that holds the execution."""
    for key, transitions in observed.executions.items():
        for transition in transitions:
            before, after = transition.before, transition.after
            if before and after and after.attempt < before.attempt:
                yield about(observed, key, f"went back from attempt {before.attempt} to {after.attempt}")
            if (
                transition.ends_attempt
                and after
                and after.status == "pending"
                and after.attempt <= before.attempt
            ):
                yield about(observed, key, f"waits again under the same attempt {after.attempt}")
            if transition.ends_attempt and after:
                yield from _outcome_is_its_own(observed, transition, before, after)


def effects_within_attempts(observed: ObservedHistory) -> Iterator[Violation]:
    """I13: code runs at most once per attempt, and only in the worker that it was handed to."""
    handed = {
        (each.key, each.after.attempt, each.after.worker) for each in observed.transitions if each.claims
    }
    begun = Counter((each.key, each.attempt) for each in observed.seen_attempts)
    for (key, attempt), times in begun.items():
        if times > 1:
            yield about(observed, key, f"attempt {attempt} was begun {times} times")
    for seen in observed.seen_attempts:
        if seen.worker is not None and (seen.key, seen.attempt, seen.worker) not in handed:
            yield about(
                observed, seen.key, f"attempt {seen.attempt} ran on w{seen.worker}, which never got it"
            )


def reports_are_recorded(observed: ObservedHistory) -> Iterator[Violation]:
    """I23: a report of an HTTP target that was answered with ok is how the attempt ended, and one that was refused is
    not."""
    for operation in observed.operations:
        if operation.kind != "callback" or operation.execution is None or operation.attempt is None:
            continue
        ended = _recorded_end(observed, operation.execution, operation.attempt)
        if operation.answer == "ok" and ended != operation.outcome:
            yield about(
                observed,
                operation.execution,
                f"attempt {operation.attempt} was reported as {operation.outcome} and accepted, but is {ended}",
            )
        if operation.answer == "refused" and ended is None:
            yield about(observed, operation.execution, f"attempt {operation.attempt} was refused and runs on")


def workers_fence_themselves(observed: ObservedHistory) -> Iterator[Violation]:
    """I14: no worker begins anything after its own deadline by its own clock."""
    for seen in observed.seen_attempts:
        if seen.past_deadline:
            yield about(observed, seen.key, f"attempt {seen.attempt} began after its worker's deadline")


def budget_is_kept(observed: ObservedHistory) -> Iterator[Violation]:
    """I15: failures and lost workers are counted each for themselves and up to a limit, other endings not at all."""
    for key, transitions in observed.executions.items():
        for transition in transitions:
            before, after = transition.before, transition.after
            if not before or not after:
                continue
            if transition.ends_attempt:
                yield from _counted_rightly(observed, transition, before, after)
            job = observed.job_at(key.job, transition.number)
            most = _retry(job).get("max_attempts", 4)
            if after.failures > before.failures and after.failures > most:
                yield about(observed, key, f"failed {after.failures} times of {most}")
            if after.losses >= _MOST_LOSSES and not after.ended:
                yield about(observed, key, f"goes on after it lost {after.losses} workers")


def retries_wait(observed: ObservedHistory) -> Iterator[Violation]:
    """I16: a retry waits for its backoff less the jitter, and for what the failure asked for."""
    for key, transitions in observed.executions.items():
        for transition in transitions:
            before, after = transition.before, transition.after
            if not (transition.ends_attempt and after and after.status == "pending" and after.ready_at):
                continue
            row = observed.attempts.get((key, before.attempt))
            if row is None or row.outcome != "failed" or after.ready_at.year == 9999:  # held by a pause
                continue
            least = _least_wait(_retry(observed.job_at(key.job, transition.number)), after.failures)
            seen = None if row.error_type == TIMED_OUT else observed.seen_attempt(key, before.attempt)
            least = max(least, timedelta(seconds=seen.retry_after if seen else 0))
            since = seen.ended_at if seen and seen.ended_at else row.finished_at or transition.at
            if after.ready_at - since < least - _ROUNDING:
                waits = (after.ready_at - since).total_seconds()
                yield about(
                    observed,
                    key,
                    f"waits {waits:g} instead of {least.total_seconds():g} seconds to try again",
                )


def _given_up(observed: ObservedHistory, key: Key, number: int, row: AttemptRow) -> bool:
    """Whether its worker itself said so, as it must when it cannot renew its lease. Such a worker lives on, while one
    that is taken for dead is ended by that. Code alone cannot tell: its worker may never reach it, and a thread that
    is told to stop goes on to its end."""
    if any(each.ended_at and each.transaction == row.transaction for each in observed.workers[row.worker]):
        return False
    seen = observed.seen_attempt(key, number)
    if seen is None or seen.worker is None:
        return True
    return seen.outcome is None and seen.ended_at is not None and seen.ended_at <= row.at


def _outcome_is_its_own(
    observed: ObservedHistory, transition: Transition, before: State, after: State
) -> Iterator[Violation]:
    row = observed.attempts.get((transition.key, before.attempt))
    outcome = "completed" if after.status == "completed" else row.outcome if row else None
    if outcome not in ("completed", *_REPORTED):
        return
    if row and outcome == "failed" and row.error_type == TIMED_OUT:
        return  # a node has decided that: see I22
    seen = _reported(observed, transition, before)
    if seen is None or seen.outcome != outcome:
        said = seen.outcome if seen else "nothing"
        yield about(
            observed, transition.key,
            f"attempt {before.attempt} on w{before.worker} was recorded as {outcome}, but its own code said {said}",
        )  # fmt: skip
    elif seen.result is not None and seen.result != after.result:
        yield about(observed, transition.key, f"attempt {before.attempt} has the result of another one")


def _recorded_end(observed: ObservedHistory, key: Key, attempt: int) -> str | None:
    """How the history says that it ended; None when it has not."""
    if row := observed.attempts.get((key, attempt)):
        return row.outcome
    ends = [
        each.after.status
        for each in observed.executions[key]
        if each.ends_attempt and each.before and each.before.attempt == attempt and each.after
    ]
    return ends[0] if ends else None


def _reported(observed: ObservedHistory, transition: Transition, before: State) -> SeenAttempt | None:
    seen = observed.seen_attempt(transition.key, before.attempt)
    return seen if seen and seen.worker in (None, before.worker) else None


def _counted_rightly(
    observed: ObservedHistory, transition: Transition, before: State, after: State
) -> Iterator[Violation]:
    row = observed.attempts.get((transition.key, before.attempt))
    outcome = row.outcome if row and after.status != "completed" else None
    expected = (int(outcome == "failed"), int(outcome == "lost"))
    counted = (after.failures - before.failures, after.losses - before.losses)
    if counted != expected:
        yield about(
            observed, transition.key,
            f"attempt {before.attempt} ended as {outcome or after.status} and was counted as "
            f"{counted[0]} failures and {counted[1]} lost workers",
        )  # fmt: skip


def _retry(job: JobState) -> dict[str, Any]:
    return job.request.get("retry", {})


def _least_wait(retry: dict[str, Any], failures: int) -> timedelta:
    initial = _seconds(retry.get("initial", "1s"))
    match retry.get("backoff", "exponential"):
        case "fixed":
            wait = initial
        case "linear":
            wait = initial * failures
        case _:
            wait = initial * retry.get("factor", 2.0) ** (failures - 1)
    longest = _seconds(retry.get("max", "3600s"))
    return timedelta(seconds=min(wait, longest) * (1 - retry.get("jitter", 0.2)))


def _seconds(duration: str | float) -> float:
    return float(duration.removesuffix("s")) if isinstance(duration, str) else float(duration)
