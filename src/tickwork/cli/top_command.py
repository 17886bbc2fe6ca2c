"""Show the state of the system live, on the full screen."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread
from time import sleep
from typing import NamedTuple

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from tickwork.cli.execution_command import progress_of
from tickwork.cli.format_elapsed import format_elapsed
from tickwork.cli.output import Columns, Item, table_lines
from tickwork.cli.print_or_watch_answer import unwrapped
from tickwork.cli.queue_command import QUEUE_COLUMNS
from tickwork.cli.settings_and_client import with_client
from tickwork.cli.status_command import (
    Activity,
    SystemStatus,
    fetch_activity,
    fetch_status,
    is_busy,
    waiting_text,
)
from tickwork.client.sync_client import Client
from tickwork.model.errors import TickworkError
from tickwork.model.execution import ExecutionView
from tickwork.model.worker import WorkerView

_INTERVAL_DEFAULT = 2.0
_POLL_INTERVAL = 0.1  # seconds between checks for a key and for the size of the terminal
_SCREEN_SHARES = 4  # queues and workers get 1/4 of the screen each, running executions the rest

_RUNNING_COLUMNS: Columns[ExecutionView] = {
    "running": lambda execution: execution.id,
    "task": lambda execution: execution.task,
    "for": lambda execution: _ran_for(execution, datetime.now(UTC)),
    "attempt": lambda execution: f"{execution.attempt}/{execution.max_attempts}",
    "worker": lambda execution: execution.worker,
    "progress": progress_of,
}
_WORKER_COLUMNS: Columns[WorkerView] = {
    "worker": lambda worker: worker.id,
    "name": lambda worker: worker.name,
    "status": lambda worker: worker.status,
    "holds": lambda worker: f"{worker.holding}/{worker.slots}",
    "seen": lambda worker: worker.heartbeat_at,
}


def _ran_for(execution: ExecutionView, now: datetime) -> str | None:
    return format_elapsed(now - execution.started_at) if execution.started_at else None


class _Snapshot(NamedTuple):
    status: SystemStatus
    activity: Activity


class _StatusPoller:
    """Queries the server in a thread of its own, so that a server that hangs does not block the keyboard."""

    def __init__(self, client: Client, interval: float) -> None:
        self.latest: _Snapshot | None = None
        self.error: str | None = None
        self.stopped = Event()
        self._client = client
        self._interval = interval
        Thread(target=self._poll, name="tickwork top", daemon=True).start()

    def _poll(self) -> None:
        while not self.stopped.is_set():
            now = datetime.now(UTC)
            try:
                self.latest = _Snapshot(fetch_status(self._client, now), fetch_activity(self._client, now))
                self.error = None
            except TickworkError as error:
                self.error = str(error)
            self.stopped.wait(self._interval)


@click.command()
@click.option(
    "--every",
    type=click.FloatRange(0.2, 3600),
    default=_INTERVAL_DEFAULT,
    show_default=True,
    metavar="SECONDS",
)
@with_client
def command(client: Client, every: float) -> None:
    """Show the state of the system live, on the full screen.

    Shows running executions, the completion rate, queues and workers. Press q to quit.
    """
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise click.UsageError("this needs a terminal; use `tickwork status` instead")
    console, poller = Console(), _StatusPoller(client, every)
    with _raw_keyboard() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while pressed() not in ("q", "Q", "\x1b"):
                live.update(draw(poller.latest, poller.error, console.size.height), refresh=True)
                sleep(_POLL_INTERVAL)
        except KeyboardInterrupt:
            pass
    poller.stopped.set()


def draw(snapshot: _Snapshot | None, error: str | None, height: int) -> Text:
    if snapshot is None:
        return unwrapped([error or "loading…"])
    share = max(height // _SCREEN_SHARES, 3)
    header = [*_header(snapshot), *([error] if error else []), ""]
    lower = [
        *_section([queue for queue in snapshot.status.queues if is_busy(queue)], QUEUE_COLUMNS, share),
        *_section(snapshot.status.workers, _WORKER_COLUMNS, share),
    ]
    upper = _section(
        snapshot.activity.running, _RUNNING_COLUMNS, max(height - len(header) - len(lower) - 1, 3)
    )
    lines = [*header, *(upper or ["nothing runs", ""]), *lower]
    return unwrapped([*lines[: height - 1], click.style("q quits", dim=True)])


def _header(snapshot: _Snapshot) -> Iterator[str]:
    status, activity = snapshot
    local = status.at.astimezone()
    rate = f"{activity.per_second:,.1f} executions/s end, {activity.failed} failed recently"
    yield click.style(f"tickwork {local:%H:%M:%S}", bold=True) + f"  {rate}"
    yield "  ".join(
        (
            f"running: {status.running}",
            f"waiting: {waiting_text(status)}",
            f"workers: {len(status.workers)}",
            f"slots: {status.slots_used}/{status.slots}",
            f"dead letters in 24 h: {status.dead_letters}",
        )
    )
    yield from (click.style(problem, fg="yellow") for problem in status.problems[:2])


def _section(items: Sequence[Item], columns: Columns[Item], max_lines: int) -> list[str]:
    """A table with a maximum number of lines, and an empty line."""
    if not items:
        return []
    lines = table_lines(items, columns)
    left = len(lines) - (max_lines - 1)
    shown = lines if left <= 0 else [*lines[: max_lines - 2], f"… and {left + 1} more"]
    return [*shown, ""]


@contextmanager
def _raw_keyboard() -> Iterator[Callable[[], str]]:
    """Reads single keys without Enter, if the terminal supports it."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: Ctrl-C ends it
        yield lambda: ""
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield _read_key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _read_key() -> str:
    import os
    from select import select

    ready, _, _ = select([sys.stdin], [], [], 0)
    return os.read(sys.stdin.fileno(), 1).decode(errors="ignore") if ready else ""
