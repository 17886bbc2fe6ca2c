"""How long an attempt may run before a node ends it, whatever its worker does."""

from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.errors import TIMEOUT
from tickwork.model.execution import AttemptOutcome, ExecutionKey
from tickwork.model.job_time_limits import SHORTEST_WARNING
from tickwork.model.public_ids import to_micros
from tickwork.model.worker import BEAT, LEASE
from tickwork.model.worker_protocol import Failure, Outcome

TIMEOUT_GRACE = timedelta(seconds=10)  # for the worker to stop the attempt itself and to report that
START_GRACE = timedelta(seconds=60)  # an attempt of which no start is reported counts as started then
FIRST_CHECK = SHORTEST_WARNING  # after handing over: most attempts are over by then
RECHECK = timedelta(seconds=10)  # at least, between two checks of a lease whose next limit is not known
SILENCE = 2 * BEAT + timedelta(
    seconds=1
)  # a worker that is silent for longer may be lost, which rescue decides
HEARD = LEASE - SILENCE  # how much of its lease a worker has left at least, if it is not silent
REVOKED = "timed out"  # what its worker is told


class OverdueAttempt(NamedTuple):
    """An attempt that should have ended, and whose worker is alive."""

    key: ExecutionKey
    worker_id: int
    attempt: int
    lane_id: int
    lease_id: int
    leased_at: datetime
    started_at: datetime | None  # as far as the worker reported it
    timeout: float
    now: datetime

    def outcome(self, *, may_retry: bool) -> Outcome:
        """As its worker should have reported it."""
        began = self.started_at or max(self.leased_at, self.key.scheduled_for)
        return Outcome(
            self.key.tenant_id,
            to_micros(self.key.scheduled_for),
            self.key.job_id,
            self.attempt,
            AttemptOutcome.FAILED,
            min(to_micros(began), to_micros(self.now)),
            to_micros(self.now),
            failure=Failure(TIMEOUT, self._message(), retry=may_retry, kinds=["TimeoutError"]),
        )

    def _message(self) -> str:
        worker = "did not stop it" if self.started_at else "never reported its start"
        return f"did not end within {self.timeout:g} s, and its worker {worker}"
