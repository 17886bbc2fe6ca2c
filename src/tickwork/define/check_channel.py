"""What is wrong with a channel, beyond what its types say."""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from tickwork.model.channel import (
    LONGEST_WINDOW,
    AppriseChannel,
    Channel,
    EmailChannel,
    OpsgenieChannel,
    PagerDutyChannel,
    QuietHours,
    SlackChannel,
    TeamsChannel,
    WebhookChannel,
)
from tickwork.model.errors import FieldError
from tickwork.model.http_secrets import REDACTED
from tickwork.model.http_target import HttpTarget, target_errors
from tickwork.model.message_template import template_errors
from tickwork.model.quantities import parse_duration
from tickwork.model.smtp_server import SmtpServer, is_sender
from tickwork.model.webhook_signature import parse_secret
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import read_zone_name

_APPRISE_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE)


class ChannelSupport(NamedTuple):
    """What this server can send with, besides HTTP."""

    mail_relay: bool  # a mail relay is in its settings
    apprise: bool  # the extra is installed


def channel_errors(channel: Channel, support: ChannelSupport) -> Iterator[FieldError]:
    """A mark in place of a secret is not an error here: see `channel_secrets`."""
    yield from _rule_errors(channel)
    match channel:
        case WebhookChannel():
            yield from _url_errors(channel.url)
            yield from _signing_secret_errors(channel.secret)
        case OpsgenieChannel():
            yield from _service_url_errors(channel.url)
            if not (channel.api_key.isascii() and channel.api_key.isprintable()):
                yield FieldError("api_key", "must be printable ASCII, because it is sent as a header")
        case SlackChannel() | TeamsChannel() | PagerDutyChannel():
            yield from _service_url_errors(channel.url)
        case EmailChannel():
            yield from _mail_errors(channel, support)
        case AppriseChannel():
            yield from _apprise_errors(channel, support)


def with_zone_name(channel: Channel) -> Channel:
    """The channel with the official name of its time zone, however it was written."""
    if channel.quiet is None:
        return channel
    zone = read_zone_name(channel.quiet.timezone).name
    return replace(channel, quiet=replace(channel.quiet, timezone=zone))


def _rule_errors(channel: Channel) -> Iterator[FieldError]:
    try:
        window = parse_duration(channel.window).total_seconds()
    except ValueError as error:
        yield FieldError("window", str(error))
    else:
        if window > LONGEST_WINDOW:
            yield FieldError("window", "is at most a day", "use a digest for longer ones")
    if channel.quiet:
        yield from _quiet_errors(channel.quiet)
    if channel.template:
        yield from template_errors(channel.template)


def _quiet_errors(quiet: QuietHours) -> Iterator[FieldError]:
    for name, time in (("from", quiet.from_), ("to", quiet.to)):
        if not time.isprintable():  # a pattern lets a line feed at the end pass
            yield FieldError(f"quiet.{name}", "must be a time of day such as 22:00")
    if quiet.from_ == quiet.to:
        yield FieldError("quiet.to", "is the same as from", "use paused to be told nothing at all")
    try:
        read_zone_name(quiet.timezone)
    except ScheduleError as error:
        yield FieldError("quiet.timezone", error.message, error.hint)


def _url_errors(url: str) -> Iterator[FieldError]:
    for error in target_errors(HttpTarget(url)):
        yield error._replace(path="url")


def _service_url_errors(url: str) -> Iterator[FieldError]:
    errors = [*_url_errors(url)]
    yield from errors
    if not errors and not url.lower().startswith("https://") and not _is_this_machine(url):
        yield FieldError("url", "must begin with https://, because secrets are sent with it")


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _signing_secret_errors(secret: str | None) -> Iterator[FieldError]:
    if secret is None or secret == REDACTED:
        return
    try:
        parse_secret(secret)
    except ValueError as error:
        yield FieldError("secret", str(error), "or leave it out: then the tenant's signing secret is used")


def _mail_errors(channel: EmailChannel, support: ChannelSupport) -> Iterator[FieldError]:
    for place, address in enumerate(channel.to):
        if not address.isprintable():
            yield FieldError(f"to[{place}]", "must be an address such as ops@example.com")
    if channel.smtp is None:
        if channel.from_ is not None:
            yield FieldError("from", "goes with smtp", "the server's relay has a sender of its own")
        if not support.mail_relay:
            yield FieldError("smtp", "is required: this server has no mail relay", "or set TICKWORK_SMTP_URL")
        return
    if channel.from_ is None:
        yield FieldError("from", "is required with smtp", "such as Tickwork <tickwork@example.com>")
    elif not is_sender(channel.from_):
        yield FieldError("from", "must be an address, or a name and an address in < >")
    yield from _smtp_errors(channel.smtp)


def _smtp_errors(smtp: SmtpServer) -> Iterator[FieldError]:
    host = f"[{smtp.host}]" if ":" in smtp.host else smtp.host
    for error in target_errors(HttpTarget(f"https://{host}")):
        yield FieldError("smtp.host", error.message, "such as smtp.example.com")
    if smtp.password and not smtp.username:
        yield FieldError("smtp.username", "is required with a password")
    if smtp.password and smtp.security == "none":
        yield FieldError("smtp.security", "must not be none with a password", "use starttls or tls")


def _apprise_errors(channel: AppriseChannel, support: ChannelSupport) -> Iterator[FieldError]:
    if not _APPRISE_URL.fullmatch(channel.url):
        yield FieldError("url", "must be an apprise URL", "such as ntfy://topic")
    if not support.apprise:
        yield FieldError("kind", "apprise is not installed on this server", "install tickwork[apprise]")
