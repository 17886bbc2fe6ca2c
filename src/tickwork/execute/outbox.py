"""Outcomes on their way to the server: kept until it says that they are recorded."""

from collections.abc import Callable, Container
from itertools import chain

from tickwork.execute.attempt import Key
from tickwork.model.protocol import Outcome, Outcomes

_BATCH = 5_000


class Outbox:
    def __init__(self, filled: Callable[[], None]) -> None:
        self._filled = filled
        self._waiting: list[Outcome] = []
        self._sent: dict[int, list[Outcome]] = {}
        self._number = 0

    def add(self, outcome: Outcome) -> None:
        if not self._waiting:
            self._filled()
        self._waiting.append(outcome)

    def next_batch(self) -> Outcomes | None:
        if not self._waiting:
            return None
        batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        self._number += 1
        self._sent[self._number] = batch
        return Outcomes(self._number, batch)

    def acknowledge(self, number: int) -> list[Outcome]:
        return self._sent.pop(number, [])

    def resend(self, *, only: Container[Key]) -> None:
        """Send again what no server has acknowledged."""
        unacknowledged = chain(*self._sent.values(), self._waiting)
        self._waiting = [outcome for outcome in unacknowledged if key_of(outcome) in only]
        self._sent.clear()
        self._filled()

    def clear(self) -> None:
        self._waiting.clear()
        self._sent.clear()


def key_of(outcome: Outcome) -> Key:
    return (outcome.tenant, outcome.at, outcome.job, outcome.attempt)
