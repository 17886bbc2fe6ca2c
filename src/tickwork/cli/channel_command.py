"""Set, test and preview channels: where notifications go."""

import sys
from typing import Any

import click

from tickwork.cli.channel_options import changed_channel, channel_options
from tickwork.cli.exit_codes import FAILED
from tickwork.cli.output import Columns, as_json, output_option, page_options, say, show_item
from tickwork.cli.print_or_watch_answer import prints_item, prints_list
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.channel import ChannelDeliveries, ChannelPreview, ChannelTest, ChannelView, QuietHours
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page


def _goes_to(channel: ChannelView) -> str | None:
    if channel.kind == "email":
        server = f" by {channel.smtp.host}:{channel.smtp.port}" if channel.smtp else ""
        return ", ".join(channel.to or []) + server
    return channel.url


def _quiet(quiet: QuietHours | None) -> str | None:
    if quiet is None:
        return None
    excepted = f", except {quiet.except_} and above" if quiet.except_ else ""
    return f"{quiet.from_} to {quiet.to} ({quiet.timezone}){excepted}"


def _state(deliveries: ChannelDeliveries) -> str:
    return "failing" if deliveries.is_failing else "active"


def _signature(channel: ChannelView) -> str | None:
    if channel.kind != "webhook":
        return None
    return "a secret of its own" if channel.secret else "the signing secret of the tenant"


_COLUMNS: Columns[ChannelView] = {
    "channel": lambda channel: channel.name,
    "kind": lambda channel: channel.kind,
    "state": lambda channel: "paused" if channel.paused else _state(channel.deliveries),
    "goes to": _goes_to,
    "severity": lambda channel: f"{channel.severity} and above" if channel.severity != "info" else "all",
    "digest": lambda channel: channel.digest,
    "quiet": lambda channel: _quiet(channel.quiet),
    "changed": lambda channel: channel.changed_at,
}
_FIELDS: Columns[ChannelView] = {
    **_COLUMNS,
    "from": lambda channel: channel.from_,
    "signed with": _signature,
    "window": lambda channel: f"{channel.window:g}s",
    "rate": lambda channel: f"{channel.rate} a minute",
    "title": lambda channel: channel.template.title if channel.template else None,
    "body": lambda channel: channel.template.body if channel.template else None,
    "last delivered": lambda channel: channel.deliveries.last_sent_at,
    "not told yet": lambda channel: channel.deliveries.waiting,
    "error": lambda channel: channel.deliveries.error,
    "created": lambda channel: channel.created_at,
}
_TEST: Columns[ChannelTest] = {
    "result": lambda test: "delivered" if test.delivered else "failed",
    "took": lambda test: f"{test.took * 1000:.0f}ms",
    "answer": lambda test: as_json(test.answer),
    "error": lambda test: f"{test.error.type}: {test.error.message}" if test.error else None,
}


@click.group()
def command() -> None:
    """Set, test and preview channels: where notifications go."""


@command.command("list")
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **page: Any) -> Page[ChannelView]:
    """List channels by name."""
    return client.list_channels(**page)


@command.command()
@click.argument("name")
@prints_item(_FIELDS)
def get(client: Client, name: str) -> ChannelView:
    """Show a channel, without its secrets."""
    return client.get_channel(name)


@command.command("set")
@click.argument("name")
@channel_options
@prints_item(_FIELDS)
def set_(client: Client, name: str, **options: Any) -> ChannelView:
    """Create a channel, or change what is named; the rest stays as it is.

    \b
    tickwork channel set ops --kind slack --url -
    tickwork channel set oncall --kind pagerduty --routing-key - --severity error
    tickwork channel set team --kind email --to ann@example.com --quiet 22:00-07:00
    """
    return client.set_channel(name, changed_channel(_current(client, name), options))


@command.command()
@click.argument("name")
@output_option
@with_client
def test(client: Client, name: str, output: str) -> None:
    """Send a test message at once, and show what the receiver answered. Exits with 1 if it was not delivered."""
    result = client.test_channel(name)
    show_item(result, _TEST, output)
    if not result.delivered:
        sys.exit(FAILED)


@command.command()
@click.argument("name")
@click.option("--title", metavar="TEXT", help="Try this template for the title.")
@click.option("--body", metavar="TEXT", help="Try this template for the text.")
@click.option("--sent", is_flag=True, help="Show the mail, or the JSON of the request.")
@output_option
@with_client
def preview(client: Client, name: str, title: str | None, body: str | None, sent: bool, output: str) -> None:
    """Show what a channel would send about a sample execution that failed."""
    template = {key: text for key, text in (("title", title), ("body", body)) if text}
    shown = client.preview_channel(name, template=template or None)
    fields: Columns[ChannelPreview] = {"title": lambda each: each.title, "body": lambda each: each.body}
    if sent:
        fields = {**fields, "sent": lambda each: as_json(each.sent)}
    show_item(shown, fields, output)


@command.command()
@click.argument("name")
@prints_item(_COLUMNS)
def delete(client: Client, name: str) -> ChannelView:
    """Delete a channel."""
    deleted = client.delete_channel(name)
    say("deleted:")
    return deleted


def _current(client: Client, name: str) -> ChannelView | None:
    try:
        return client.get_channel(name)
    except NotFound:
        return None
