"""Outcomes to send, kept until a server acknowledges that they are recorded."""

from collections.abc import Callable, Container
from itertools import chain

from tickwork.execute.attempt_state import Key
from tickwork.model.worker_protocol import Outcome, Outcomes

_BATCH = 5_000
_LARGEST_BATCH = 1024 * 1024  # bytes of results and errors


class UnacknowledgedOutcomes:
    def __init__(self, outcome_ready: Callable[[], None]) -> None:
        self._outcome_ready = outcome_ready
        self._waiting: list[Outcome] = []
        self._size = 0  # bytes of results and errors in _waiting
        self._sent: dict[int, list[Outcome]] = {}
        self._number = 0

    def add(self, outcome: Outcome) -> None:
        if not self._waiting:
            self._outcome_ready()
        self._waiting.append(outcome)
        if outcome.result or outcome.failure:
            self._size += _size(outcome)

    def next_batch(self) -> Outcomes | None:
        if not self._waiting:
            return None
        count = _BATCH if self._size <= _LARGEST_BATCH else _how_many_fit(self._waiting[:_BATCH])
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        if self._size:
            self._size -= sum(map(_size, batch))
        self._number += 1
        self._sent[self._number] = batch
        return Outcomes(self._number, batch)

    def acknowledge(self, number: int) -> list[Outcome]:
        return self._sent.pop(number, [])

    def resend(self, *, only: Container[Key]) -> None:
        """Queue again what no server has acknowledged, except for attempts that are no longer ours."""
        unacknowledged = chain(*self._sent.values(), self._waiting)
        self._waiting = [outcome for outcome in unacknowledged if key_of(outcome) in only]
        self._size = sum(map(_size, self._waiting))
        self._sent.clear()
        self._outcome_ready()

    def clear(self) -> None:
        self._waiting.clear()
        self._size = 0
        self._sent.clear()


def key_of(outcome: Outcome) -> Key:
    return (outcome.tenant, outcome.at, outcome.job, outcome.attempt)


def _how_many_fit(outcomes: list[Outcome]) -> int:
    """As many as fit in a message, and at least one."""
    size = 0
    for count, outcome in enumerate(outcomes):
        size += _size(outcome)
        if size > _LARGEST_BATCH:
            return max(count, 1)
    return len(outcomes)


def _size(outcome: Outcome) -> int:
    """The bytes of its result and error, the only parts that can be large."""
    failure = outcome.failure
    error_size = len(failure.message) + len(failure.traceback or "") if failure else 0
    return len(outcome.result or b"") + error_size
