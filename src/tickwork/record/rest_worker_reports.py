"""Reports of REST workers on their attempts.

They are recorded together with the outcomes of other workers; the answer waits until they are committed. A repeated
report gets the same answer as the first one. A worker that reports on an attempt that it does not have gets
`StaleAttempt`, and the revocation of that attempt, if any, is deleted.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

import msgspec

from tickwork.model.access import Caller
from tickwork.model.errors import Invalid, StaleAttempt, Unavailable
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus
from tickwork.model.public_ids import execution_id, to_micros
from tickwork.model.quantities import parse_duration
from tickwork.model.rest_worker import (
    CompleteReport,
    FailReport,
    LogText,
    ProgressReport,
    ReportedAttempt,
    StartReport,
)
from tickwork.model.validate_worker_reports import result_error, truncate_failure
from tickwork.model.worker_protocol import Failure, LogLine, Micros, Note, Outcome
from tickwork.record.log_writer import LogWriter
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.store.port.record import AttemptState, RestWorkerReportStore

_TIMEOUT = 10.0  # seconds for a report to be committed


class RestWorkerReports:
    def __init__(
        self,
        store: RestWorkerReportStore,
        recorder: OutcomeRecorder,
        log_writer: LogWriter,
        now: Callable[[], Micros],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._log_writer = log_writer
        self._now = now

    async def start(
        self, caller: Caller, job: int, scheduled_for: datetime, report: StartReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        if not await self._store.begin(key, report.attempt, caller.key_id):
            raise _stale(report.attempt, await self._store.state(key, report.attempt, caller.key_id))
        return _reported(key, report.attempt, None)

    async def progress(
        self, caller: Caller, job: int, scheduled_for: datetime, report: ProgressReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        state = await self._store.state(key, report.attempt, caller.key_id)
        if state.worker_id is None:
            raise _stale(report.attempt, state)
        worker, note = state.worker_id, self._note(key, report)
        await _wait_until_done(lambda written: self._log_writer.submit(worker, [note], written))
        return _reported(key, report.attempt, None)

    async def complete(
        self, caller: Caller, job: int, scheduled_for: datetime, report: CompleteReport
    ) -> ReportedAttempt:
        result = None if report.result is None else msgspec.json.encode(report.result)
        if result is not None and (problem := result_error(result)):
            raise Invalid.field("result", problem, "store it elsewhere and report where")
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        return await self._end(caller, key, report.attempt, AttemptOutcome.COMPLETED, result=result)

    async def fail(
        self, caller: Caller, job: int, scheduled_for: datetime, report: FailReport
    ) -> ReportedAttempt:
        key = ExecutionKey(caller.tenant_id, scheduled_for, job)
        return await self._end(caller, key, report.attempt, AttemptOutcome.FAILED, failure=_failure(report))

    async def _end(
        self,
        caller: Caller,
        key: ExecutionKey,
        attempt: int,
        kind: AttemptOutcome,
        *,
        result: bytes | None = None,
        failure: Failure | None = None,
    ) -> ReportedAttempt:
        state = await self._store.state(key, attempt, caller.key_id)
        if state.is_foreign:
            raise _stale(attempt, state)
        if state.worker_id is not None:
            times = self._times(state)
            at = to_micros(key.scheduled_for)
            outcome = Outcome(key.tenant_id, at, key.job_id, attempt, kind, *times, result, failure)
            await self._record(state.worker_id, outcome, state)
            state = await self._store.state(key, attempt, caller.key_id)
        elif state.outcome is not kind:
            self._recorder.refuse_stale()
        if state.outcome is not kind:
            await self._store.release_ended(key, attempt, caller.key_id, state)
            raise _stale(attempt, state)
        return _reported(key, attempt, kind)

    async def _record(self, worker: int, outcome: Outcome, state: AttemptState) -> None:
        await _wait_until_done(
            lambda recorded: self._recorder.submit(worker, [outcome], [state.lane_id], state.leases, recorded)
        )

    def _times(self, state: AttemptState) -> tuple[Micros, Micros]:
        now = self._now()
        started = to_micros(state.started_at) if state.started_at else now
        return started, max(started, now)

    def _note(self, key: ExecutionKey, report: ProgressReport) -> Note:
        now = self._now()
        texts = [LogText(line) if isinstance(line, str) else line for line in report.log]
        return Note(
            key.tenant_id,
            to_micros(key.scheduled_for),
            key.job_id,
            report.attempt,
            report.first_line,
            [LogLine(now, line.level, line.text) for line in texts],
            report.fraction,
            report.message,
            now,
        )


async def _wait_until_done(submit: Callable[[Callable[[], None]], None]) -> None:
    done = asyncio.Event()
    submit(done.set)
    try:
        async with asyncio.timeout(_TIMEOUT):
            await done.wait()
    except TimeoutError:
        raise Unavailable("the database takes too long; repeat the report") from None


def _failure(report: FailReport) -> Failure:
    try:
        retry_after = parse_duration(report.retry_after).total_seconds()
    except ValueError as error:
        raise Invalid.field("retry_after", str(error)) from None
    failed = report.error
    return truncate_failure(Failure(failed.type, failed.message, failed.traceback, report.retry, retry_after))


def _reported(key: ExecutionKey, attempt: int, outcome: AttemptOutcome | None) -> ReportedAttempt:
    return ReportedAttempt(execution_id(key.job_id, key.scheduled_for), attempt, outcome)


def _stale(attempt: int, state: AttemptState) -> StaleAttempt:
    return StaleAttempt(f"your worker does not have attempt {attempt}: {_why(attempt, state)}")


def _why(attempt: int, state: AttemptState) -> str:
    if state.is_foreign:
        return "the execution is with a worker that was registered with another key"
    if state.attempt > attempt:
        ending = f"it ended as {state.outcome}" if state.outcome else "it was taken back"
        return f"{ending}, and the execution is at attempt {state.attempt}"
    if state.attempt < attempt:
        return f"the execution is only at attempt {state.attempt}"
    if state.status.ended:
        return f"the execution is {state.status}" + (f" ({state.reason})" if state.reason else "")
    if state.status is ExecutionStatus.PENDING:
        return "no worker has claimed it"
    return "it runs with a worker that is connected by WebSocket"
