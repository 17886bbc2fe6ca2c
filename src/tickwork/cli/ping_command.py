"""Expect what runs elsewhere, and see whether it did."""

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, get_args

import click

from tickwork.cli.format_elapsed import format_elapsed
from tickwork.cli.output import Columns, absolute, output_option, page_options, say, show_item
from tickwork.cli.print_or_watch_answer import prints_item, prints_list, prints_page
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page
from tickwork.model.ping import (
    DeletedPing,
    OutsidePingView,
    PingKind,
    PingNotify,
    PingRunView,
    PingStatusName,
    PingView,
)
from tickwork.model.quantities import format_duration

_FIRST_CALL_WITHIN = 15.0  # seconds
_MARKS = {"success": "✓", "failed": "✗", "missing": "·"}


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else format_elapsed(timedelta(seconds=seconds))


def _strip(ping: PingView) -> str:
    """The latest runs, the last one at the right."""
    return "".join(_MARKS[run.outcome] for run in reversed(ping.recent_runs))


def _failing(ping: PingView) -> str | None:
    if ping.failing_since is None:
        return None
    return f"{ping.failures_in_a_row} in a row since {absolute(ping.failing_since)}"


def _share(ping: PingView) -> str | None:
    statistics = ping.statistics
    if statistics is None or statistics.success_share is None:
        return None
    return f"{statistics.success_share:.0%} of {statistics.runs}"


def _notify(entries: Sequence[PingNotify]) -> list[str]:
    return [f"{' '.join(entry.on)} → {' '.join(entry.to) or 'nobody'}" for entry in entries]


_COLUMNS: Columns[PingView] = {
    "ping": lambda ping: ping.name,
    "status": lambda ping: ping.status,
    "runs": _strip,
    "schedule": lambda ping: ping.schedule_words,
    "expected": lambda ping: ping.expected_at,
    "grace": lambda ping: format_duration(timedelta(seconds=ping.grace)),
    "last success": lambda ping: ping.last_success_at,
}
_FIELDS: Columns[PingView] = {
    "ping": lambda ping: ping.name,
    "status": lambda ping: ping.status,
    "failures": _failing,
    "runs": _strip,
    "schedule": lambda ping: ping.schedule_words,
    "grace": lambda ping: format_duration(timedelta(seconds=ping.grace)),
    "expected": lambda ping: ping.expected_at,
    "missing from": lambda ping: ping.missing_at,
    "running since": lambda ping: ping.started_at,
    "last heard": lambda ping: ping.last_heard_at,
    "last success": lambda ping: ping.last_success_at,
    "succeeded": _share,
    "usually takes": lambda ping: ping.statistics and _seconds(ping.statistics.typical_run_time),
    "notifies": lambda ping: _notify(ping.notify),
    "description": lambda ping: ping.description,
    "URL": lambda ping: ping.url,
    "token begins": lambda ping: None if ping.url else ping.token_begins,
    "created": lambda ping: ping.created_at,
}
_RUN_COLUMNS: Columns[PingRunView] = {
    "run": lambda run: run.number,
    "outcome": lambda run: run.outcome,
    "due": lambda run: run.due_at,
    "ended": lambda run: run.ended_at,
    "took": lambda run: _seconds(run.run_time),
    "delay": lambda run: None if run.outcome == "missing" else _seconds(run.delay),
    "missed": lambda run: run.missed if run.missed > 1 else None,
    "exit code": lambda run: run.exit_code,
    "log ends": lambda run: (run.log or "").rstrip().rpartition("\n")[2][-80:],
}
_OUTSIDE_FIELDS: Columns[OutsidePingView] = {
    "URL": lambda outside: outside.url or "none: nobody outside would notice if all nodes were down",
    "called": lambda outside: outside.called_at,
    "answered": lambda outside: outside.answered_at,
    "error": lambda outside: outside.error,
}


def notify_entry(text: str) -> dict[str, Any]:
    kinds, equals, channels = text.partition("=")
    entry = {"on": kinds.split(","), "to": [name for name in channels.split(",") if name]}
    if not equals or not set(entry["on"]) <= set(get_args(PingKind)):
        known = ", ".join(get_args(PingKind))
        raise click.BadParameter(
            f"{text!r} is not KINDS=CHANNELS, such as missing,recovered=ops; kinds are {known}"
        )
    return entry


@click.group()
def command() -> None:
    """Expect what runs elsewhere, and see whether it did."""


