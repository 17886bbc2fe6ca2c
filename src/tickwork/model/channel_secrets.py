"""Secrets of channels: how they are shown, kept, and masked in what receivers say.

The rule is that of `http_secrets`: *** stands for the stored secret, and only for the destination that it was given for.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from tickwork.model.channel import (
    AppriseChannel,
    Channel,
    EmailChannel,
    OpsgenieChannel,
    PagerDutyChannel,
    SlackChannel,
    TeamsChannel,
    WebhookChannel,
    given_fields,
    kind_of,
)
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_secrets import (
    REDACTED,
    replace_secret_parameters,
    secret_parameters,
    texts_to_mask,
    with_stored_secrets,
)
from tickwork.model.http_target import HttpTarget, destination_of

_SECRET_FIELDS = frozenset(
    {"url", "secret", "routing_key", "api_key", "smtp"}
)  # all or a part of each is secret
_HINT = "send the value itself"
_SHORTEST_TOKEN = 8  # a shorter part of a URL is no secret
_BETWEEN_PARTS = re.compile(r"[/?&=@:,]+")
_replace = msgspec.structs.replace


def split_fields(channel: Channel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of its kind: those that anybody may read, and those with secrets."""
    fields = given_fields(channel)
    secrets = {name: value for name, value in fields.items() if name in _SECRET_FIELDS}
    return {name: value for name, value in fields.items() if name not in secrets}, secrets


def redacted(channel: Channel) -> Channel:
    """The channel with its secrets replaced by marks."""
    match channel:
        case WebhookChannel(url=url, secret=secret):
            shown = replace_secret_parameters(url, lambda *_: REDACTED)
            return _replace(channel, url=shown, secret=REDACTED if secret else None)
        case SlackChannel(url=url) | TeamsChannel(url=url):
            return _replace(channel, url=_without_path(url))
        case PagerDutyChannel():
            return _replace(channel, routing_key=REDACTED)
        case OpsgenieChannel():
            return _replace(channel, api_key=REDACTED)
        case AppriseChannel(url=url):
            return _replace(channel, url=f"{_apprise_service(url)}://{REDACTED}")
        case EmailChannel(smtp=smtp):
            if smtp is None or smtp.password is None:
                return channel
            return _replace(channel, smtp=_replace(smtp, password=REDACTED))


def keep_secrets(channel: Channel, stored: Channel | None) -> Channel:
    """The channel with the stored secrets in place of marks. Raises Invalid if one is not stored, or was given for
    another destination."""
    marks = [*_marks(channel)]
    if not marks:
        return channel
    if stored is None or kind_of(stored) != kind_of(channel):
        raise _none_is_stored(marks)
    if _destination(stored) != _destination(channel):
        message = f"was given for {_destination(stored)}, and the channel has another destination"
        raise Invalid([FieldError(mark, f"{REDACTED} {message}", _HINT) for mark in marks])
    kept = _restored(channel, stored)
    if left := [*_marks(kept)]:
        raise _none_is_stored(left)
    return kept


def secrets_to_mask(channel: Channel) -> tuple[str, ...]:
    """The texts that must not appear in what is stored or shown about a delivery, longest first."""
    return texts_to_mask(_secrets(channel))


def _secrets(channel: Channel) -> Iterator[str]:
    match channel:
        case WebhookChannel(url=url, secret=secret):
            yield from (value for _, value in secret_parameters(url))
            if secret:
                yield from (secret, secret.partition("_")[2])
        case SlackChannel(url=url) | TeamsChannel(url=url):
            parts = urlsplit(url)
            yield from (url, f"{parts.path}?{parts.query}" if parts.query else parts.path)
            yield from (value for _, value in secret_parameters(url))
            yield from _long_parts(parts.path.rpartition("/")[2])
        case PagerDutyChannel(routing_key=secret) | OpsgenieChannel(api_key=secret):
            yield secret
        case AppriseChannel(url=url):
            yield url
            yield from _long_parts(url.partition("://")[2])
        case EmailChannel(smtp=smtp):
            if smtp and smtp.password:
                yield smtp.password


def _long_parts(text: str) -> Iterator[str]:
    for part in _BETWEEN_PARTS.split(text):
        if len(part) >= _SHORTEST_TOKEN:
            yield from (part, unquote(part))


def _marks(channel: Channel) -> Iterator[str]:
    """The fields in which a mark stands for a secret."""
    match channel:
        case WebhookChannel(url=url, secret=secret):
            if any(value == REDACTED for _, value in secret_parameters(url)):
                yield "url"
            if secret == REDACTED:
                yield "secret"
        case SlackChannel(url=url) | TeamsChannel(url=url):
            if url.endswith(f"/{REDACTED}"):
                yield "url"
        case PagerDutyChannel(routing_key=secret):
            if secret == REDACTED:
                yield "routing_key"
        case OpsgenieChannel(api_key=secret):
            if secret == REDACTED:
                yield "api_key"
        case AppriseChannel(url=url):
            if url.endswith(f"://{REDACTED}"):
                yield "url"
        case EmailChannel(smtp=smtp):
            if smtp and smtp.password == REDACTED:
                yield "smtp.password"


def _restored(channel: Channel, stored: Channel) -> Channel:
    """Both are of the same kind and have the same destination."""
    match channel, stored:
        case WebhookChannel(), WebhookChannel():
            kept = with_stored_secrets(HttpTarget(channel.url), HttpTarget(stored.url), ())
            return _replace(
                channel, url=kept.url, secret=stored.secret if channel.secret == REDACTED else channel.secret
            )
        case (SlackChannel(), SlackChannel()) | (TeamsChannel(), TeamsChannel()):
            return _replace(channel, url=stored.url)
        case AppriseChannel(), AppriseChannel():
            return _replace(channel, url=stored.url)
        case PagerDutyChannel(), PagerDutyChannel():
            return _replace(channel, routing_key=stored.routing_key)
        case OpsgenieChannel(), OpsgenieChannel():
            return _replace(channel, api_key=stored.api_key)
        case EmailChannel(), EmailChannel() if channel.smtp and stored.smtp:
            return _replace(channel, smtp=_replace(channel.smtp, password=stored.smtp.password))
    return channel


def _destination(channel: Channel) -> str:
    match channel:
        case EmailChannel(smtp=None):
            return "the server's relay"
        case EmailChannel(smtp=smtp):
            return f"{smtp.address} with security {smtp.security}"
        case AppriseChannel(url=url):
            return _apprise_service(url)
        case _:
            return destination_of(channel.url)


def _none_is_stored(marks: list[str]) -> Invalid:
    message = f"{REDACTED} stands for a secret, and none is stored"
    return Invalid([FieldError(mark, message, _HINT) for mark in marks])


def _without_path(url: str) -> str:
    return f"{destination_of(url)}/{REDACTED}"


def _apprise_service(url: str) -> str:
    return url.partition("://")[0].lower()
