"""Checks the outcomes, notes and checkpoints that workers report, over WebSocket or REST, before they are recorded.

Outcomes are written in batches, so one that PostgreSQL refuses would block all others. An invalid outcome is recorded
as a failure of its attempt instead, with an error that says what was wrong.
"""

from collections.abc import Iterable

import msgspec

from tickwork.model.checkpoint import LARGEST_NUMBER, LONGEST_TOOK, state_error, step_error
from tickwork.model.execution import RESULT_LIMIT, AttemptOutcome
from tickwork.model.json_limits import NUL, json_error
from tickwork.model.process_limits import Usage
from tickwork.model.quantities import LONGEST
from tickwork.model.worker_protocol import Checkpoint, Failure, LogLine, Micros, Note, Outcome

LATEST_TIME = 2**53  # microseconds, beyond any real date: a worker's clock may be wrong
_LONGEST_WAIT = LONGEST.total_seconds()
_WAITS = f"it is from 0 to {_LONGEST_WAIT:.0f}"
_LONGEST_TYPE = 200
_LONGEST_MESSAGE = 4_000
_LONGEST_TRACEBACK = 16_000
_LONGEST_REASON = 1_000
_MOST_KINDS = 10
_MOST_LINES = 2**31 - 1
_LONGEST_LINE = 16 * 1024
_LONGEST_LEVEL = 20
_MOST_CPU_SECONDS = 1e12


def recordable_outcomes(outcomes: Iterable[Outcome], now: Micros) -> list[Outcome]:
    """The outcomes with texts cut to their limits, and a failure in place of each that is invalid. Most have only times
    to check, and a call for each would cost more than the checks."""
    return [
        outcome
        if 0 < outcome.started < LATEST_TIME
        and 0 < outcome.finished < LATEST_TIME
        and outcome.result is None
        and outcome.failure is None
        and outcome.reason is None
        and not outcome.snooze
        else _recordable(outcome, now)
        for outcome in outcomes
    ]


def _recordable(outcome: Outcome, now: Micros) -> Outcome:
    kind, message = _outcome_error(outcome)
    if kind:
        return as_failed_outcome(outcome, Failure(kind, message, retry=False), now)
    if outcome.failure is None and outcome.reason is None:
        return outcome
    return msgspec.structs.replace(
        outcome,
        failure=truncate_failure(outcome.failure) if outcome.failure else None,
        reason=_text(outcome.reason, _LONGEST_REASON) if outcome.reason else None,
    )


def as_failed_outcome(outcome: Outcome, failure: Failure, now: Micros) -> Outcome:
    """A failed outcome in place of an invalid one. `now` replaces impossible times."""
    started = outcome.started if _is_time(outcome.started) else now
    finished = outcome.finished if _is_time(outcome.finished) else now
    return Outcome(
        outcome.tenant, outcome.at, outcome.job, outcome.attempt, AttemptOutcome.FAILED, started, finished,
        failure=failure,
    )  # fmt: skip


def result_error(result: bytes) -> str | None:
    """What is wrong with the result of an attempt, or None."""
    return json_error(result, RESULT_LIMIT)


def truncate_failure(failure: Failure) -> Failure:
    """Cuts long texts. A traceback keeps its end, which names the cause."""
    return msgspec.structs.replace(
        failure,
        type=_text(failure.type, _LONGEST_TYPE) or "Unknown",
        message=_text(failure.message, _LONGEST_MESSAGE),
        traceback=failure.traceback[-_LONGEST_TRACEBACK:].replace(NUL, "") if failure.traceback else None,
        kinds=[_text(kind, _LONGEST_TYPE) for kind in failure.kinds[:_MOST_KINDS]],
    )


def is_valid_note(note: Note) -> bool:
    """Whether PostgreSQL can store it."""
    return (
        0 <= note.first <= _MOST_LINES - len(note.lines)
        and all(0 < line.at < LATEST_TIME for line in note.lines)
        and (note.fraction is None or 0 <= note.fraction <= 1)
        and 0 <= note.started < LATEST_TIME
        and (note.usage is None or _is_usage(note.usage))
    )


def _is_usage(usage: Usage) -> bool:
    return 0 <= usage.cpu_seconds <= _MOST_CPU_SECONDS and 0 <= usage.peak_memory < 2**63


def truncate_note(note: Note) -> Note:
    lines = [LogLine(line.at, line.level[:_LONGEST_LEVEL], line.text[:_LONGEST_LINE]) for line in note.lines]
    message = note.message[:_LONGEST_REASON] if note.message else None
    return msgspec.structs.replace(note, lines=lines, message=message)


def checkpoint_error(checkpoint: Checkpoint) -> str | None:
    """What is wrong with a checkpoint, or None."""
    if not 1 <= checkpoint.number <= LARGEST_NUMBER:
        return f"the number of a checkpoint is from 1 to {LARGEST_NUMBER}; got {checkpoint.number}"
    if not 0 <= checkpoint.took <= LONGEST_TOOK:
        return f"a step takes from 0 to {LONGEST_TOOK:.0f} seconds; got {checkpoint.took}"
    if checkpoint.step is None:
        return state_error(checkpoint.value)
    return step_error(checkpoint.step, checkpoint.value)


def _outcome_error(outcome: Outcome) -> tuple[str, str]:
    """The type and message of the error in the outcome itself; empty texts when it is valid."""
    if not (_is_time(outcome.started) and _is_time(outcome.finished)):
        return (
            "BadOutcome",
            f"the worker reported times that do not exist: {outcome.started}, {outcome.finished}",
        )
    if not 0 <= outcome.snooze <= _LONGEST_WAIT:
        return "BadOutcome", f"the worker reported a snooze of {outcome.snooze} s; {_WAITS}"
    if outcome.failure and not 0 <= outcome.failure.retry_after <= _LONGEST_WAIT:
        return "BadOutcome", f"the worker reported a retry after {outcome.failure.retry_after} s; {_WAITS}"
    if outcome.result is not None and outcome.kind is AttemptOutcome.COMPLETED:
        fault = result_error(outcome.result)
        if fault:
            return "BadResult", f"the result {fault}"
    return "", ""


def _is_time(at: Micros) -> bool:
    return 0 < at < LATEST_TIME


def _text(text: str, most: int) -> str:
    """Without NUL, which PostgreSQL's text cannot store."""
    return text[:most].replace(NUL, "")
