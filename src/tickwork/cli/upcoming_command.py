"""Show what is due next, over all jobs."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import click

from tickwork.cli.option_types import duration, instant
from tickwork.cli.output import (
    Columns,
    absolute,
    output_option,
    page_options,
    print_json,
    print_table,
    say,
    show_page,
)
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.statistics import GroupBy
from tickwork.model.upcoming import DueTime, DueTimeCount, DueTimeCounts

_BAR = 40  # characters of the highest count
_COLUMNS: Columns[DueTime] = {
    "due": lambda due: due.at,
    "at": lambda due: absolute(due.at),
    "job": lambda due: due.job_id,
    "name": lambda due: due.name,
    "task": lambda due: due.task,
    "queue": lambda due: due.queue,
}


def _future(text: str) -> datetime:
    """A time, or how far ahead."""
    try:
        return datetime.now(UTC) + duration(text)
    except click.BadParameter:
        return instant(text)


@click.command()
@click.option(
    "--from",
    "begin",
    type=_future,
    metavar="TIME|AHEAD",
    help="A time, or 2h (ahead); now by default.",
)
@click.option(
    "--until",
    type=_future,
    metavar="TIME|AHEAD",
    help="A time, or 2h (ahead); a day later by default.",
)
@click.option("--job", metavar="JOB", help="Only of this job.")
@click.option("--task", help="Only of this task.")
@click.option("--queue", help="Only of this queue.")
@click.option("--tag", help="Only of jobs with this tag.")
@click.option(
    "--step", type=duration, metavar="DURATION", help="Count the due times of each step, such as 1h."
)
@click.option("--by", type=click.Choice(get_args(GroupBy)), help="With --step: count each task or queue.")
@click.option(
    "--tz", "timezone", metavar="ZONE", help="With --step: days begin at midnight of this time zone."
)
@page_options
@output_option
@with_client
def command(
    client: Client,
    begin: datetime | None,
    until: datetime | None,
    step: timedelta | None,
    by: GroupBy | None,
    timezone: str | None,
    limit: int | None,
    cursor: str | None,
    output: str,
    **filters: str | None,
) -> None:
    """Show what is due next, over all jobs.

    \b
    tickwork upcoming --until 1h
    tickwork upcoming --until 7d --step 6h
    """
    if step is not None:
        counts = client.count_upcoming(step, begin=begin, until=until, by=by, timezone=timezone, **filters)
        return _show_counts(counts, output)
    if by or timezone:
        raise click.UsageError("--by and --tz go with --step")
    page = client.list_upcoming(begin=begin, until=until, limit=limit, cursor=cursor, **filters)
    show_page(page, _COLUMNS, output)
    return _say_how_far(page.searched_until)


def _show_counts(counts: DueTimeCounts, output: str) -> None:
    if output != "table":
        return print_json(counts.items if output == "jsonl" else [counts], output)
    most = max((each.count for each in counts.items), default=0) or 1
    columns: Columns[DueTimeCount] = {
        "from": lambda each: absolute(each.at),
        "task": lambda each: each.task,
        "queue": lambda each: each.queue,
        "due": lambda each: f"{each.count:,}",
        "": lambda each: "█" * -(-each.count * _BAR // most),
    }
    print_table(counts.items, columns)
    if counts.estimate:
        say("these numbers are estimates")
    return _say_how_far(counts.searched_until)


def _say_how_far(searched_until: datetime | None) -> None:
    if searched_until:
        say(f"complete up to {absolute(searched_until)}")
