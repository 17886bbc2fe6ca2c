"""Reports of REST workers on their attempts.

A repeated report gets the same answer as the first one. A worker that reports on an attempt that it does not have gets
`StaleAttempt`, and the revocation of that attempt, if any, is deleted.
"""

from datetime import datetime

from tickwork.model.access import Caller
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.errors import StaleAttempt
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.rest_worker import (
    CheckpointReport,
    CompleteReport,
    FailReport,
    ProgressReport,
    RecallRequest,
    ReportedAttempt,
    StartReport,
)
from tickwork.record.rest_and_callback_reports import (
    AttemptReports,
    End,
    completed,
    failed,
    reported,
    why_ended,
)
from tickwork.store.port.record import AttemptState, RestWorkerReportStore


class RestWorkerReports:
    def __init__(self, store: RestWorkerReportStore, reports: AttemptReports) -> None:
        self._store = store
        self._reports = reports

    async def start(
        self, caller: Caller, job: int, scheduled_for: datetime, report: StartReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        if not await self._store.begin(key, report.attempt, caller.key_id):
            raise _stale(report.attempt, await self._store.state(key, report.attempt, caller.key_id))
        return reported(key, report.attempt, None)

    async def progress(
        self, caller: Caller, job: int, scheduled_for: datetime, report: ProgressReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        worker = await self._worker_of(key, report.attempt, caller)
        await self._reports.write_progress(key, worker, report)
        return reported(key, report.attempt, None)

    async def checkpoint(
        self, caller: Caller, job: int, scheduled_for: datetime, report: CheckpointReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        worker = await self._worker_of(key, report.attempt, caller)
        if not await self._reports.store_checkpoint(key, worker, report):
            raise _stale(report.attempt, await self._store.state(key, report.attempt, caller.key_id))
        return reported(key, report.attempt, None)

    async def recall(
        self, caller: Caller, job: int, scheduled_for: datetime, request: RecallRequest
    ) -> CheckpointView:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        await self._worker_of(key, request.attempt, caller)
        return await self._reports.recall(key)

    async def complete(
        self, caller: Caller, job: int, scheduled_for: datetime, report: CompleteReport
    ) -> ReportedAttempt:
        end = completed(report)
        return await self._end(
            caller, ExecutionKey(caller.tenant_id, scheduled_for, job), report.attempt, end
        )

    async def fail(
        self, caller: Caller, job: int, scheduled_for: datetime, report: FailReport
    ) -> ReportedAttempt:
        end = failed(report)
        return await self._end(
            caller, ExecutionKey(caller.tenant_id, scheduled_for, job), report.attempt, end
        )

    async def _worker_of(self, key: ExecutionKey, attempt: int, caller: Caller) -> int:
        """The worker of this caller that has the attempt."""
        state = await self._store.state(key, attempt, caller.key_id)
        if state.worker_id is None:
            raise _stale(attempt, state)
        return state.worker_id

    async def _end(self, caller: Caller, key: ExecutionKey, attempt: int, end: End) -> ReportedAttempt:
        state = await self._store.state(key, attempt, caller.key_id)
        if state.is_foreign:
            raise _stale(attempt, state)
        if state.worker_id is not None:
            await self._reports.record_end(key, attempt, state.worker_id, end, state)
            state = await self._store.state(key, attempt, caller.key_id)
        elif state.outcome is not end.kind:
            self._reports.refuse_stale()
        if state.outcome is not end.kind:
            await self._store.release_ended(key, attempt, caller.key_id, state)
            raise _stale(attempt, state)
        return reported(key, attempt, end.kind)


def _stale(attempt: int, state: AttemptState) -> StaleAttempt:
    return StaleAttempt(f"your worker does not have attempt {attempt}: {_why(attempt, state)}")


def _why(attempt: int, state: AttemptState) -> str:
    if state.is_foreign:
        return "the execution is with a worker that was registered with another key"
    if ended := why_ended(attempt, state):
        return ended
    if state.attempt < attempt:
        return f"the execution is only at attempt {state.attempt}"
    if state.status is ExecutionStatus.PENDING:
        return "no worker has claimed it"
    return "it runs with a worker that is connected by WebSocket"
