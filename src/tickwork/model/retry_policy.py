"""Whether and when to try again after a failure."""

from collections.abc import Sequence
from datetime import timedelta
from random import random
from typing import Literal

import msgspec

import tickwork

Backoff = Literal["exponential", "linear", "fixed"]
_LONGEST_SHOWN = 200


class RetryPolicy(msgspec.Struct, frozen=True):
    """All durations are in seconds."""

    max_attempts: int = 4
    backoff: Backoff = "exponential"
    initial: float = 1.0
    factor: float = 2.0
    max: float = 3600.0
    jitter: float = 0.2
    only_on: list[str] = []  # errors; empty: all
    never_on: list[str] = []

    def refusal(self, kinds: Sequence[str]) -> str | None:
        """Why the policy does not retry an error of these kinds, its own type first; None when it does."""
        for name in self.never_on:
            if _names_one_of(name, kinds):
                return f"{name} is in never_on"
        if self.only_on and not any(_names_one_of(name, kinds) for name in self.only_on):
            return f"{kinds[0][:_LONGEST_SHOWN]} is not in only_on"
        return None

    def delay(self, failures: int, *, at_least: float = 0.0) -> timedelta:
        """How long to wait after the given number of failures. Jitter only shortens it."""
        wait = min(self._plain_delay(failures), self.max)
        return timedelta(seconds=max(wait * (1 - self.jitter * random()), at_least))  # noqa: S311 (spread, not secrecy)

    def _plain_delay(self, failures: int) -> float:
        if self.backoff == "fixed":
            return self.initial
        if self.backoff == "linear":
            return self.initial * failures
        try:
            return self.initial * self.factor ** (failures - 1)
        except OverflowError:
            return self.max


def error_name(kind: type) -> str:
    """The name of an error in records, only_on and never_on: with its module, unless it is built in. Tickwork's own
    errors have the names by which users import them, wherever they are defined."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    is_public = kind.__module__.startswith("tickwork.") and kind.__name__ in tickwork.__all__
    return f"{'tickwork' if is_public else kind.__module__}.{kind.__qualname__}"


def _names_one_of(name: str, kinds: Sequence[str]) -> bool:
    """A name without a module matches a class of that name in any module."""
    return any(kind == name or kind.endswith(f".{name}") for kind in kinds)
