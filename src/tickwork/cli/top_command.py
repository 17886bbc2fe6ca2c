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
from tickwork.cli.execution_story import lasted
from tickwork.cli.find_server import with_client
from tickwork.cli.output import Columns, Item, table_lines
from tickwork.cli.queue_command import QUEUE_COLUMNS
from tickwork.cli.refreshing_list import one_line_each
from tickwork.cli.status_command import Activity, Picture, is_busy, look, look_at_activity, waiting
from tickwork.client.sync_client import Client
from tickwork.model.errors import TickworkError
from tickwork.model.execution import ExecutionView
from tickwork.model.worker import WorkerView

_EVERY = 2.0
_KEY_WITHIN = 0.1  # seconds between looks for a key, and at the size of the terminal
_SHARE = 4  # queues and workers get 1/4 of the screen each, running executions the rest

_RUNNING: Columns[ExecutionView] = {
    "running": lambda execution: execution.id,
    "task": lambda execution: execution.task,
    "for": lambda execution: _ran_for(execution, datetime.now(UTC)),
    "attempt": lambda execution: f"{execution.attempt}/{execution.max_attempts}",
    "worker": lambda execution: execution.worker,
    "progress": progress_of,
}
_WORKERS: Columns[WorkerView] = {
    "worker": lambda worker: worker.id,
    "name": lambda worker: worker.name,
    "status": lambda worker: worker.status,
    "holds": lambda worker: f"{worker.holding}/{worker.slots}",
    "seen": lambda worker: worker.heartbeat_at,
}


def _ran_for(execution: ExecutionView, now: datetime) -> str | None:
    return lasted(now - execution.started_at) if execution.started_at else None


class _Seen(NamedTuple):
    picture: Picture
    activity: Activity


class _Watcher:
    """Queries the server in its own thread, so that a server that hangs does not block the keyboard."""

    def __init__(self, client: Client, every: float) -> None:
        self.seen: _Seen | None = None
        self.error: str | None = None
        self.over = Event()
        self._client = client
        self._every = every
        Thread(target=self._watch, name="tickwork top", daemon=True).start()

    def _watch(self) -> None:
        while not self.over.is_set():
            now = datetime.now(UTC)
            try:
                self.seen = _Seen(look(self._client, now), look_at_activity(self._client, now))
                self.error = None
            except TickworkError as error:
                self.error = str(error)
            self.over.wait(self._every)


@click.command()
@click.option(
    "--every", type=click.FloatRange(0.2, 3600), default=_EVERY, show_default=True, metavar="SECONDS"
)
@with_client
def command(client: Client, every: float) -> None:
    """Show the state of the system live, on the full screen.

    Shows running executions, the completion rate, queues and workers. Press q to quit.
    """
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise click.UsageError("this needs a terminal; use `tickwork status` instead")
    console, watcher = Console(), _Watcher(client, every)
    with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while pressed() not in ("q", "Q", "\x1b"):
                live.update(draw(watcher.seen, watcher.error, console.size.height), refresh=True)
                sleep(_KEY_WITHIN)
        except KeyboardInterrupt:
            pass
    watcher.over.set()


def draw(seen: _Seen | None, error: str | None, height: int) -> Text:
    if seen is None:
        return one_line_each([error or "asking…"])
    share = max(height // _SHARE, 3)
    head = [*_head(seen), *([error] if error else []), ""]
    lower = [
        *_section([queue for queue in seen.picture.queues if is_busy(queue)], QUEUE_COLUMNS, share),
        *_section(seen.picture.workers, _WORKERS, share),
    ]
    upper = _section(seen.activity.running, _RUNNING, max(height - len(head) - len(lower) - 1, 3))
    lines = [*head, *(upper or ["nothing runs", ""]), *lower]
    return one_line_each([*lines[: height - 1], click.style("q quits", dim=True)])


def _head(seen: _Seen) -> Iterator[str]:
    picture, activity = seen
    local = picture.at.astimezone()
    pace = f"{activity.per_second:,.1f} executions/s end, {activity.failed} failed lately"
    yield click.style(f"tickwork {local:%H:%M:%S}", bold=True) + f"  {pace}"
    yield "  ".join(
        (
            f"running: {picture.running}",
            f"waiting: {waiting(picture)}",
            f"workers: {len(picture.workers)}",
            f"slots: {picture.slots_used}/{picture.slots}",
            f"dead letters in 24 h: {picture.dead_letters}",
        )
    )
    yield from (click.style(problem, fg="yellow") for problem in picture.problems[:2])


def _section(items: Sequence[Item], columns: Columns[Item], most: int) -> list[str]:
    """A table with a maximum number of lines, and an empty line."""
    if not items:
        return []
    lines = table_lines(items, columns)
    left = len(lines) - (most - 1)
    shown = lines if left <= 0 else [*lines[: most - 2], f"… and {left + 1} more"]
    return [*shown, ""]


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
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
        yield _key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key() -> str:
    import os
    from select import select

    ready, _, _ = select([sys.stdin], [], [], 0)
    return os.read(sys.stdin.fileno(), 1).decode(errors="ignore") if ready else ""
