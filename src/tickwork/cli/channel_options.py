"""The options of `tickwork channel set`, and the channel that they make of the one that is stored."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click
import msgspec

from tickwork.model.channel import CHANNEL_KINDS, RULES, ChannelView, Digest
from tickwork.model.notification_message import Severity
from tickwork.model.smtp_server import Security

Command = TypeVar("Command", bound=Callable[..., object])

_NOT_SENT = ("name", "deliveries", "created_at", "changed_at")  # what an answer has and a request has not
_SMTP = "smtp_"
_FLAGS = {"quiet", "quiet_timezone", "quiet_except", "no_quiet", "title", "body", "no_template"}
_READ_FROM_STDIN = ("url", "secret", "routing_key", "api_key", "smtp_password")


def channel_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def changed_channel(current: ChannelView | None, options: dict[str, Any]) -> dict[str, Any]:
    """The channel to send: the stored one, with *** in place of its secrets, and what the options say."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    fields = _stored_fields(current) if current else {}
    if given.get("kind") not in (None, fields.get("kind")):
        fields = {name: value for name, value in fields.items() if name in RULES}  # of all kinds
    if "kind" not in given and not current:
        raise click.UsageError(f"give --kind for a new channel: {', '.join(CHANNEL_KINDS)}")
    own = {name: value for name, value in given.items() if name not in _FLAGS and not name.startswith(_SMTP)}
    fields |= {name: _from_stdin(name, value) for name, value in own.items()}
    return _with_template(_with_quiet_hours(_with_smtp(fields, given), given), given)


def _stored_fields(current: ChannelView) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(current)
    return {name: value for name, value in fields.items() if name not in _NOT_SENT and value is not None}


def _with_smtp(fields: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    smtp = {
        name.removeprefix(_SMTP): _from_stdin(name, value)
        for name, value in given.items()
        if name.startswith(_SMTP)
    }
    return {**fields, "smtp": fields.get("smtp", {}) | smtp} if smtp else fields


def _with_quiet_hours(fields: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    if given.get("no_quiet"):
        if given.get("quiet"):
            raise click.UsageError("give --quiet or --no-quiet, not both")
        return {name: value for name, value in fields.items() if name != "quiet"}
    quiet = dict(fields.get("quiet") or {})
    if "quiet" in given:
        quiet["from"], quiet["to"] = given["quiet"]
    names = {"timezone": "quiet_timezone", "except": "quiet_except"}
    quiet |= {name: given[option] for name, option in names.items() if option in given}
    if quiet and "from" not in quiet:
        raise click.UsageError("give the hours, too: --quiet 22:00-07:00")
    return {**fields, "quiet": quiet} if quiet else fields


def _with_template(fields: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    texts = {name: given[name] for name in ("title", "body") if name in given}
    if given.get("no_template"):
        return {**fields, "template": texts or None}
    return {**fields, "template": {**(fields.get("template") or {}), **texts}} if texts else fields


def _from_stdin(name: str, value: Any) -> Any:
    """A secret given as - is read from stdin: then it is neither in the shell's history nor in a list of processes."""
    if name not in _READ_FROM_STDIN or value != "-":
        return value
    return sys.stdin.readline().strip()


def _hours(text: str) -> tuple[str, str]:
    start, dash, end = text.partition("-")
    if not (start.strip() and dash and end.strip()):
        raise click.BadParameter(f"{text!r} are no hours; write them as 22:00-07:00")
    return start.strip(), end.strip()


def _choice(kind: Any) -> click.Choice[str]:
    return click.Choice([str(value) for value in kind])


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--kind", type=_choice(CHANNEL_KINDS), help="What kind of channel it is."),
    click.option(
        "--url", metavar="URL", help="webhook, slack, teams, pagerduty, opsgenie, apprise; - reads it."
    ),
    click.option(
        "--secret", metavar="WHSEC", help="webhook: a signing secret of its own; - reads it from stdin."
    ),
    click.option(
        "--to", multiple=True, metavar="ADDRESS", help="email: who gets the mails; can be repeated."
    ),
    click.option("--from", metavar="SENDER", help="email: who they come from, with --smtp-host."),
    click.option(
        "--smtp-host", metavar="HOST", help="email: a mail server of yours instead of the server's relay."
    ),
    click.option("--smtp-port", type=click.IntRange(1, 65_535), metavar="PORT", help="[default: 587]"),
    click.option("--smtp-security", type=_choice(get_args(Security)), help="[default: starttls]"),
    click.option("--smtp-username", metavar="NAME", help="email: who signs in at the mail server."),
    click.option("--smtp-password", metavar="PASSWORD", help="- reads it from stdin."),
    click.option(
        "--routing-key", metavar="KEY", help="pagerduty: the integration key; - reads it from stdin."
    ),
    click.option(
        "--api-key", metavar="KEY", help="opsgenie: the key of an API integration; - reads it from stdin."
    ),
    click.option("--severity", type=_choice(Severity), help="The least that it tells.  [default: info]"),
    click.option("--digest", type=_choice(get_args(Digest)), help="[default: immediately]"),
    click.option("--window", metavar="DURATION", help="Tell facts of one cause together.  [default: 5m]"),
    click.option(
        "--rate", type=click.IntRange(1, 600), metavar="N", help="At most N messages a minute.  [default: 30]"
    ),
    click.option(
        "--quiet", type=_hours, metavar="FROM-TO", help="Tell nothing at these hours, such as 22:00-07:00."
    ),
    click.option("--quiet-timezone", metavar="ZONE", help="Whose clock the hours are by.  [default: UTC]"),
    click.option("--quiet-except", type=_choice(Severity), help="What is told at these hours nevertheless."),
    click.option("--no-quiet", is_flag=True, default=None, help="Remove the quiet hours."),
    click.option("--title", metavar="TEXT", help="A template for titles, such as '{job.name} failed'."),
    click.option("--body", metavar="TEXT", help="A template for texts."),
    click.option("--no-template", is_flag=True, default=None, help="Go back to the usual texts."),
    click.option("--paused/--resumed", default=None, help="Whether it tells nothing for now."),
)
