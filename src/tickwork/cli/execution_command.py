"""Inspect, cancel and retry executions."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

from tickwork.cli.describe_checkpoint import checkpoint_paragraphs, is_empty
from tickwork.cli.describe_execution import describe_execution, first_due, next_due, summary_line
from tickwork.cli.describe_execution_input import input_lines
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.option_types import duration, json_value, past
from tickwork.cli.output import (
    Columns,
    absolute,
    as_json,
    full,
    output_option,
    page_options,
    say,
    show_item,
    show_page,
)
from tickwork.cli.print_or_watch_answer import prints_item, prints_list, prints_page
from tickwork.cli.progress_or_why_waiting import fetch_execution, progress_while_waiting, why_lines
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.attempt_log import AttemptProgress, LogEntry
from tickwork.model.execution import AttemptView, ExecutionStatus, ExecutionView, WaitingFor
from tickwork.model.field_types import Page
from tickwork.model.quantities import format_duration

_SHORTEST_SHOWN = timedelta(milliseconds=1)

_COLOURS = {"debug": "bright_black", "warning": "yellow", "error": "red", "critical": "red"}
_LEVEL_WIDTH = 8
_TIME_WIDTH = 12
_RULE = "──"


def _given_json(text: str) -> tuple[Any]:
    """In a tuple, because null is a payload, too."""
    return (json_value(text),)


def _took(started_at: datetime | None, finished_at: datetime | None) -> str | None:
    if not (started_at and finished_at):
        return None
    return format_duration(max(finished_at - started_at, _SHORTEST_SHOWN))


def _note(execution: ExecutionView) -> str | None:
    if execution.status is ExecutionStatus.PENDING and execution.waiting_for:
        return f"waits for {execution.waiting_for}"
    if execution.error:
        return f"{execution.error.type}: {execution.error.message}"
    return execution.reason or progress_of(execution)


def progress_of(execution: ExecutionView) -> str | None:
    progress = execution.progress
    return f"{progress.fraction:.0%} {progress.message or ''}".rstrip() if progress else None


def _error(execution: ExecutionView) -> str | None:
    if execution.error is None:
        return None
    return execution.error.traceback or f"{execution.error.type}: {execution.error.message}"


_COLUMNS: Columns[ExecutionView] = {
    "id": lambda execution: execution.id,
    "task": lambda execution: execution.task,
    "status": lambda execution: execution.status,
    "due": first_due,
    "took": lambda execution: _took(execution.started_at, execution.finished_at),
    "attempt": lambda execution: f"{execution.attempt}/{execution.max_attempts}",
    "note": _note,
}
EXECUTION_FIELDS: Columns[ExecutionView] = {
    "id": lambda execution: execution.id,
    "job": lambda execution: execution.job_id,
    "task": lambda execution: execution.task,
    "status": lambda execution: execution.status,
    "waiting for": lambda execution: execution.waiting_for,
    "reason": lambda execution: execution.reason,
    "trigger": lambda execution: execution.trigger,
    "scheduled for": lambda execution: execution.scheduled_for,
    "due": first_due,
    "next attempt": next_due,
    "started": lambda execution: execution.started_at,
    "finished": lambda execution: execution.finished_at,
    "took": lambda execution: _took(execution.started_at, execution.finished_at),
    "attempt": lambda execution: f"{execution.attempt} of {execution.max_attempts}",
    "worker": lambda execution: execution.worker,
    "progress": progress_of,
    "result": lambda execution: as_json(execution.result),
    "error": _error,
}
_ATTEMPT_COLUMNS: Columns[AttemptView] = {
    "attempt": lambda attempt: attempt.attempt,
    "outcome": lambda attempt: attempt.outcome or "running",
    "worker": lambda attempt: attempt.worker,
    "started": lambda attempt: attempt.started_at,
    "took": lambda attempt: _took(attempt.started_at, attempt.finished_at),
    "error": lambda attempt: f"{attempt.error.type}: {attempt.error.message}" if attempt.error else None,
}


@click.group()
def command() -> None:
    """Inspect, cancel and retry executions."""


@command.command("list")
@click.option("--job", metavar="JOB", help="Only of this job: its id, or key:NAME.")
@click.option("--status", type=click.Choice([status.value for status in ExecutionStatus]))
@click.option("--waiting-for", type=click.Choice([reason.value for reason in WaitingFor]))
@click.option(
    "--error", metavar="TYPE", help="Only with an attempt that failed with this error, such as ValueError."
)
@click.option("--timed-out", is_flag=True, help="Only with an attempt that took too long.")
@click.option("--retrying", is_flag=True, help="Only those with a failed attempt that have not ended.")
@click.option(
    "--blocked", is_flag=True, help="Only those that wait for an execution that failed or was cancelled."
)
@click.option("--not-taken", is_flag=True, help="Only those on a branch of a graph that was not taken.")
@click.option("--task")
@click.option("--queue")
@click.option("--worker", metavar="ID")
@click.option("--tag", help="Only of jobs with this tag.")
@click.option(
    "--since", type=past, metavar="TIME|AGE", help="Due no earlier than: 2026-01-31T09:00, or 2h (ago)."
)
@click.option("--until", type=past, metavar="TIME|AGE", help="Due no later than.")
@click.option("--longer-than", type=duration, metavar="DURATION", help="Only those that ran for longer.")
@click.option(
    "--later-than",
    type=duration,
    metavar="DURATION",
    help="Only those that started later after their due time.",
)
@click.option("--count", type=click.Choice(["exact", "estimate"]), help="Also count those that match.")
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **filters: Any) -> Page[ExecutionView]:
    """List executions, newest first.

    A search that finds little stops after a while and says how far it has looked; --cursor continues it.
    """
    page = client.list_executions(**filters)
    if page.count:
        say(f"{page.count.value:,} in total ({page.count.kind})")
    if page.searched_until:
        say(f"searched back to {absolute(page.searched_until)}")
    return page


@command.command()
@click.argument("execution_id", metavar="ID")
@output_option
@with_client
def get(client: Client, execution_id: str, output: str) -> None:
    """Show the history of an execution: its attempts, what they stored, and its result or error."""
    execution = client.get_execution(execution_id)
    if output != "table":
        return show_item(execution, EXECUTION_FIELDS, output)
    attempts, checkpoint = client.list_attempts(execution_id).items, client.get_checkpoint(execution_id)
    given = client.get_execution_input(execution_id)
    ran_with = "" if given.source == "job" else input_lines(given)
    story = describe_execution(execution, attempts, datetime.now(UTC), ran_with, checkpoint)
    return _echo_with_bold_title(story.splitlines())


@command.command("input")
@click.argument("execution_id", metavar="ID")
@click.option(
    "--attempt", type=click.IntRange(1), metavar="N", help="Of this attempt.  [default: the latest]"
)
@output_option
@with_client
def show_input(client: Client, execution_id: str, attempt: int | None, output: str) -> None:
    """Show what an attempt ran with, also when the job was edited since."""
    given = client.get_execution_input(execution_id, attempt=attempt)
    if output != "table":
        return show_item(given, {}, output)
    return _echo_with_bold_title(input_lines(given).splitlines())


@command.command()
@click.argument("execution_id", metavar="ID")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Only the log of this attempt.")
@click.option("--tail", type=click.IntRange(1, 500), metavar="N", help="Only the last N lines.")
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the execution ends.")
@output_option
@with_client
def logs(
    client: Client, execution_id: str, attempt: int | None, tail: int | None, follow: bool, output: str
) -> None:
    """Show what an execution logged and printed."""
    if follow:
        return _follow_logs(client, execution_id, output, attempt=attempt, tail=tail)
    entries = list(_all_lines(client, execution_id, attempt, tail))
    if output != "table":
        return show_page(Page(entries), {}, output)
    if not entries:
        return say("nothing was logged")
    for number, entry in enumerate(entries):
        click.echo(format_entry(entry, entries[number - 1] if number else None))
    return None


def _all_lines(
    client: Client, execution_id: str, attempt: int | None, tail: int | None
) -> Iterator[LogEntry]:
    cursor: str | None = None
    while True:
        page = client.execution_logs(execution_id, attempt=attempt, tail=tail, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _follow_logs(client: Client, execution_id: str, output: str, **wanted: int | None) -> None:
    """Ctrl-C stops the output, not the execution."""
    previous: LogEntry | None = None
    with suppress(KeyboardInterrupt):
        for item in client.follow_execution_logs(execution_id, **wanted):
            if isinstance(item, AttemptProgress):
                say(format_progress(item))
                continue
            click.echo(format_entry(item, previous) if output == "table" else msgspec.json.encode(item))
            previous = item
        say(summary_line(client.get_execution(execution_id)))


@command.command()
@click.argument("execution_id", metavar="ID")
@prints_page(_ATTEMPT_COLUMNS)
def attempts(client: Client, execution_id: str) -> Page[AttemptView]:
    """List the attempts of an execution."""
    return client.list_attempts(execution_id)


@command.command()
@click.argument("execution_id", metavar="ID")
@output_option
@with_client
def why(client: Client, execution_id: str, output: str) -> None:
    """Explain why an execution does not run, and when it will."""
    reasons = client.explain_execution(execution_id)
    if output != "table":
        return show_item(reasons, {}, output)
    return _echo_with_bold_title(why_lines(reasons))


@command.command()
@click.argument("execution_id", metavar="ID")
@prints_item(EXECUTION_FIELDS)
def cancel(client: Client, execution_id: str) -> ExecutionView:
    """Cancel an execution, even if it is running."""
    return client.cancel_execution(execution_id)


@command.command()
@click.argument("execution_id", metavar="ID")
@click.option(
    "--payload",
    type=_given_json,
    metavar="JSON",
    help="With this payload instead of the job's; @FILE or - reads it from there.",
)
@click.option("--fresh", is_flag=True, help="From the beginning: delete its checkpoint first.")
@prints_item(EXECUTION_FIELDS)
def retry(client: Client, execution_id: str, payload: tuple[Any] | None, fresh: bool) -> ExecutionView:
    """Run a failed or cancelled execution again, with the payload of its job or with another one. It goes on from its
    checkpoint, if it has one."""
    if fresh:
        client.delete_checkpoint(execution_id)
    return client.retry_execution(execution_id, payload=payload[0] if payload else msgspec.UNSET)


@command.command()
@click.argument("execution_id", metavar="ID")
@output_option
@with_client
def checkpoint(client: Client, execution_id: str, output: str) -> None:
    """Show what an execution has stored for its next attempt: steps that are done, and the latest state."""
    stored = client.get_checkpoint(execution_id)
    if output != "table":
        return show_item(stored, {}, output)
    if is_empty(stored):
        return say("nothing was stored")
    return click.echo("\n\n".join(checkpoint_paragraphs(stored, in_full=True)))


@command.command()
@click.argument("execution_id", metavar="ID")
@click.option(
    "--timeout", type=duration, metavar="DURATION", help="Stop waiting after this long, with exit code 124."
)
@output_option
@with_client
def wait(client: Client, execution_id: str, timeout: timedelta | None, output: str) -> None:
    """Wait until an execution ends, print its result, and exit with its outcome."""
    with progress_while_waiting(client, fetch_execution(client, execution_id)):
        ended = client.wait_for_execution(execution_id, seconds(timeout))
    print_outcome_and_exit(ended, output)


def _echo_with_bold_title(lines: list[str]) -> None:
    title, *rest = lines
    click.echo("\n".join([click.style(title, bold=True), *rest]))


def print_outcome_and_exit(execution: ExecutionView, output: str) -> None:
    """Print the result on stdout and the outcome on stderr, and exit with the outcome."""
    if output != "table":
        show_item(execution, EXECUTION_FIELDS, output)
    elif execution.result is not None:
        click.echo(full(as_json(execution.result)))
    took = _took(execution.started_at, execution.finished_at)
    say(f"{execution.id} {execution.status}" + (f" in {took}" if took else ""))
    if execution.status is not ExecutionStatus.COMPLETED:
        say(full(_error(execution) or execution.reason))
        raise click.exceptions.Exit(FAILED)


def seconds(timeout: timedelta | None) -> float | None:
    return None if timeout is None else timeout.total_seconds()


def format_entry(entry: LogEntry, previous: LogEntry | None) -> str:
    """The line, with a heading if the previous entry belongs to another attempt or day."""
    line = f"{_time(entry)}  {_level(entry)}  {_text(entry)}".rstrip()
    return line if previous and _heading(previous) == _heading(entry) else f"{_heading(entry)}\n{line}"


def format_progress(progress: AttemptProgress) -> str:
    return full(f"progress: {progress.fraction:.0%} {progress.message or ''}".rstrip())


def _heading(entry: LogEntry) -> str:
    heading = f"{_RULE} attempt {entry.attempt}, {entry.at.astimezone():%Y-%m-%d} {_RULE}"
    return click.style(heading, bold=True)


def _time(entry: LogEntry) -> str:
    local = entry.at.astimezone()
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def _level(entry: LogEntry) -> str:
    padded = full(entry.level).ljust(_LEVEL_WIDTH)
    return click.style(padded, fg=_COLOURS[entry.level]) if entry.level in _COLOURS else padded


def _text(entry: LogEntry) -> str:
    """Aligns further lines of an entry under the first."""
    margin = "\n" + " " * (_TIME_WIDTH + 2 + _LEVEL_WIDTH + 2)
    return margin.join(full(entry.text).splitlines())
