"""HTTP jobs that finish later: what their targets report by callback, and what becomes of attempts whose targets do not
report in time.

A target may report before its 202 was recorded, even before it has answered: its token says that it was called. A
repeated report gets the same answer as the first one. A report on an attempt that has ended gets `StaleAttempt`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from tickwork.model.callback_token import LONGEST_TOKEN, attempt_of_token, callback_token
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.errors import TIMEOUT, Invalid, StaleAttempt
from tickwork.model.execution import AttemptOutcome, ExecutionKey
from tickwork.model.http_callback_reports import (
    CallbackCheckpoint,
    CallbackComplete,
    CallbackFail,
    CallbackHeartbeat,
    CallbackProgress,
    KeptAttempt,
)
from tickwork.model.public_ids import execution_id, to_micros
from tickwork.model.quantities import format_duration
from tickwork.model.rest_worker import ReportedAttempt
from tickwork.model.worker import WITH_TARGET
from tickwork.model.worker_protocol import Failure, Micros, Outcome
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.record.rest_and_callback_reports import (
    AttemptReports,
    End,
    completed,
    failed,
    reported,
    why_ended,
)
from tickwork.store.port.callback import CallbackWaitStore, OverdueWait
from tickwork.store.port.record import AttemptState

_MOST_OVERDUE = 500  # ended in one step
HEARTBEAT_LOST = "HeartbeatLost"

Report = CallbackHeartbeat | CallbackProgress | CallbackCheckpoint | CallbackComplete | CallbackFail


class CallbackTokens:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def token(self, execution: str, attempt: int) -> str:
        return callback_token(self._secret, execution, attempt)

    def attempt(self, execution: str, token: str) -> int | None:
        """The attempt at this execution that the token is for, if it is genuine."""
        return attempt_of_token(self._secret, execution, token) if len(token) <= LONGEST_TOKEN else None


class Callbacks:
    def __init__(self, store: CallbackWaitStore, reports: AttemptReports, tokens: CallbackTokens) -> None:
        self._store = store
        self._reports = reports
        self.tokens = tokens

    async def heartbeat(
        self, job: int, scheduled_for: datetime, attempt: int, report: CallbackHeartbeat
    ) -> KeptAttempt:
        _check_attempt(attempt, report)
        key, state = await self._store.state(job, scheduled_for, attempt)
        if state.worker_id is None:
            raise _stale(attempt, state)
        return KeptAttempt(execution_id(job, scheduled_for), attempt, await self._extend(key, attempt, state))

    async def progress(
        self, job: int, scheduled_for: datetime, attempt: int, report: CallbackProgress
    ) -> ReportedAttempt:
        _check_attempt(attempt, report)
        key, state = await self._store.state(job, scheduled_for, attempt)
        if state.worker_id is None:
            raise _stale(attempt, state)
        await self._extend(key, attempt, state)
        await self._reports.write_progress(key, state.worker_id, report.of(attempt))
        return reported(key, attempt, None)

    async def checkpoint(
        self, job: int, scheduled_for: datetime, attempt: int, report: CallbackCheckpoint
    ) -> ReportedAttempt:
        _check_attempt(attempt, report)
        key, state = await self._store.state(job, scheduled_for, attempt)
        while state.worker_id is not None:  # again if its 202 was recorded meanwhile
            holder = state.worker_id
            await self._extend(key, attempt, state)
            if await self._reports.store_checkpoint(key, holder, report.of(attempt)):
                return reported(key, attempt, None)
            state = (await self._store.state(job, scheduled_for, attempt)).attempt
            if state.worker_id == holder:
                break
        raise _stale(attempt, state)

    async def recall(self, job: int, scheduled_for: datetime, attempt: int) -> CheckpointView:
        """What this attempt and those before it have stored, for the target of an attempt that has not ended."""
        key, state = await self._store.state(job, scheduled_for, attempt)
        if state.worker_id is None:
            raise _stale(attempt, state)
        return await self._reports.recall(key)

    async def complete(
        self, job: int, scheduled_for: datetime, attempt: int, report: CallbackComplete
    ) -> ReportedAttempt:
        _check_attempt(attempt, report)
        return await self._end(job, scheduled_for, attempt, completed(report.of(attempt)))

    async def fail(
        self, job: int, scheduled_for: datetime, attempt: int, report: CallbackFail
    ) -> ReportedAttempt:
        _check_attempt(attempt, report)
        return await self._end(job, scheduled_for, attempt, failed(report.of(attempt)))

    async def _extend(self, key: ExecutionKey, attempt: int, state: AttemptState) -> datetime | None:
        """Give the target time until its next heartbeat. Once its time was over, nothing gives it more."""
        if deadline := await self._store.extend(key, attempt):
            return deadline
        found = await self._store.deadline(key, attempt)
        if found is None:
            return None  # its 202 is being recorded
        deadline, is_over = found
        if is_over:
            raise _stale(attempt, state)
        return deadline

    async def _end(self, job: int, scheduled_for: datetime, attempt: int, end: End) -> ReportedAttempt:
        key, state = await self._store.state(job, scheduled_for, attempt)
        while state.worker_id is not None:  # again if its 202 was recorded meanwhile
            holder = state.worker_id
            await self._reports.record_end(key, attempt, holder, end, state)
            state = (await self._store.state(job, scheduled_for, attempt)).attempt
            if state.worker_id == holder:
                break
        if state.outcome is not end.kind:
            self._reports.refuse_stale()
            raise _stale(attempt, state)
        return reported(key, attempt, end.kind)


def _check_attempt(attempt: int, report: Report) -> None:
    if report.attempt not in (None, attempt):
        raise Invalid.field(
            "attempt",
            f"the token is that of attempt {attempt}",
            "leave it out, or use the token of that attempt",
        )


def _stale(attempt: int, state: AttemptState) -> StaleAttempt:
    why = why_ended(attempt, state) or "its time was over before this report came"
    return StaleAttempt(f"attempt {attempt} is no longer with this target: {why}")


class CallbackDeadlines:
    """Ends attempts whose targets did not report in time, and the waits for those that were cancelled."""

    def __init__(
        self, store: CallbackWaitStore, recorder: OutcomeRecorder, now: Callable[[], Micros]
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._now = now
        self._submitted: set[int] = set()  # leases of attempts whose end is being recorded

    async def enforce(self) -> bool:
        """End what is overdue; whether there may be more."""
        await self._store.end_revoked()
        overdue = await self._store.overdue(_MOST_OVERDUE)
        if gone := [wait.lease_id for wait in overdue if not wait.is_current]:
            await self._store.close(gone)
        new = [wait for wait in overdue if wait.is_current and wait.lease_id not in self._submitted]
        for wait in new:
            self._submit(wait)
        return len(overdue) == _MOST_OVERDUE and bool(new or gone)

    def _submit(self, wait: OverdueWait) -> None:
        self._submitted.add(wait.lease_id)
        self._recorder.submit(
            WITH_TARGET,
            [_overdue_outcome(wait, self._now())],
            [wait.lane_id or 0],
            [wait.lease_id],
            recorded=lambda: self._submitted.discard(wait.lease_id),
        )


def _overdue_outcome(wait: OverdueWait, now: Micros) -> Outcome:
    tenant_id, scheduled_for, job = wait.key
    started = to_micros(wait.started_at) if wait.started_at else now
    kind = AttemptOutcome.FAILED if wait.timed_out else AttemptOutcome.LOST
    return Outcome(
        tenant_id,
        to_micros(scheduled_for),
        job,
        wait.attempt,
        kind,
        started,
        max(started, now),
        failure=_failure(wait),
    )


def _failure(wait: OverdueWait) -> Failure:
    if wait.timed_out:
        message = "the target accepted the request and did not report its end within the timeout"
        return Failure(TIMEOUT, message, kinds=["TimeoutError"])
    missing = format_duration(wait.heartbeat or timedelta(0))
    return Failure(HEARTBEAT_LOST, f"the target accepted the request and sent no heartbeat for {missing}")
