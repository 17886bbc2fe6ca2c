"""`tickwork job backfill`, `backfills` and `cancel-backfill`: run a job for due times in the past."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, get_args

import click

from tickwork.cli.execution_command import seconds
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.option_types import duration, past
from tickwork.cli.output import Columns, output_option, page_options, say, show_item
from tickwork.cli.print_or_watch_answer import prints_item, prints_page
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.backfill import BackfillPlan, BackfillStatus, BackfillView, Order, Policy
from tickwork.model.field_types import Page

_COLUMNS: Columns[BackfillView] = {
    "id": lambda backfill: backfill.id,
    "status": lambda backfill: backfill.status,
    "from": lambda backfill: backfill.from_,
    "to": lambda backfill: backfill.to,
    "made": lambda backfill: f"{backfill.made}/{backfill.total}",
    "active": lambda backfill: backfill.active,
    "completed": lambda backfill: backfill.completed,
    "failed": lambda backfill: backfill.failed,
}
_FIELDS: Columns[BackfillView] = {
    "id": lambda backfill: backfill.id,
    "job": lambda backfill: backfill.job_id,
    "status": lambda backfill: backfill.status,
    "from": lambda backfill: backfill.from_,
    "to": lambda backfill: backfill.to,
    "order": lambda backfill: f"{backfill.order} first",
    "policy": lambda backfill: backfill.policy,
    "at once": lambda backfill: backfill.max_active,
    "made": lambda backfill: f"{backfill.made} of {backfill.total}",
    "active": lambda backfill: backfill.active,
    "completed": lambda backfill: backfill.completed,
    "failed": lambda backfill: backfill.failed,
    "created": lambda backfill: backfill.created_at,
    "ended": lambda backfill: backfill.ended_at,
}
_PLAN_FIELDS: Columns[BackfillPlan] = {
    "would run": lambda plan: plan.total,
    "first": lambda plan: plan.first,
    "last": lambda plan: plan.last,
}


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "--from",
    "from_",
    type=past,
    required=True,
    metavar="TIME|AGE",
    help="The first due time: 2026-01-31T09:00, or 7d (ago).",
)
@click.option("--to", type=past, required=True, metavar="TIME|AGE", help="The last due time.")
@click.option(
    "--order", type=click.Choice(get_args(Order)), default="oldest", help="Which due times to run first."
)
@click.option(
    "--max-active",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How many to run at once.",
)
@click.option(
    "--policy",
    type=click.Choice(get_args(Policy)),
    default="missing",
    show_default=True,
    help="Run only due times without an execution, or also those that failed or were skipped.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would run.")
@click.option("--wait", is_flag=True, help="Wait until the backfill ends, with a progress bar.")
@click.option(
    "--wait-timeout",
    type=duration,
    metavar="DURATION",
    help="Stop waiting after this long, with exit code 124.",
)
@output_option
@with_client
def backfill(
    client: Client,
    job_id: str,
    from_: datetime,
    to: datetime,
    dry_run: bool,
    wait: bool,
    wait_timeout: timedelta | None,
    output: str,
    **options: Any,
) -> None:
    """Run a job for due times in the past.

    \b
    tickwork job backfill j2 --from 2026-01-01T00:00Z --to 2026-02-01T00:00Z --dry-run
    tickwork job backfill j2 --from 7d --to 1h --max-active 5 --wait
    """
    if dry_run:
        plan = client.plan_backfill(job_id, from_, to, policy=options["policy"])
        return show_item(plan, _PLAN_FIELDS, output)
    started = client.backfill_job(job_id, from_, to, **options)
    if not wait:
        return show_item(started, _FIELDS, output)
    with _progress_bar(started) as update:
        ended = client.wait_for_backfill(started.id, seconds(wait_timeout), update)
    return _print_outcome_and_exit(ended, output)


@click.command()
@click.argument("job_id", metavar="JOB")
@page_options
@prints_page(_COLUMNS)
def backfills(client: Client, job_id: str, **page: Any) -> Page[BackfillView]:
    """List the backfills of a job, newest first."""
    return client.list_backfills(job_id, **page)


@click.command()
@click.argument("backfill_id", metavar="ID")
@prints_item(_FIELDS)
def cancel_backfill(client: Client, backfill_id: str) -> BackfillView:
    """Cancel a backfill: nothing more of it starts, running executions go on."""
    return client.cancel_backfill(backfill_id)


@contextmanager
def _progress_bar(started: BackfillView) -> Iterator[Callable[[BackfillView], None]]:
    """Shown on stderr, if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(started.id, total=started.total)

        def update(backfill: BackfillView) -> None:
            bar.update(task, completed=backfill.made - backfill.active)

        yield update


def _print_outcome_and_exit(ended: BackfillView, output: str) -> None:
    """Print the backfill on stdout if --output asks for it, the summary on stderr, and exit with the outcome."""
    if output != "table":
        show_item(ended, _FIELDS, output)
    say(f"{ended.id} {ended.status}: {ended.completed} of {ended.total} completed, {ended.failed} failed")
    if ended.failed or ended.status is not BackfillStatus.COMPLETED:
        raise click.exceptions.Exit(FAILED)
