"""What `--wait` shows on a terminal, and `execution why`: the progress, or why the execution does not run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tickwork.cli.output import brief, full
from tickwork.client.sync_client import Client
from tickwork.model.errors import TickworkError
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.why_waiting import Cause, Why

_FIRST_REFRESH, _REFRESH_INTERVAL = 0.3, 0.5  # seconds; nothing is shown for executions that end sooner
_EXPLAIN_AFTER = 2.0  # seconds of waiting, after which the reason is shown
_BAR_WIDTH = 30

Fetch = Callable[[], ExecutionView | None]


@contextmanager
def progress_while_waiting(client: Client, fetch: Fetch) -> Iterator[None]:
    """Show one line on stderr, if that is a terminal, while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    ended = Event()
    display = Thread(target=_refresh, args=(client, fetch, ended), name="tickwork wait", daemon=True)
    display.start()
    try:
        yield
    finally:
        ended.set()
        display.join()


def fetch_execution(client: Client, execution_id: str) -> Fetch:
    return lambda: client.get_execution(execution_id)


def fetch_latest_execution(client: Client, job_id: str) -> Fetch:
    return lambda: next(iter(client.list_executions(job=job_id, limit=1).items), None)


def _refresh(client: Client, fetch: Fetch, ended: Event) -> None:
    began = monotonic()
    if ended.wait(_FIRST_REFRESH):
        return
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        while not ended.is_set():
            with suppress(TickworkError):  # the waiting command reports an error that persists
                line = _line(client, fetch(), monotonic() - began)
                if not ended.is_set():
                    live.update(line, refresh=True)
            ended.wait(_REFRESH_INTERVAL)


def _line(client: Client, execution: ExecutionView | None, waited: float) -> RenderableType:
    if execution is None:
        return _timed_text("waits for its first execution", waited)
    if execution.status is ExecutionStatus.RUNNING and execution.progress:
        return _progress_bar(execution)
    if execution.status is ExecutionStatus.RUNNING:
        since = execution.started_at
        ran = max((datetime.now(UTC) - since).total_seconds(), 0.0) if since else waited
        return _timed_text(f"{execution.task} is running", ran)
    if waited < _EXPLAIN_AFTER:
        return _timed_text(f"{execution.task} waits", waited)
    return _timed_text(client.explain_execution(execution.id).summary, waited)


def _progress_bar(execution: ExecutionView) -> Table:
    progress = execution.progress
    assert progress  # noqa: S101 (for the type checker)
    line = Table.grid(padding=(0, 1))
    line.add_row(
        ProgressBar(total=1.0, completed=progress.fraction, width=_BAR_WIDTH),
        Text(f"{progress.fraction:.0%}"),
        Text(brief(progress.message or execution.task), no_wrap=True, overflow="ellipsis"),
    )
    return line


def _timed_text(text: str, seconds: float) -> Text:
    return Text(f"{brief(text)} ({seconds:.0f}s)", no_wrap=True, overflow="ellipsis", style="dim")


def why_lines(reasons: Why) -> list[str]:
    """The summary, the expected start, and each cause with its executions and workers."""
    return [full(reasons.summary), *_expected_start(reasons), *_causes(reasons.causes)]


def _expected_start(reasons: Why) -> Iterator[str]:
    if reasons.expected_start:
        yield f"It starts {full(reasons.expected_start)} if nothing else intervenes."
    elif reasons.status is ExecutionStatus.PENDING:
        yield f"It starts {reasons.expected_start_reason}."


def _causes(causes: list[Cause]) -> Iterator[str]:
    """Leaves out a single cause, because the summary names it."""
    if len(causes) == 1:
        yield from _executions_and_workers(causes[0])
        return
    width = max((len(cause.kind) for cause in causes), default=0)
    for cause in causes:
        yield f"{cause.kind.ljust(width)}  {full(cause.message)}"
        yield from (f"{'':{width}}  {line}" for line in _executions_and_workers(cause))


def _executions_and_workers(cause: Cause) -> Iterator[str]:
    if cause.executions:
        yield f"executions: {', '.join(cause.executions)}"
    if cause.workers:
        yield f"workers: {', '.join(cause.workers)}"
