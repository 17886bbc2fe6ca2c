"""Inspect, limit, pause and resume queues."""

from datetime import timedelta
from typing import Any

import click

from tickwork.cli.find_server import with_client
from tickwork.cli.output import Columns, output_option, page_options, show_item
from tickwork.cli.refreshing_list import show_list, watch_option
from tickwork.client.sync_client import Client
from tickwork.model.errors import NotFound
from tickwork.model.quantities import format_duration
from tickwork.model.queue import MOST_BACKLOG, QueueSettings, QueueView

_LIMITS = QueueSettings.__struct_fields__


def _depth(queue: QueueView) -> str:
    return f"{queue.depth}" if queue.depth_is_exact else f"{queue.depth}+"


def _by_priority(queue: QueueView) -> str | None:
    waiting = [f"{count} {priority}" for priority, count in queue.depth_by_priority.items() if count]
    return ", ".join(waiting) if len(waiting) > 1 else None


def _oldest(queue: QueueView) -> str | None:
    if queue.oldest_age is None:
        return None
    return format_duration(timedelta(seconds=round(queue.oldest_age)))


QUEUE_COLUMNS: Columns[QueueView] = {
    "queue": lambda queue: queue.name,
    "state": lambda queue: "paused" if queue.paused else "active",
    "waiting": _depth,
    "by priority": _by_priority,
    "oldest": _oldest,
    "running": lambda queue: queue.running,
    "max running": lambda queue: queue.max_running,
    "rate": lambda queue: queue.rate,
    "max backlog": lambda queue: queue.max_backlog,
}


@click.group()
def command() -> None:
    """Inspect, limit, pause and resume queues."""


@command.command("list")
@page_options
@watch_option
@output_option
@with_client
def list_(client: Client, output: str, watch: float | None, **page: Any) -> None:
    """List queues by name, with the number and age of waiting executions."""
    show_list(lambda: client.list_queues(**page), QUEUE_COLUMNS, output, watch)


@command.command()
@click.argument("name")
@output_option
@with_client
def get(client: Client, name: str, output: str) -> None:
    """Show a queue."""
    show_item(client.get_queue(name), QUEUE_COLUMNS, output)


@command.command("set")
@click.argument("name")
@click.option("--max-running", type=click.IntRange(1, 1_000_000), metavar="N", help="At most N run at once.")
@click.option("--no-max-running", is_flag=True, help="Remove this limit.")
@click.option("--rate", metavar="N/TIME", help="At most N start in a period: 10/s, 100/1m, 500/1h.")
@click.option("--no-rate", is_flag=True, help="Remove this limit.")
@click.option(
    "--max-backlog",
    type=click.IntRange(1, MOST_BACKLOG),
    metavar="N",
    help="Reject new executions while N are waiting.",
)
@click.option("--no-max-backlog", is_flag=True, help="Remove this limit.")
@output_option
@with_client
def set_(client: Client, name: str, output: str, **options: Any) -> None:
    """Change some limits of a queue; the others stay as they are.

    You can set limits before the first job names the queue.
    """
    show_item(client.set_queue(name, **_limits(_present(client, name), options)), QUEUE_COLUMNS, output)


@command.command()
@click.argument("name")
@output_option
@with_client
def pause(client: Client, name: str, output: str) -> None:
    """Pause a queue: nothing more of it starts, running executions go on."""
    show_item(client.pause_queue(name), QUEUE_COLUMNS, output)


@command.command()
@click.argument("name")
@output_option
@with_client
def resume(client: Client, name: str, output: str) -> None:
    """Resume a paused queue."""
    show_item(client.resume_queue(name), QUEUE_COLUMNS, output)


def _present(client: Client, name: str) -> dict[str, Any]:
    try:
        queue = client.get_queue(name)
    except NotFound:
        return dict.fromkeys(_LIMITS)
    return {limit: getattr(queue, limit) for limit in _LIMITS}


def _limits(present: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    for limit in _LIMITS:
        removed = options[f"no_{limit}"]
        if removed and options[limit] is not None:
            flag = limit.replace("_", "-")
            raise click.UsageError(f"give --{flag} or --no-{flag}, not both")
        if removed or options[limit] is not None:
            present = {**present, limit: options[limit]}
    return present
