"""The history of an execution in plain sentences, attempt by attempt: what `tickwork execution get` prints."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from tickwork.cli.describe_checkpoint import checkpoint_paragraphs, is_empty
from tickwork.cli.format_elapsed import format_elapsed, format_seconds
from tickwork.cli.output import absolute, as_json, full, relative
from tickwork.model.checkpoint import EMPTY_CHECKPOINT, CheckpointView
from tickwork.model.execution import (
    AttemptOutcome,
    AttemptView,
    ExecutionStatus,
    ExecutionView,
    Trigger,
    WaitingFor,
)

_INDENT = "    "
_TRIGGER_TEXTS = {
    Trigger.SCHEDULE: "by its schedule",
    Trigger.MANUAL: "run manually",
    Trigger.BACKFILL: "run by a backfill",
    Trigger.RETRY: "retried manually",
}
_WAITING_TEXTS = {
    WaitingFor.DUE: "waits until it is due",
    WaitingFor.WORKER: "waits for a worker that can run it",
    WaitingFor.LIMIT: "waits for a limit",
    WaitingFor.DEPENDENCY: "waits for its dependencies",
    WaitingFor.RETRY: "waits for its next attempt",
    WaitingFor.PAUSED: "waits because its job is paused",
    WaitingFor.CALLBACK: "runs at its HTTP target, which reports later",
}


def describe_execution(
    execution: ExecutionView,
    attempts: Sequence[AttemptView],
    now: datetime,
    ran_with: str = "",
    checkpoint: CheckpointView = EMPTY_CHECKPOINT,
) -> str:
    """`ran_with`: what its latest attempt ran with, in words."""
    paragraphs = [
        summary_line(execution),
        _identity_and_times(execution, attempts, now),
        ran_with,
        *attempt_paragraphs(execution, attempts, now),
        *checkpoint_paragraphs(checkpoint),
        *result_or_error(execution, attempts),
        next_steps(execution, goes_on=not is_empty(checkpoint)),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _blocking_execution(execution: ExecutionView) -> str | None:
    other = execution.blocked_by
    return f"{other.execution_id} is {other.status}; retry it to go on" if other else None


def summary_line(execution: ExecutionView) -> str:
    """The task and the state, in one line."""
    match execution.status:
        case ExecutionStatus.COMPLETED if execution.attempt == 1:
            state = "completed"
        case ExecutionStatus.COMPLETED:
            state = f"completed at its {ordinal(execution.attempt)} attempt"
        case ExecutionStatus.RUNNING if execution.waiting_for == WaitingFor.CALLBACK:
            state = _WAITING_TEXTS[WaitingFor.CALLBACK] + _with_reason(_progress_text(execution))
        case ExecutionStatus.RUNNING:
            state = "is running" + _with_reason(_progress_text(execution))
        case ExecutionStatus.PENDING:
            waits = _WAITING_TEXTS[execution.waiting_for] if execution.waiting_for else "waits"
            state = waits + _with_reason(execution.reason or _blocking_execution(execution))
        case ExecutionStatus.FAILED:
            state = "failed" + _with_reason(execution.reason)
        case status:
            state = f"was {status}" + _with_reason(execution.reason)
    return full(f"{execution.task} {state}")


def first_due(execution: ExecutionView) -> datetime:
    """The original due time: a retry or a rescue changes due_at."""
    return execution.due_at if execution.attempt == 1 else execution.scheduled_for


def next_due(execution: ExecutionView) -> datetime | None:
    """When the next attempt is due, if there were attempts before it."""
    waits = execution.status is ExecutionStatus.PENDING and execution.attempt > 1
    return execution.due_at if waits else None


def _identity_and_times(execution: ExecutionView, attempts: Sequence[AttemptView], now: datetime) -> str:
    due_at = first_due(execution)
    due = f"{absolute(due_at)} ({relative(due_at, now)}), {_TRIGGER_TEXTS[execution.trigger]}"
    lines = [f"execution  {execution.id}", f"job        {execution.job_id}", f"due        {due}"]
    began = next((attempt.started_at for attempt in attempts if attempt.started_at), None)
    if execution.finished_at:
        took = f", {format_elapsed(execution.finished_at - began)} after it first began" if began else ""
        lines.append(f"ended      {absolute(execution.finished_at)}{took}")
    return "\n".join(lines)


def attempt_paragraphs(
    execution: ExecutionView, attempts: Sequence[AttemptView], now: datetime
) -> Iterator[str]:
    """One paragraph for each attempt: when and where it began, how it ended, what happened next."""
    day = None
    for attempt, following in pairwise([*attempts, None]):
        if attempt is None:
            return
        begin = attempt.started_at or attempt.finished_at
        when = "" if begin is None else _start_time(begin, day)
        day = begin.astimezone().date() if begin else day
        sentence = _attempt_sentence(attempt, when, now)
        then = (
            _next_attempt_text(attempt, following)
            if following
            else _after_last_attempt(attempt, execution, now)
        )
        yield f"{sentence}\n{then}" if then else sentence


def _attempt_sentence(attempt: AttemptView, when: str, now: datetime) -> str:
    number, worker = f"Attempt {attempt.attempt}", _worker_text(attempt)
    if attempt.outcome == AttemptOutcome.RETURNED:
        return f"{number} was returned {when} by {worker}, which was stopping. That uses no attempt."
    if attempt.outcome == AttemptOutcome.HELD:
        return f"{number} was held {when} by the circuit breaker of its destination. That uses no attempt."
    began = f"began {when} on {worker}" if attempt.started_at else f"was given to {worker}"
    return f"{number} {began}{_outcome_text(attempt, now)}"


def _outcome_text(attempt: AttemptView, now: datetime) -> str:
    took = _elapsed_text(attempt)
    texts = {
        None: _still_running_text(attempt, now),
        AttemptOutcome.COMPLETED: f" and completed{took}.{_usage_text(attempt)}",
        AttemptOutcome.FAILED: f" and failed{took}:\n{_error(attempt)}{_usage_text(attempt, start=chr(10))}",
        AttemptOutcome.LOST: f". {_loss_text(attempt)}.{_last_log_line(attempt)}",
        AttemptOutcome.SNOOZED: f" and asked{took} to run again later. That uses no attempt.",
        AttemptOutcome.CANCELLED: f" and was cancelled{took}.{_usage_text(attempt)}",
    }
    return texts[attempt.outcome]


def _usage_text(attempt: AttemptView, start: str = " ") -> str:
    if attempt.usage is None:
        return ""
    memory = f"{attempt.usage.peak_memory / 1024**2:.1f} MiB"
    return f"{start}It used {format_seconds(attempt.usage.cpu_seconds)} of CPU time and {memory} of memory at most."


def _still_running_text(attempt: AttemptView, now: datetime) -> str:
    if attempt.started_at is None and attempt.log_tail:
        return " and is running."
    if attempt.started_at is None:
        return ", which has not reported a start yet."
    return f" and has been running for {format_elapsed(now - attempt.started_at)}."


def _loss_text(attempt: AttemptView) -> str:
    if attempt.error:
        return full(f"It was lost: {attempt.error.message}")
    found = "" if attempt.silent_for is None else f"; found after {format_seconds(attempt.silent_for)}"
    return f"Its worker stopped answering{found}"


def _last_log_line(attempt: AttemptView) -> str:
    lines = (attempt.log_tail or "").rstrip().splitlines()
    return f"\nThe last line that it logged:\n{indented(lines[-1])}" if lines else ""


def _next_attempt_text(attempt: AttemptView, following: AttemptView) -> str:
    moved = attempt.worker != following.worker and attempt.outcome in (
        AttemptOutcome.LOST,
        AttemptOutcome.RETURNED,
    )
    what = "It went to another worker" if moved else "It was tried again"
    if attempt.finished_at and following.started_at:
        return f"{what} {format_elapsed(following.started_at - attempt.finished_at)} later."
    return f"{what}."


def _after_last_attempt(attempt: AttemptView, execution: ExecutionView, now: datetime) -> str:
    """What happens, or does not happen, after the last attempt so far."""
    match execution.status:
        case ExecutionStatus.PENDING if execution.due_at > now:
            return f"The next attempt is {relative(execution.due_at, now)}."
        case ExecutionStatus.PENDING:
            return "It will be tried again."
        case ExecutionStatus.FAILED:
            return f"It was not tried again{_with_reason(execution.reason)}."
        case ExecutionStatus.CANCELLED if attempt.outcome != AttemptOutcome.CANCELLED:
            return f"Then it was cancelled{_with_reason(execution.reason)}."
        case _:
            return ""


def result_or_error(execution: ExecutionView, attempts: Sequence[AttemptView]) -> Iterator[str]:
    """The result; or the last error in full, with what was logged before it."""
    if execution.result is not None:
        yield f"Result: {full(as_json(execution.result))}"
    if execution.status != ExecutionStatus.FAILED:
        return
    if execution.error and execution.error.traceback:
        yield f"The last error in full:\n{indented(execution.error.traceback)}"
    if attempts and (tail := attempts[-1].log_tail):
        yield f"The last lines that attempt {attempts[-1].attempt} logged:\n{indented(tail)}"


def next_steps(execution: ExecutionView, *, goes_on: bool = False) -> str:
    """`goes_on`: another attempt goes on from a checkpoint."""
    steps = dict(_commands(execution, goes_on))
    if not steps:
        return ""
    width = max(map(len, steps))
    lines = [f"{_INDENT}{command.ljust(width)}  {what}" for command, what in steps.items()]
    return "\n".join(["What you can do:", *lines])


def _commands(execution: ExecutionView, goes_on: bool) -> Iterator[tuple[str, str]]:
    of_execution = "tickwork execution {} " + execution.id
    match execution.status:
        case ExecutionStatus.FAILED:
            yield of_execution.format("logs"), "read its log"
            yield from _retries(of_execution, goes_on)
            yield f"tickwork dead-letter discard {execution.id}", "discard it"
        case ExecutionStatus.CANCELLED:
            yield from _retries(of_execution, goes_on)
        case ExecutionStatus.RUNNING:
            yield of_execution.format("logs -f"), "follow its log"
            yield of_execution.format("cancel"), "stop it"
        case ExecutionStatus.PENDING if execution.waiting_for == WaitingFor.PAUSED:
            yield f"tickwork job resume {execution.job_id}", "resume its job"
        case ExecutionStatus.PENDING if execution.waiting_for == WaitingFor.WORKER:
            yield "tickwork worker list", "list workers and the tasks they offer"


def _retries(of_execution: str, goes_on: bool) -> Iterator[tuple[str, str]]:
    if goes_on:
        yield of_execution.format("retry"), "run it again, from its checkpoint"
        yield of_execution.format("retry --fresh"), "run it again, from the beginning"
    else:
        yield of_execution.format("retry"), "run it again"


def ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{suffix}"


def indented(text: str) -> str:
    return "\n".join(_INDENT + line for line in full(text.rstrip("\n")).splitlines())


def _start_time(at: datetime, day: object) -> str:
    """The time of day; with the date if it differs from the previous one."""
    local = at.astimezone()
    return f"at {local:%H:%M:%S}" if local.date() == day else f"on {local:%Y-%m-%d at %H:%M:%S}"


def _worker_text(attempt: AttemptView) -> str:
    if attempt.worker is None:
        return "its HTTP target" if attempt.started_at else "a worker"
    return full(f"worker {attempt.worker}" + (f" ({attempt.worker_name})" if attempt.worker_name else ""))


def _elapsed_text(attempt: AttemptView) -> str:
    if not (attempt.started_at and attempt.finished_at):
        return ""
    return f" after {format_elapsed(attempt.finished_at - attempt.started_at)}"


def _error(attempt: AttemptView) -> str:
    return indented(
        f"{attempt.error.type}: {attempt.error.message}" if attempt.error else "no error was reported"
    )


def _progress_text(execution: ExecutionView) -> str | None:
    progress = execution.progress
    return f"{progress.fraction:.0%} {progress.message or ''}".rstrip() if progress else None


def _with_reason(reason: str | None) -> str:
    return f": {full(reason)}" if reason else ""
