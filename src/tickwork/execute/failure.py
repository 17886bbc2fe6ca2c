"""A failure that is already told in full: raised by a runner, reported as it is."""

from tickwork.model.protocol import Failure


class AttemptFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
