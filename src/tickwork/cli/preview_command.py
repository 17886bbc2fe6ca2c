"""Show what a schedule means and when it is due."""

from datetime import UTC, datetime
from typing import Any

import click

from tickwork.cli.option_types import instant
from tickwork.cli.output import Columns, as_json, output_option, print_table, say, show_item
from tickwork.model.parsed_schedule_and_preview import Preview
from tickwork.schedule.preview import preview

TIME_COLUMNS: Columns[Any] = {
    "due": lambda time: time.at,
    "local time": lambda time: time.local,
    "your time": lambda time: time.viewer,
    "note": lambda time: time.note,
}
_FIELDS: Columns[Preview] = {
    "means": lambda found: found.words,
    "schedule": lambda found: as_json(found.canonical),
}


@click.command()
@click.argument("schedule")
@click.option("--tz", "timezone", metavar="ZONE", help="Time zone of the schedule, such as Europe/Paris.")
@click.option("--viewer-tz", "viewer_timezone", metavar="ZONE", help="Also show the times in this time zone.")
@click.option("--after", type=instant, metavar="TIME", help="Start at this time instead of now.")
@click.option("-n", "--count", type=click.IntRange(1, 100), default=5, show_default=True)
@output_option
def command(schedule: str, timezone: str | None, output: str, **options: Any) -> None:
    """Show what a schedule means and when it is due.

    This needs no server.

    \b
    tickwork preview "every weekday at 9am" --tz Europe/Paris
    tickwork preview "0 9 * * MON"
    """
    found = preview(schedule, timezone, now=datetime.now(UTC), **options)
    show_item(found, _FIELDS, output)
    if output == "table":
        print_table(found.times, TIME_COLUMNS)
        for warning in found.warnings:
            say(f"warning: {warning}")
