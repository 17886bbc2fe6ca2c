"""Jobs that run after others: which branch runs, what is blocked, and what becomes of the elements of a list."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from support.invariant.violation import Violation, about
from support.observed_history import Key, ObservedHistory, State, Transition
from tickwork.model.public_ids import parse_job_id

_GOES_ON = {"met", "left out"}
_MISSING = object()
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda value, wanted: bool(value == wanted),
    "in": lambda value, wanted: value in wanted,
    "greater": lambda value, wanted: isinstance(value, int) and value > wanted,
}


class _Edge(NamedTuple):
    """What a job needs of one that it depends on."""

    parent: int
    on: str
    when: dict[str, Any] | None
    for_each: bool


def branches_are_kept(observed: ObservedHistory) -> Iterator[Violation]:
    """I21: what depends on others runs after they ended as it needs, is skipped only when its branch is not taken, and
    a fan-out is as its elements are."""
    for key, transitions in observed.executions.items():
        edges = edges_of(observed, key.job)
        for transition in transitions if edges else ():
            if transition.claims or _completes_by_itself(transition):
                yield from _ran_rightly(observed, transition, edges)
            elif _is_not_taken(transition.after) and not _is_not_taken(transition.before):
                yield from _skipped_rightly(observed, transition, edges)
        if any(edge.for_each for edge in edges):
            yield from _fanned_out_rightly(observed, key, edges)


def waits_rightly(observed: ObservedHistory, key: Key) -> bool:
    """Whether something that it depends on has not ended as it needs, so that it need not have ended either."""
    elements = elements_of(observed, key)
    if any(observed.last(each) is None or observed.last(each).status != "completed" for each in elements):
        return True
    end = _end_of_time(observed)
    return any(
        not _goes_on(observed, edge, key.scheduled_for, end)
        for edge in edges_of(observed, key.job)
        if _key_of(observed, edge.parent, key.scheduled_for) in observed.executions  # else its round is over
    )


def edges_of(observed: ObservedHistory, job: int) -> list[_Edge]:
    return [_edge(each) for each in observed.jobs[job][-1].request.get("depends_on", ())]


def elements_of(observed: ObservedHistory, key: Key) -> list[Key]:
    """The executions of its elements, in their order."""
    return [Key(job, at) for _, job, at in sorted(observed.elements.get(key, ()))]


def _edge(entry: str | dict[str, Any]) -> _Edge:
    if isinstance(entry, str):
        return _Edge(parse_job_id(entry), "success", None, for_each=False)
    return _Edge(
        parse_job_id(entry["job"]), entry.get("on", "success"), entry.get("when"), "for_each" in entry
    )


def _ran_rightly(
    observed: ObservedHistory, transition: Transition, edges: Sequence[_Edge]
) -> Iterator[Violation]:
    at = transition.key.scheduled_for
    for edge in edges:
        if not _goes_on(observed, edge, at, transition.number):
            yield about(
                observed, transition.key, f"ran although job {edge.parent} had not ended by {edge.on}"
            )
    if all(_verdicts(observed, edge, at, transition.number) == {"left out"} for edge in edges):
        yield about(observed, transition.key, "ran although none of its parents was taken")


def _skipped_rightly(
    observed: ObservedHistory, transition: Transition, edges: Sequence[_Edge]
) -> Iterator[Violation]:
    at = transition.key.scheduled_for
    verdicts = [_verdicts(observed, edge, at, transition.number) for edge in edges]
    lost_its_list = any(
        edge.for_each and "left out" in each for edge, each in zip(edges, verdicts, strict=True)
    )
    if lost_its_list or any("not taken" in each for each in verdicts) or all(map(_left_out, verdicts)):
        return
    yield about(observed, transition.key, "was not taken although no parent had decided that")


def _left_out(verdicts: set[str]) -> bool:
    return "left out" in verdicts


def _fanned_out_rightly(observed: ObservedHistory, key: Key, edges: Sequence[_Edge]) -> Iterator[Violation]:
    elements, state = elements_of(observed, key), observed.last(key)
    (source,) = [_key_of(observed, edge.parent, key.scheduled_for) for edge in edges if edge.for_each]
    ends = [observed.last(each) for each in elements]
    if elements and len(elements) != (wanted := len(_list_in(observed.last(source)))):  # it has completed
        yield about(observed, key, f"has {len(elements)} elements of a list of {wanted}")
    if state and state.status == "completed" and state.result != _joined(ends):
        yield about(observed, key, f"completed with {state.result} instead of the results of its elements")
    if observed.settled and state and state.status == "cancelled":
        for element, end in zip(elements, ends, strict=True):
            if end and not end.ended:
                yield about(observed, element, f"is {end.status} although its fan-out {key} was cancelled")


def _joined(ends: Sequence[State | None]) -> str:
    results = [bytes.fromhex(end.result[2:]) if end and end.result else b"null" for end in ends]
    return "\\x" + (b"[" + b",".join(results) + b"]").hex()


def _list_in(state: State | None) -> list[Any]:
    found = _value(state, "list")
    return found if isinstance(found, list) else []


def _goes_on(observed: ObservedHistory, edge: _Edge, at: datetime, number: int) -> bool:
    """Whether this parent let a child go on in that round, at some time up to that change."""
    if _verdicts(observed, edge, at, number) & _GOES_ON:
        return True
    return edge.on == "any outcome" and _was_blocked(observed, edge.parent, at, number)


def _was_blocked(observed: ObservedHistory, job: int, at: datetime, number: int) -> bool:
    elements = elements_of(observed, _key_of(observed, job, at))
    if any(_ended_badly(state) for each in elements for state in _states(observed, each, number)):
        return True
    return any(
        "blocked" in _verdicts(observed, edge, at, number) or _was_blocked(observed, edge.parent, at, number)
        for edge in edges_of(observed, job)
        if edge.on != "any outcome"
    )


def _verdicts(observed: ObservedHistory, edge: _Edge, at: datetime, number: int) -> set[str]:
    """What the ends of the parent up to that change mean."""
    states = _states(observed, _key_of(observed, edge.parent, at), number)
    return {_verdict(edge, state) for state in states if state.ended}


def _verdict(edge: _Edge, state: State) -> str:
    if edge.on == "any outcome":
        return "met"
    if _ended_badly(state):
        return "met" if edge.on == "failure" and state.status == "failed" else "blocked"
    if state.status == "skipped" and not _is_not_taken(state):
        return "skipped"
    if edge.on == "failure":
        return "not taken"
    if edge.when is not None:
        return "met" if state.status == "completed" and _holds(edge.when, state) else "not taken"
    return "met" if state.status == "completed" else "left out"


def _holds(condition: dict[str, Any], state: State) -> bool:
    if "not" in condition:
        return not _holds(condition["not"], state)
    value = _value(state, condition["path"])
    name, wanted = next((name, wanted) for name, wanted in condition.items() if name != "path")
    return value is not _MISSING and _COMPARES[name](value, wanted)


def _value(state: State | None, name: str) -> Any:
    """A field of a result."""
    result = msgspec.json.decode(bytes.fromhex(state.result[2:])) if state and state.result else None
    return result.get(name, _MISSING) if isinstance(result, dict) else _MISSING


def _ended_badly(state: State) -> bool:
    return state.status in ("failed", "cancelled")


def _is_not_taken(state: State | None) -> bool:
    return bool(state and state.status == "skipped" and state.reason and state.reason.startswith("not taken"))


def _completes_by_itself(transition: Transition) -> bool:
    """A fan-out: no worker has it."""
    before, after = transition.before, transition.after
    return bool(before and after and before.status == "pending" and after.status == "completed")


def _states(observed: ObservedHistory, key: Key, number: int) -> list[State]:
    return [each.after for each in observed.executions.get(key, ()) if each.number <= number and each.after]


def _key_of(observed: ObservedHistory, job: int, at: datetime) -> Key:
    """Of the only execution of a one-time job, or of a recurring one in that round."""
    return Key(job, observed.jobs[job][-1].scheduled_for or at)


def _end_of_time(observed: ObservedHistory) -> int:
    return observed.transitions[-1].number if observed.transitions else 0
