"""Secrets of channels: how they are shown, kept, and masked in what receivers say.

The rule is that of `http_secrets`: *** stands for the stored secret, and only for the destination that it was given
for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from tickwork.model.channel import AppriseChannel, Channel, EmailChannel, given_fields, kind_of
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_secrets import (
    REDACTED,
    replace_secret_parameters,
    secret_parameters,
    texts_to_mask,
    with_stored_secrets,
)
from tickwork.model.http_target import HttpTarget, destination_of

_HINT = "send the value itself"
_SHORTEST_TOKEN = 8  # a shorter part of a URL is no secret
_BETWEEN_PARTS = re.compile(r"[/?&=@:,]+")


class _Form(NamedTuple):
    """In which way the value of a field is secret."""

    redact: Callable[[str], str]
    has_mark: Callable[[str], bool]
    restore: Callable[[str, str], str]  # from the value with a mark and the stored one
    texts: Callable[[str], Iterator[str]]  # that must not be shown


def _stored(_given: str, stored: str) -> str:
    return stored


def _whole_texts(secret: str) -> Iterator[str]:
    yield secret
    yield secret.removeprefix("whsec_")


def _url_texts(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    yield from (url, f"{parts.path}?{parts.query}" if parts.query else parts.path)
    yield from _parameter_texts(url)
    yield from _long_parts(parts.path.rpartition("/")[2])


def _parameter_texts(url: str) -> Iterator[str]:
    for _, value in secret_parameters(url):
        yield from (value, unquote(value))


def _apprise_texts(url: str) -> Iterator[str]:
    yield url
    yield from _long_parts(url.partition("://")[2])


def _long_parts(text: str) -> Iterator[str]:
    for part in _BETWEEN_PARTS.split(text):
        if len(part) >= _SHORTEST_TOKEN:
            yield from (part, unquote(part))


def _with_parameters(given: str, stored: str) -> str:
    try:
        return with_stored_secrets(HttpTarget(given), HttpTarget(stored), ()).url
    except Invalid as invalid:  # one of several is not stored
        raise Invalid([error._replace(path="url") for error in invalid.errors]) from None


_WHOLE = _Form(lambda _: REDACTED, REDACTED.__eq__, _stored, _whole_texts)
_PATH_OF_URL = _Form(
    lambda url: f"{destination_of(url)}/{REDACTED}",
    lambda url: url.endswith(f"/{REDACTED}"),
    _stored,
    _url_texts,
)
_PARAMETERS_OF_URL = _Form(
    lambda url: replace_secret_parameters(url, lambda *_: REDACTED),
    lambda url: any(value == REDACTED for _, value in secret_parameters(url)),
    _with_parameters,
    _parameter_texts,
)
_APPRISE_URL = _Form(
    lambda url: f"{_apprise_service(url)}://{REDACTED}",
    lambda url: url.endswith(f"://{REDACTED}"),
    _stored,
    _apprise_texts,
)
_SECRETS: dict[str, dict[str, _Form]] = {  # by kind and field
    "webhook": {"url": _PARAMETERS_OF_URL, "secret": _WHOLE},
    "email": {"smtp.password": _WHOLE},
    "slack": {"url": _PATH_OF_URL},
    "teams": {"url": _PATH_OF_URL},
    "pagerduty": {"routing_key": _WHOLE},
    "opsgenie": {"api_key": _WHOLE},
    "apprise": {"url": _APPRISE_URL},
}


def split_fields(channel: Channel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of its kind: those that anybody may read, and those with secrets."""
    fields = given_fields(channel)
    secret = {path.partition(".")[0] for path in _SECRETS[kind_of(channel)]}
    return (
        {name: value for name, value in fields.items() if name not in secret},
        {name: value for name, value in fields.items() if name in secret},
    )


def redacted(channel: Channel) -> Channel:
    """The channel with its secrets replaced by marks."""
    for path, form, value in _values(channel):
        channel = _with(channel, path, form.redact(value))
    return channel


def keep_secrets(channel: Channel, stored: Channel | None) -> Channel:
    """The channel with the stored secrets in place of marks. Raises Invalid if one is not stored, or was given for
    another destination."""
    marks = _marks(channel)
    if not marks:
        return channel
    if stored is None or kind_of(stored) != kind_of(channel):
        raise _refused(marks, "stands for a secret, and none is stored")
    if _receiver(stored) != _receiver(channel):
        raise _refused(marks, f"was given for {_receiver(stored)}, and the channel has another destination")
    before = {path: value for path, _, value in _values(stored)}
    for path, form, value in _values(channel):
        if path in marks and path in before:
            channel = _with(channel, path, form.restore(value, before[path]))
    if left := _marks(channel):
        raise _refused(left, "stands for a secret, and none is stored")
    return channel


def secrets_to_mask(channel: Channel) -> tuple[str, ...]:
    """The texts that must not appear in what is stored or shown about a delivery, longest first."""
    return texts_to_mask(text for _, form, value in _values(channel) for text in form.texts(value))


def destination_of_channel(channel: Channel) -> str:
    """Where its messages go, without secrets."""
    if isinstance(channel, EmailChannel):
        return channel.smtp.address if channel.smtp else "the mail relay"
    if isinstance(channel, AppriseChannel):
        return f"{_apprise_service(channel.url)} by apprise"
    return destination_of(channel.url)


def _receiver(channel: Channel) -> str:
    """Who gets the secrets. A password that was given for an encrypted connection is not sent over another one."""
    destination = destination_of_channel(channel)
    if isinstance(channel, EmailChannel) and channel.smtp:
        return f"{destination} with security {channel.smtp.security}"
    return destination


def _values(channel: Channel) -> Iterator[tuple[str, _Form, str]]:
    """The fields with secrets that it has, and their values."""
    for path, form in _SECRETS[kind_of(channel)].items():
        name, _, part = path.partition(".")
        value = getattr(channel, name)
        value = getattr(value, part) if part and value is not None else value
        if value is not None:
            yield path, form, value


def _with(channel: Channel, path: str, value: str) -> Channel:
    name, _, part = path.partition(".")
    return replace(channel, **{name: replace(getattr(channel, name), **{part: value}) if part else value})


def _marks(channel: Channel) -> list[str]:
    """The fields in which a mark stands for a secret."""
    return [path for path, form, value in _values(channel) if form.has_mark(value)]


def _refused(marks: Sequence[str], why: str) -> Invalid:
    return Invalid([FieldError(mark, f"{REDACTED} {why}", _HINT) for mark in marks])


def _apprise_service(url: str) -> str:
    return url.partition("://")[0].lower()
