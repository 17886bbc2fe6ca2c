"""Show what happened, or follow what happens."""

from contextlib import suppress
from typing import Any

import click
import msgspec

from tickwork.cli.output import full, output_option
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.stream_event import EventKind, StreamEvent

_COLOURS = {
    **dict.fromkeys(("failed", "lost", "missed", "opened", "blocked"), "red"),
    **dict.fromkeys(("retrying", "late", "slow", "skipped", "endangered"), "yellow"),
    **dict.fromkeys(("recovered", "closed"), "green"),
}
_KIND_WIDTH = max(map(len, EventKind))


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on showing events as they happen, until Ctrl-C.")
@click.option("--kind", help="Only these kinds, separated by commas: execution.failed,breaker.*")
@click.option("--job", metavar="ID", help="Only events of this job, or of key:NAME.")
@click.option("--task", help="Only events of this task.")
@click.option("--queue", help="Only events of this queue.")
@click.option("--tag", help="Only events of jobs with this tag.")
@click.option(
    "--after", type=click.IntRange(min=0), help="With --follow: begin after the event with this id."
)
@click.option(
    "--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many past events."
)
@output_option
@with_client
def command(
    client: Client, follow: bool, after: int | None, limit: int, output: str, **wanted: str | None
) -> None:
    """Show what happened, or follow what happens.

    Events are failures, recoveries, skipped and late executions, changes of jobs, queues and keys, and lost workers.
    They are kept as long as the history. To see every start and end, too, follow these kinds:
    --kind execution.started,execution.completed
    """
    filters: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if after is None:
        for event in reversed(client.list_events(**filters, limit=limit).items):
            _print(event, output)
    else:
        filters["after"] = after
    if follow or after is not None:
        with suppress(KeyboardInterrupt):
            for event in client.follow_events(**filters):
                _print(event, output)


def _print(event: StreamEvent, output: str) -> None:
    click.echo(_line(event) if output == "table" else msgspec.json.encode(event))


def _line(event: StreamEvent) -> str:
    kind = event.kind.ljust(_KIND_WIDTH)
    colour = _COLOURS.get(event.kind.partition(".")[2])
    time = f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}"
    return f"{time}  {click.style(kind, fg=colour) if colour else kind}  {full(_details(event))}".rstrip()


def _details(event: StreamEvent) -> str:
    subject = event.execution_id or event.job_id
    name = event.job_name or event.job_key or event.task
    details = ", ".join(f"{key}: {value}" for key, value in event.detail.items() if value is not None)
    return "  ".join(part for part in (subject, name, event.error_type, details) if part)
