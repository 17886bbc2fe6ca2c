"""A broken promise, told so that it can be understood without the history at hand."""

from typing import NamedTuple

from support.observed_history import Key, ObservedHistory


class Violation(NamedTuple):
    sentence: str
    story: tuple[str, ...] = ()
    invariant: str = ""

    def __str__(self) -> str:
        return "\n    ".join([f"{self.invariant}: {self.sentence}", *self.story])


def about(observed: ObservedHistory, key: Key, sentence: str) -> Violation:
    """With all that happened to that execution."""
    told = [str(transition) for transition in observed.executions.get(key, ())]
    run = [
        f"attempt {each.attempt} on w{each.worker} began {each.begun_at:%H:%M:%S.%f}, "
        + (f"{each.outcome or 'broken off'} {each.ended_at:%H:%M:%S.%f}" if each.ended_at else "never ended")
        for each in observed.seen_attempts
        if each.key == key
    ]
    return Violation(f"{key} (due {key.scheduled_for:%H:%M:%S.%f}): {sentence}", tuple(told + run))
