"""The events of attempts that did not complete, and of executions that completed late, slowly or after failures."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tickwork.model.dead_letter import WORKER_LOST
from tickwork.model.execution import AttemptError, AttemptOutcome, ExecutionKey, ExecutionStatus
from tickwork.model.public_ids import from_micros
from tickwork.model.stream_event import LATE_AFTER, SLOW_AFTER, EventKind
from tickwork.model.transition_after_attempt import Transition
from tickwork.model.worker_protocol import Outcome
from tickwork.store.pool import Connection
from tickwork.store.port.record import AttemptNote, CompletedColumns
from tickwork.store.query_files import queries

_LATE = int(LATE_AFTER * 1e6)  # microseconds
_SLOW = int(SLOW_AFTER * 1e6)
_LONGEST_MESSAGE = 500  # characters; the attempt has all of it
_KINDS = {
    AttemptOutcome.FAILED: EventKind.EXECUTION_RETRYING,
    AttemptOutcome.LOST: EventKind.EXECUTION_LOST,
    AttemptOutcome.SNOOZED: EventKind.EXECUTION_SNOOZED,
}


class _AttemptEvent(NamedTuple):
    tenant_id: int
    at: object
    job_id: int
    attempt: int
    kind: str
    error_type: str | None = None
    fingerprint: int | None = None
    message: str | None = None


class ErrorBrief(NamedTuple):
    """What an event says about an error."""

    type: str | None = None
    message: str | None = None


def error_of(note: AttemptNote) -> ErrorBrief:
    if note.outcome is AttemptOutcome.LOST:
        return ErrorBrief(WORKER_LOST)
    if note.error is None:
        return ErrorBrief()
    error = msgspec.json.decode(note.error, type=AttemptError)
    return ErrorBrief(error.type, error.message[:_LONGEST_MESSAGE])


async def write_attempt_events(
    connection: Connection, transitions: Sequence[Transition], notes: Sequence[AttemptNote]
) -> None:
    failed = {transition.key for transition in transitions if transition.status is ExecutionStatus.FAILED}
    events = [event for note in notes for event in _events(note, has_failed=note.key in failed)]
    if events:
        await connection.execute(
            queries("event")["write_attempt_events"], *map(list, zip(*events, strict=True))
        )


def _events(note: AttemptNote, *, has_failed: bool) -> Iterator[_AttemptEvent]:
    """`has_failed`: the execution has, for good."""
    kind = EventKind.EXECUTION_FAILED if has_failed else _KINDS.get(note.outcome)
    if kind:
        error = error_of(note)
        yield _AttemptEvent(*note.key, note.attempt, kind, error.type, note.fingerprint, error.message)


async def write_failure(connection: Connection, key: ExecutionKey) -> None:
    """An execution failed without an attempt that says why."""
    event = _AttemptEvent(*key, 0, EventKind.EXECUTION_FAILED)
    await connection.execute(queries("event")["write_attempt_events"], *([value] for value in event))


async def mark_failing(connection: Connection, failed: Sequence[ExecutionKey]) -> None:
    """The last execution of their jobs failed for good."""
    tenants, jobs = [key.tenant_id for key in failed], [key.job_id for key in failed]
    await connection.execute(queries("event")["mark_failing"], tenants, jobs)


async def write_completion_events(
    connection: Connection, completed: CompletedColumns, failing: Collection[int]
) -> None:
    """Only what is out of the ordinary: a batch that ended soon after its due times has nothing late or slow."""
    if completed.longest > _LATE:
        await _write_late(connection, completed.outcomes)
    if completed.longest > _SLOW:
        await _write_slow(connection, completed.outcomes)
    if failing:
        await _mark_recovered(
            connection, [outcome for outcome in completed.outcomes if outcome.job in failing]
        )


async def _write_late(connection: Connection, outcomes: Sequence[Outcome]) -> None:
    late = [each for each in outcomes if each.attempt == 1 and each.started - each.at > _LATE]
    await _write(connection, EventKind.EXECUTION_LATE, late)


async def _write_slow(connection: Connection, outcomes: Sequence[Outcome]) -> None:
    slow = [each for each in outcomes if each.finished - each.started > _SLOW]
    await _write(connection, EventKind.EXECUTION_SLOW, slow)


async def _write(connection: Connection, kind: EventKind, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        await connection.execute(
            queries("late_and_slow_events")["write_completed"],
            kind,
            *_keys(outcomes),
            [each.attempt for each in outcomes],
        )


async def _mark_recovered(connection: Connection, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        await connection.execute(queries("event")["mark_recovered"], *_keys(outcomes))


def _keys(outcomes: Sequence[Outcome]) -> tuple[list[object], ...]:
    return (
        [each.tenant for each in outcomes],
        [from_micros(each.at) for each in outcomes],
        [each.job for each in outcomes],
    )
