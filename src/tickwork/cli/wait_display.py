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

_FIRST_LOOK, _BETWEEN_LOOKS = 0.3, 0.5  # seconds; nothing is shown for executions that end sooner
_PATIENCE = 2.0  # seconds of waiting, after which the reason is shown
_BAR = 30

Find = Callable[[], ExecutionView | None]


@contextmanager
def shown_while_waiting(client: Client, find: Find) -> Iterator[None]:
    """Show one line on stderr, if that is a terminal, while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    over = Event()
    watcher = Thread(target=_watch, args=(client, find, over), name="tickwork wait", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def the_execution(client: Client, execution_id: str) -> Find:
    return lambda: client.get_execution(execution_id)


def newest_of_job(client: Client, job_id: str) -> Find:
    return lambda: next(iter(client.list_executions(job=job_id, limit=1).items), None)


def _watch(client: Client, find: Find, over: Event) -> None:
    began = monotonic()
    if over.wait(_FIRST_LOOK):
        return
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        while not over.is_set():
            with suppress(TickworkError):  # the waiting command reports it if it lasts
                line = _line(client, find(), monotonic() - began)
                if not over.is_set():
                    live.update(line, refresh=True)
            over.wait(_BETWEEN_LOOKS)


def _line(client: Client, execution: ExecutionView | None, waited: float) -> RenderableType:
    if execution is None:
        return _words("waits for its first execution", waited)
    if execution.status is ExecutionStatus.RUNNING and execution.progress:
        return _bar(execution)
    if execution.status is ExecutionStatus.RUNNING:
        since = execution.started_at
        ran = max((datetime.now(UTC) - since).total_seconds(), 0.0) if since else waited
        return _words(f"{execution.task} is running", ran)
    if waited < _PATIENCE:
        return _words(f"{execution.task} waits", waited)
    return _words(client.explain_execution(execution.id).summary, waited)


def _bar(execution: ExecutionView) -> Table:
    progress = execution.progress
    assert progress  # noqa: S101 (for the type checker)
    line = Table.grid(padding=(0, 1))
    line.add_row(
        ProgressBar(total=1.0, completed=progress.fraction, width=_BAR),
        Text(f"{progress.fraction:.0%}"),
        Text(brief(progress.message or execution.task), no_wrap=True, overflow="ellipsis"),
    )
    return line


def _words(text: str, seconds: float) -> Text:
    return Text(f"{brief(text)} ({seconds:.0f}s)", no_wrap=True, overflow="ellipsis", style="dim")


def tell_why(reasons: Why) -> list[str]:
    """The summary, then when it starts, then each cause with what it names."""
    return [full(reasons.summary), *_start(reasons), *_causes(reasons.causes)]


def _start(reasons: Why) -> Iterator[str]:
    if reasons.expected_start:
        yield f"It starts {full(reasons.expected_start)} if nothing else intervenes."
    elif reasons.status is ExecutionStatus.PENDING:
        yield f"It starts {reasons.expected_start_reason}."


def _causes(causes: list[Cause]) -> Iterator[str]:
    """Leaves out a single cause, because the summary names it."""
    if len(causes) == 1:
        yield from _named(causes[0])
        return
    width = max((len(cause.kind) for cause in causes), default=0)
    for cause in causes:
        yield f"{cause.kind.ljust(width)}  {full(cause.message)}"
        yield from (f"{'':{width}}  {line}" for line in _named(cause))


def _named(cause: Cause) -> Iterator[str]:
    if cause.executions:
        yield f"executions: {', '.join(cause.executions)}"
    if cause.workers:
        yield f"workers: {', '.join(cause.workers)}"
