"""What a runner raises that is already told in full, and reported as it is."""

from tickwork.model.protocol import Failure


class AttemptFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class AttemptHeld(Exception):
    """It was not begun: the circuit breaker of its destination is open."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AttemptPostponed(Exception):
    """Not tried, for this reason; it uses up no attempt."""

    def __init__(self, seconds: float, reason: Failure) -> None:
        super().__init__(reason.message)
        self.seconds = seconds
        self.reason = reason
