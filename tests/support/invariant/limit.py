"""How much may go on at once."""

from collections import defaultdict
from collections.abc import Iterator

from support.invariant.violation import Violation, about
from support.observed_history import Key, ObservedHistory


def limits_hold(observed: ObservedHistory) -> Iterator[Violation]:
    """I19: at no instant do more executions run under a key than the job of any that is handed out then allows."""
    running: dict[str, set[Key]] = defaultdict(set)
    for transition in observed.transitions:
        if transition.ends_attempt:
            for under in running.values():
                under.discard(transition.key)
        if not transition.claims:
            continue
        for limit in observed.job_at(transition.key.job, transition.number).request.get("limits", ()):
            under = running[limit["key"]]
            under.add(transition.key)
            if len(under) > limit.get("max_running", len(under)):
                yield about(
                    observed,
                    transition.key,
                    f"was the {len(under)}th to run at once under {limit['key']!r}: {limit['max_running']} may",
                )


def most_at_once(observed: ObservedHistory, key: str, after: int) -> int:
    """How many ran under a key together, at best, after that change."""
    running: set[Key] = set()
    most = 0
    for transition in observed.transitions:
        if transition.ends_attempt:
            running.discard(transition.key)
        if transition.claims:
            limits = observed.job_at(transition.key.job, transition.number).request.get("limits", ())
            if any(limit["key"] == key for limit in limits):
                running.add(transition.key)
        if transition.number > after:
            most = max(most, len(running))
    return most
