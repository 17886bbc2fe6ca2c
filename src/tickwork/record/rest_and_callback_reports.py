"""What those report on their attempts who have no connection: REST workers, and targets of HTTP jobs.

Reports are recorded together with the outcomes of other workers; the answer waits until they are committed.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from tickwork.model.checkpoint import CheckpointView
from tickwork.model.errors import FieldError, Invalid, Unavailable
from tickwork.model.execution import AttemptOutcome, ExecutionKey
from tickwork.model.public_ids import execution_id, to_micros
from tickwork.model.quantities import parse_duration
from tickwork.model.rest_worker import (
    CheckpointReport,
    CompleteReport,
    FailReport,
    LogText,
    ProgressReport,
    ReportedAttempt,
)
from tickwork.model.validate_worker_reports import result_error, truncate_failure
from tickwork.model.worker_protocol import Failure, LogLine, Micros, Note, Outcome, RefusedCheckpoint
from tickwork.record.checkpoints import Checkpoints
from tickwork.record.log_writer import LogWriter
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.store.port.checkpoint import NewCheckpoint
from tickwork.store.port.record import AttemptState, Claimed

_TIMEOUT = 10.0  # seconds for a report to be committed


class End(msgspec.Struct, frozen=True):
    """How a report says that the attempt ended."""

    kind: AttemptOutcome
    result: bytes | None = None
    failure: Failure | None = None


class AttemptReports:
    def __init__(
        self,
        recorder: OutcomeRecorder,
        log_writer: LogWriter,
        checkpoints: Checkpoints,
        now: Callable[[], Micros],
    ) -> None:
        self._recorder = recorder
        self._log_writer = log_writer
        self._checkpoints = checkpoints
        self._now = now

    async def write_progress(self, key: ExecutionKey, worker: int, report: ProgressReport) -> None:
        note = self._note(key, report)
        await _wait_until_done(lambda written: self._log_writer.submit(worker, [note], written))

    async def store_checkpoint(self, key: ExecutionKey, worker: int, report: CheckpointReport) -> bool:
        """Whether the worker still has the attempt. Invalid names what cannot be stored."""
        if errors := list(report.errors()):
            raise Invalid(errors)
        refused: list[RefusedCheckpoint] = []

        def submit(stored: Callable[[], None]) -> None:
            def answer(some: Sequence[RefusedCheckpoint]) -> None:
                refused.extend(some)
                stored()

            self._checkpoints.submit(_checkpoints(Claimed(key, worker, report.attempt), report), answer)

        await _wait_until_done(submit)
        if any(each.is_stale for each in refused):
            return False
        if refused:
            raise Invalid([FieldError(_path(each, report), each.reason) for each in refused])
        return True

    async def recall(self, key: ExecutionKey) -> CheckpointView:
        return await self._checkpoints.view(key.tenant_id, key.job_id, key.scheduled_for)

    async def record_end(
        self, key: ExecutionKey, attempt: int, worker: int, end: End, state: AttemptState
    ) -> None:
        """Record how the attempt ended that this worker has, by what was read of it."""
        now = self._now()
        started = to_micros(state.started_at) if state.started_at else now
        outcome = Outcome(
            key.tenant_id,
            to_micros(key.scheduled_for),
            key.job_id,
            attempt,
            end.kind,
            started,
            max(started, now),
            end.result,
            end.failure,
        )
        await _wait_until_done(
            lambda recorded: self._recorder.submit(worker, [outcome], [state.lane_id], state.leases, recorded)
        )

    def refuse_stale(self) -> None:
        """Count a report that came too late."""
        self._recorder.refuse_stale()

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


def _checkpoints(claimed: Claimed, report: CheckpointReport) -> list[NewCheckpoint]:
    """The steps, then the state."""
    new = [
        NewCheckpoint(claimed, 0, step.name, msgspec.json.encode(step.result), step.took)
        for step in report.steps
    ]
    if report.state is not msgspec.UNSET:
        new.append(NewCheckpoint(claimed, report.number or 0, None, msgspec.json.encode(report.state), None))
    return new


def _path(refused: RefusedCheckpoint, report: CheckpointReport) -> str:
    return f"steps[{refused.place}]" if refused.place < len(report.steps) else "state"


async def _wait_until_done(submit: Callable[[Callable[[], None]], None]) -> None:
    done = asyncio.Event()
    submit(done.set)
    try:
        async with asyncio.timeout(_TIMEOUT):
            await done.wait()
    except TimeoutError:
        raise Unavailable("the database takes too long; repeat the report") from None


def completed(report: CompleteReport) -> End:
    result = None if report.result is None else msgspec.json.encode(report.result)
    if result is not None and (problem := result_error(result)):
        raise Invalid.field("result", problem, "store it elsewhere and report where")
    return End(AttemptOutcome.COMPLETED, result=result)


def failed(report: FailReport) -> End:
    try:
        retry_after = parse_duration(report.retry_after).total_seconds()
    except ValueError as error:
        raise Invalid.field("retry_after", str(error)) from None
    said = report.error
    failure = Failure(said.type, said.message, said.traceback, report.retry, retry_after)
    return End(AttemptOutcome.FAILED, failure=truncate_failure(failure))


def reported(key: ExecutionKey, attempt: int, outcome: AttemptOutcome | None) -> ReportedAttempt:
    return ReportedAttempt(execution_id(key.job_id, key.scheduled_for), attempt, outcome)


def why_ended(attempt: int, state: AttemptState) -> str | None:
    """What became of an attempt that has ended; None if it has not, or has not begun."""
    if state.attempt > attempt:
        ending = f"it ended as {state.outcome}" if state.outcome else "it was taken back"
        return f"{ending}, and the execution is at attempt {state.attempt}"
    if state.attempt == attempt and state.status.ended:
        return f"the execution is {state.status}" + (f" ({state.reason})" if state.reason else "")
    return None
