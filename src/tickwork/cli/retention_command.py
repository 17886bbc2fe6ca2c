"""Show and set how much history the jobs of your tenant keep."""

from typing import Any

import click

from tickwork.cli.keep_options import (
    keep_options,
    kept_fields,
    kept_text,
    say_what_one_time_jobs_keep,
)
from tickwork.cli.output import Columns
from tickwork.cli.print_or_watch_answer import prints_item
from tickwork.client.sync_client import Client
from tickwork.model.retention import TenantRetention

_COLUMNS: Columns[TenantRetention] = {
    "keeps": lambda retention: kept_text(retention) or "all",
    "history": lambda retention: f"{retention.history_days} days at most",
}


@click.group()
def command() -> None:
    """Show and set how much history the jobs of your tenant keep."""


@command.command()
@prints_item(_COLUMNS)
def get(client: Client) -> TenantRetention:
    """Show how much is kept of jobs that say nothing themselves, and whose queues say nothing."""
    return client.get_retention()


@command.command("set")
@keep_options
@click.option("--keep-all", is_flag=True, help="Keep all that the installation does.")
@prints_item(_COLUMNS)
def set_(client: Client, keep_all: bool, **options: Any) -> TenantRetention:
    """Set how much is kept. What is beyond is deleted soon, for good."""
    kept = kept_fields(options)
    if keep_all == bool(kept):
        raise click.UsageError("give --keep-for, --keep-last or both; or --keep-all")
    retention = client.set_retention(**kept)
    say_what_one_time_jobs_keep(retention)
    return retention
