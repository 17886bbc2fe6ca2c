"""When to try again after a failure."""

from datetime import timedelta
from random import random
from typing import Literal

import msgspec

Backoff = Literal["exponential", "linear", "fixed"]


class RetryPolicy(msgspec.Struct, frozen=True):
    """Seconds throughout."""

    max_attempts: int = 4
    backoff: Backoff = "exponential"
    initial: float = 1.0
    factor: float = 2.0
    max: float = 3600.0
    jitter: float = 0.2

    def delay(self, failures: int, *, at_least: float = 0.0) -> timedelta:
        """How long to wait after the given number of failures, jitter only ever shortening it."""
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
