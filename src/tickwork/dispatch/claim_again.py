"""Claims again before the next tick, when what kept the last claim from handing out everything has gone."""

from tickwork.dispatch.claim import Claimer
from tickwork.model.event import AttemptsEnded
from tickwork.wake import Wake


class ClaimAgain:
    def __init__(self, claimer: Claimer, wake: Wake) -> None:
        self._claimer = claimer
        self._wake = wake

    def after_room_opened(self) -> None:
        """A worker reported outcomes and has slots free."""
        if self._claimer.something_may_be_left:
            self._wake.claim()

    def after_end(self, _: AttemptsEnded) -> None:
        """A limit that held executions back may let some through."""
        if self._claimer.something_is_held_back:
            self._wake.claim()
