"""The options that say what a job is, and the fields of a job request they stand for."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from tickwork.cli import terms
from tickwork.cli.value import dependency, header, json_value
from tickwork.model.job import PRIORITIES, HttpTarget, OnWorkerLost, Overlap

Command = TypeVar("Command", bound=Callable[..., Any])

_METHODS = get_args(HttpTarget.__annotations__["method"])
_OPTIONS = (
    click.option("--name", help="A name for people."),
    click.option("--task", help="The task to run, as a worker offers it."),
    click.option("--http", "http_url", metavar="URL", help="Call this address instead of running a task."),
    click.option("--method", type=click.Choice(_METHODS, case_sensitive=False), help="Of the HTTP call."),
    click.option(
        "--header", "headers", type=header, multiple=True, metavar="'NAME: VALUE'", help="Of the HTTP call."
    ),
    click.option(
        "--payload", type=json_value, metavar="JSON|@FILE|-", help="What the task or the target is given."
    ),
    click.option("--schedule", help="When: '0 9 * * MON', 'every 5m', 'in 10m', a time. Without: now."),
    click.option("--tz", "timezone", metavar="ZONE", help="Time zone of the schedule, such as Europe/Paris."),
    click.option("--queue", help="The lane to wait in."),
    click.option("--priority", type=click.Choice(PRIORITIES)),
    click.option("--retries", type=click.IntRange(0, 99), help="How often to try again after a failure."),
    click.option(
        "--retry-on", "only_on", multiple=True, metavar="ERROR", help="Only after these, such as Http5xx."
    ),
    click.option("--never-retry-on", "never_on", multiple=True, metavar="ERROR", help="Never after these."),
    click.option("--timeout", metavar="DURATION", help="How long one attempt may take, such as 5m."),
    click.option("--on-worker-lost", type=click.Choice(get_args(OnWorkerLost))),
    click.option("--overlap", type=click.Choice(get_args(Overlap)), help="When the last one still runs."),
    *terms.OPTIONS,
    click.option(
        "--depends-on",
        type=dependency,
        multiple=True,
        metavar="JOB[:any]",
        help="Run after this job has completed, or after any outcome of it.",
    ),
    click.option("--tag", "tags", multiple=True, help="May be given several times."),
)


def definition_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def definition_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given; nothing for the others."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    target = {
        "url": given.pop("http_url", None),
        "method": given.pop("method", None),
        "headers": dict(given.pop("headers", ())),
    }
    if any(target.values()):
        given["http"] = {name: value for name, value in target.items() if value}
    if needs := terms.requires(given.pop("resources", ()), given.pop("labels", ())):
        given["requires"] = needs
    retry: dict[str, Any] = {name: given.pop(name) for name in ("only_on", "never_on") if name in given}
    if "retries" in given:
        retry["max_attempts"] = given.pop("retries") + 1
    return given | {"retry": retry} if retry else given