@command.command("list")
@click.option("--status", type=click.Choice(get_args(PingStatusName)))
@click.option("-q", "--search", "q", help="A part of the name.")
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **filters: Any) -> Page[PingView]:
    """List pings by name, with their latest runs."""
    return client.list_pings(**filters)


@command.command()
@click.argument("name")
@prints_item(_FIELDS)
def get(client: Client, name: str) -> PingView:
    """Show a ping with its statistics."""
    return client.get_ping(name)


@command.command("set")
@click.argument("name")
@click.option("--schedule", help="When it is expected: '0 2 * * *', 'every 1h', 'every weekday at 9am'.")
@click.option("--tz", "timezone", metavar="ZONE", help="Time zone of the schedule, such as Europe/Paris.")
@click.option("--grace", metavar="DURATION", help="How long after that it may succeed.  [default: 5m]")
@click.option("--description", help="What it is.")
@click.option(
    "--notify",
    type=notify_entry,
    multiple=True,
    metavar="KINDS=CHANNELS",
    help="Which channels are told of what, such as missing,failed,recovered=ops.",
)
@click.option("--no-notify", is_flag=True, help="Tell no channel.")
@click.option("--new-url", is_flag=True, help="Make another URL; the one before stops working.")
@output_option
@with_client
def set_(client: Client, name: str, new_url: bool, output: str, **options: Any) -> None:
    """Create a ping, or change some of its settings; the others stay as they are.

    A new ping has a URL, which is printed once. Calling it reports success; add /start, /fail, /log or an exit code:

    \b
    tickwork ping set backup --schedule "0 2 * * *" --grace 30m
    0 2 * * *  backup.sh; curl -fsS --retry 5 https://…/ping/TOKEN/$?
    """
    ping = client.set_ping(name, **_changed(client, name, options))
    if new_url and ping.url is None:
        ping = client.renew_ping_token(name)
    show_item(ping, _FIELDS, output)
    if ping.url:
        say(f"keep the URL: it cannot be shown again. In a crontab: …; curl -fsS --retry 5 {ping.url}/$?")


@command.command()
@click.argument("name")
@prints_item({"deleted": lambda ping: ping.name})
def delete(client: Client, name: str) -> DeletedPing:
    """Delete a ping with its history. Its URL stops working."""
    return client.delete_ping(name)


@command.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 100), help="How many at most.")
@click.option("--cursor", help="Continue after an earlier page.")
@prints_page(_RUN_COLUMNS)
def history(client: Client, name: str, **page: Any) -> Page[PingRunView]:
    """List the runs of a ping, latest first. With -o json they have their logs."""
    return client.list_ping_history(name, **page)


@command.command()
@click.argument("url", required=False)
@click.option("--off", is_flag=True, help="Report to nobody any more.")
@output_option
@with_client
def outside(client: Client, url: str | None, off: bool, output: str) -> None:
    """Let the cluster report itself to a URL every minute, or show where it does.

    Give it the URL of a check outside, for example at healthchecks.io, Cronitor or another Tickwork: whoever runs that
    tells you when the calls stop, even if all of your nodes are down.
    """
    if url and off:
        raise click.UsageError("give a URL or --off, not both")
    if off:
        client.delete_outside_ping()
    elif url:
        client.set_outside_ping(url)
        _wait_for_first_call(client)
    view = client.get_outside_ping()
    show_item(view, _OUTSIDE_FIELDS, output)
    if url and view.called_at is None:
        say("no node has called it yet: is one running without --no-http?")


def _wait_for_first_call(client: Client) -> None:
    until = monotonic() + _FIRST_CALL_WITHIN
    while client.get_outside_ping().called_at is None and monotonic() < until:
        sleep(0.5)


def _changed(client: Client, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The settings of the ping as they are, with those that were given."""
    given = {option: options[option] for option in ("schedule", "timezone", "grace", "description")}
    if options["notify"] and options["no_notify"]:
        raise click.UsageError("give --notify or --no-notify, not both")
    if options["notify"] or options["no_notify"]:
        given["notify"] = list(options["notify"])
    changes = {option: value for option, value in given.items() if value is not None}
    try:
        ping = client.get_ping(name)
    except NotFound:
        if "schedule" not in changes:
            raise click.UsageError(f"there is no ping {name} yet: give its --schedule") from None
        return changes
    if "timezone" in changes and "schedule" not in changes:
        raise click.UsageError("give --schedule with --tz")
    kept = {
        "schedule": ping.schedule,
        "grace": ping.grace,
        "description": ping.description,
        "notify": ping.notify,
    }
    return kept | changes
