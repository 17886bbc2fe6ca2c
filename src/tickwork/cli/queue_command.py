"""Inspect, limit, pause and resume queues."""

from datetime import timedelta
from typing import Any

import click

from tickwork.cli.keep_options import (
    keep_options,
    kept_fields,
    kept_text,
    say_what_one_time_jobs_keep,
)
from tickwork.cli.output import Columns, page_options
from tickwork.cli.print_or_watch_answer import prints_item, prints_list
from tickwork.client.sync_client import Client
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page
from tickwork.model.job import PRIORITIES
from tickwork.model.quantities import format_duration
from tickwork.model.queue import MOST_BACKLOG, QueueSettings, QueueView

_OTHERS = ("priority", "retention")
_LIMITS = tuple(name for name in QueueSettings.__struct_fields__ if name not in _OTHERS)


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
    "max workers": lambda queue: queue.max_workers,
    "priority": lambda queue: None if queue.priority == "normal" else queue.priority,
    "keeps": lambda queue: kept_text(queue.retention),
}


@click.group()
def command() -> None:
    """Inspect, limit, pause and resume queues."""


@command.command("list")
@page_options
@prints_list(QUEUE_COLUMNS)
def list_(client: Client, **page: Any) -> Page[QueueView]:
    """List queues by name, with the number and age of waiting executions."""
    return client.list_queues(**page)


@command.command()
@click.argument("name")
@prints_item(QUEUE_COLUMNS)
def get(client: Client, name: str) -> QueueView:
    """Show a queue."""
    return client.get_queue(name)


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
@click.option(
    "--max-workers",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="At most N workers have executions of it at once.",
)
@click.option("--no-max-workers", is_flag=True, help="Remove this limit.")
@click.option(
    "--priority",
    type=click.Choice(PRIORITIES),
    help="Which queues go first when workers are short, before the priority of jobs.",
)
@keep_options
@click.option("--keep-all", is_flag=True, help="Keep all that the tenant and the installation do.")
@prints_item(QUEUE_COLUMNS)
def set_(client: Client, name: str, **options: Any) -> QueueView:
    """Change some settings of a queue; the others stay as they are.

    You can set them before the first job names the queue.
    """
    queue = client.set_queue(name, **_changed_limits(_current_limits(client, name), options))
    if options["keep_last"] is not None:
        say_what_one_time_jobs_keep(queue.retention)
    return queue


@command.command()
@click.argument("name")
@prints_item(QUEUE_COLUMNS)
def pause(client: Client, name: str) -> QueueView:
    """Pause a queue: nothing more of it starts, running executions go on."""
    return client.pause_queue(name)


@command.command()
@click.argument("name")
@prints_item(QUEUE_COLUMNS)
def resume(client: Client, name: str) -> QueueView:
    """Resume a paused queue."""
    return client.resume_queue(name)


def _current_limits(client: Client, name: str) -> dict[str, Any]:
    try:
        queue = client.get_queue(name)
    except NotFound:
        return dict.fromkeys(_LIMITS) | {"priority": "normal", "retention": None}
    return {setting: getattr(queue, setting) for setting in (*_LIMITS, *_OTHERS)}


def _changed_limits(current: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    changed = dict(current)
    for limit in _LIMITS:
        removed = options[f"no_{limit}"]
        if removed and options[limit] is not None:
            flag = limit.replace("_", "-")
            raise click.UsageError(f"give --{flag} or --no-{flag}, not both")
        if removed or options[limit] is not None:
            changed[limit] = options[limit]
    kept = kept_fields(dict(options))
    if kept and options["keep_all"]:
        raise click.UsageError("give --keep-for and --keep-last, or --keep-all, not both")
    if kept or options["keep_all"]:
        changed["retention"] = kept or None
    return changed | ({"priority": options["priority"]} if options["priority"] else {})
