"""What ended badly is news, once and in order."""

from collections import defaultdict
from collections.abc import Iterator

from support.invariant.violation import Violation, about
from support.observed_history import Key, ObservedHistory, Transition

_TOLD = {"failed", "cancelled", "skipped"}


def bad_ends_are_told(observed: ObservedHistory) -> Iterator[Violation]:
    """I20: each time an execution fails, is cancelled or skipped, there is one event, in the order in which it was."""
    if observed.events is None:
        return
    told: dict[Key, list[str]] = defaultdict(list)
    for event in observed.events:
        if event.kind.removeprefix("execution.") in _TOLD:
            told[event.key].append(event.kind.removeprefix("execution."))
    for key, transitions in observed.executions.items():
        ends = [each.after.status for each in transitions if each.after and _ends_badly(each)]
        if ends != told[key]:
            yield about(observed, key, f"ended as {_list(ends)}, but the events say {_list(told[key])}")


def _ends_badly(transition: Transition) -> bool:
    before, after = transition.before, transition.after
    return after is not None and after.status in _TOLD and (before is None or before.status != after.status)


def _list(statuses: list[str]) -> str:
    return ", ".join(statuses) or "nothing"
