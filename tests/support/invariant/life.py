"""What was accepted stays, ends, and goes only the ways that are published."""

from collections import defaultdict
from collections.abc import Iterator

from support.invariant.graph import edges_of, waits_rightly
from support.invariant.violation import Violation, about
from support.observed_history import Key, ObservedHistory, State, Transition

_WAYS = {
    (None, "pending"),
    (None, "running"),
    (None, "skipped"),
    ("pending", "pending"),
    ("pending", "running"),
    ("pending", "cancelled"),
    ("pending", "skipped"),
    ("running", "running"),
    ("running", "pending"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "skipped"),
}
_BEGINS_ANEW = {"failed", "skipped"}  # redriven, backfilled, or stopped before its time and wanted again
_STOPPED_AHEAD = {"paused", "rescheduled"}


def accepted_is_durable(observed: ObservedHistory) -> Iterator[Violation]:
    """I7: what was answered with ok is there and stays; what got no answer is there as a whole or not at all."""
    by_key: dict[str, int] = {}
    for job, states in observed.jobs.items():
        if states[0].request["key"] is not None:
            by_key[states[0].request["key"]] = job
    for operation in observed.operations:
        if operation.kind == "create":
            made = [by_key.get(key) for key in operation.keys]
            gone = [
                key
                for key, job in zip(operation.keys, made, strict=True)
                if job in {None, *observed.deleted_jobs}
            ]
            if operation.answer == "ok" and gone:
                yield Violation(f"the creation of {', '.join(gone)} was accepted, but they are not there")
            if operation.answer == "unknown" and gone and len(gone) < len(operation.keys):
                yield Violation(f"of one request, {', '.join(gone)} are not there and the others are")
        if operation.kind == "run" and operation.answer == "ok":
            if operation.execution not in observed.executions:
                yield Violation(f"the run {operation.execution} was accepted, but it is not there")
            elif observed.last(operation.execution) is None:
                yield about(observed, operation.execution, "was accepted and is gone")


def run_now_once(observed: ObservedHistory) -> Iterator[Violation]:
    """I8: a run with an Idempotency-Key happens once, however often it is asked for."""
    answers: dict[str, set[Key]] = defaultdict(set)
    asked: dict[int, set[str]] = defaultdict(set)
    for operation in observed.operations:
        if operation.kind == "run" and operation.idempotency_key and operation.job is not None:
            asked[operation.job].add(operation.idempotency_key)
            if operation.answer == "ok" and operation.execution:
                answers[operation.idempotency_key].add(operation.execution)
    for key, executions in answers.items():
        if len(executions) > 1:
            yield Violation(f"the key {key} was answered with {', '.join(map(str, sorted(executions)))}")
    for job, keys in asked.items():
        made = [key for key in observed.executions if key.job == job and _is_manual(observed, key)]
        if len(made) > len(keys):
            yield Violation(
                f"job {job} was asked to run {len(keys)} times and ran {len(made)} times: "
                + ", ".join(map(str, made))
            )


def every_run_ends(observed: ObservedHistory) -> Iterator[Violation]:
    """I9: when faults are over, everything ends that is due and not held."""
    if not observed.settled:
        return
    for key in observed.executions:
        state = observed.last(key)
        if state is None or state.ended or key.scheduled_for > observed.ended_at:
            continue
        if state.status == "pending" and observed.jobs[key.job][-1].status == "paused":
            continue
        if state.status == "pending" and waits_rightly(observed, key):
            continue
        yield about(observed, key, f"has not ended: it is {state.status}")


def legal_states(observed: ObservedHistory) -> Iterator[Violation]:
    """I10: executions go only the ways that the state diagram shows, and an end is an end."""
    for transition in observed.transitions:
        if transition.after is None:
            yield about(observed, transition.key, "was deleted")
        elif not _is_legal(transition) and not _is_of_fan_out(observed, transition):
            before = transition.before.status if transition.before else "nothing"
            yield about(observed, transition.key, f"went from {before} to {transition.after.status}")


def _is_manual(observed: ObservedHistory, key: Key) -> bool:
    first = observed.executions[key][0].after
    return first is not None and first.trigger == "manual"


def _is_legal(transition: Transition) -> bool:
    before, after = transition.before, transition.after
    if before is not None and before.ended:
        return before == after or _only_annotated(before, after) or _begins_anew(before, after)
    return (before.status if before else None, after.status) in _WAYS


def _is_of_fan_out(observed: ObservedHistory, transition: Transition) -> bool:
    """No worker has a fan-out: it completes after its elements, or fails because it has no list."""
    way = transition.before and (transition.before.status, transition.after.status)
    is_fan_out = any(edge.for_each for edge in edges_of(observed, transition.key.job))
    return is_fan_out and way in {("pending", "completed"), ("pending", "failed")}


def _only_annotated(before: State, after: State) -> bool:
    """The reason of an end may be told better later; nothing else of it changes."""
    return before._replace(reason=None) == after._replace(reason=None)


def _begins_anew(before: State, after: State) -> bool:
    return (
        (before.status in _BEGINS_ANEW or before.reason in _STOPPED_AHEAD)
        and after.status == "pending"
        and after.attempt == before.attempt + 1
    )
