"""The options that say how much history is kept, and how that is shown."""

from collections.abc import Callable, MutableMapping
from datetime import timedelta
from typing import Any, TypeVar

import click

from tickwork.cli.output import say
from tickwork.model.quantities import format_duration
from tickwork.model.retention import MOST_KEPT, RetentionView, TenantRetention

Command = TypeVar("Command", bound=Callable[..., Any])

KEEP_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--keep-for", metavar="DURATION", help="Keep executions for so long after their end, such as 7d."
    ),
    click.option(
        "--keep-last",
        type=click.IntRange(1, MOST_KEPT),
        metavar="N",
        help="Keep the N latest executions of a recurring job that have ended. A one-time job has one.",
    ),
)


def keep_options(command: Command) -> Command:
    for option in reversed(KEEP_OPTIONS):
        command = option(command)
    return command


def kept_fields(options: MutableMapping[str, Any]) -> dict[str, Any]:
    """Takes the options that were given out of all, as a retention. Empty: none was."""
    given = {"age": options.pop("keep_for", None), "last": options.pop("keep_last", None)}
    return {name: value for name, value in given.items() if value is not None}


def say_what_one_time_jobs_keep(retention: RetentionView | TenantRetention | None) -> None:
    """If they are likely to surprise: a number of executions says nothing for a job that has one."""
    if retention and retention.last is not None and retention.age is None:
        say(
            "one-time jobs keep all of their history: --keep-last is for recurring jobs, --keep-for is for both"
        )


def kept_text(retention: RetentionView | TenantRetention | None) -> str | None:
    if retention is None or (retention.age is None and retention.last is None):
        return None
    age = None if retention.age is None else format_duration(timedelta(seconds=retention.age))
    last = None if retention.last is None else f"the last {retention.last}"
    return ", at most ".join(text for text in (age, last) if text)
