"""Secrets in the headers and the URL of an HTTP job: which they are, and how they are kept out of what is shown."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

import msgspec

if TYPE_CHECKING:
    from tickwork.model.job import HttpTarget

REDACTED = "***"

_SECRET_NAME = re.compile(
    r"authorization|cookie|token|secret|passw|passphrase|credential|signature|session"
    r"|(api|access|auth|private)-?key|(^|-)(auth|bearer|hmac|jwt|key|pass|pwd|sid|sig)(-|$)"
)
_NOT_SECRET = frozenset({"idempotency-key", "x-idempotency-key"})
_SECRET_PARAMETERS = frozenset({"code"})  # the name that some clouds use for the key of a function
_PARAMETER = re.compile(r"(?P<name>[^=&;]+)=(?P<value>[^&;]+)")
_SHORTEST_HIDDEN = 6  # a shorter text is part of too many others


def is_secret_name(name: str) -> bool:
    """Whether the value of a header with this name must not be shown."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return words not in _NOT_SECRET and bool(_SECRET_NAME.search(words))


def redacted(target: "HttpTarget") -> "HttpTarget":
    """The target with its secrets replaced by marks."""
    headers = {name: REDACTED if is_secret_name(name) else value for name, value in target.headers.items()}
    return msgspec.structs.replace(
        target, url=replace_secret_parameters(target.url, lambda *_: REDACTED), headers=headers
    )


def secret_texts(target: "HttpTarget") -> tuple[str, ...]:
    """The texts to remove from stored answers and errors, longest first."""
    found = {
        text for name, value in target.headers.items() if is_secret_name(name) for text in _forms(name, value)
    }
    for _, value in secret_parameters(target.url):
        found |= {value, unquote_plus(value)}
    found |= {msgspec.json.encode(text).decode()[1:-1] for text in found}  # as JSON escapes them
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST_HIDDEN), key=len, reverse=True))


def mask_secrets(text: str, hidden: Iterable[str]) -> str:
    for each in hidden:
        text = text.replace(each, REDACTED)
    return text


def secret_parameters(url: str) -> Iterator[tuple[str, str]]:
    """The names and values of the secret parameters in a URL."""
    for match in _PARAMETER.finditer(url.partition("?")[2]):
        if _is_secret_parameter(match["name"]):
            yield match["name"], match["value"]


def replace_secret_parameters(url: str, exchange: Callable[[str, str], str]) -> str:
    """The URL with new values for its secret parameters."""
    address, mark, query = url.partition("?")

    def exchanged_one(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        return f"{name}={exchange(name, value)}" if _is_secret_parameter(name) else match[0]

    return address + mark + _PARAMETER.sub(exchanged_one, query) if mark else url


def _is_secret_parameter(name: str) -> bool:
    words = unquote_plus(name)
    return words.lower() in _SECRET_PARAMETERS or is_secret_name(words)


def _forms(name: str, value: str) -> Iterator[str]:
    """A secret and its parts, in the forms in which an answer may repeat them."""
    yield value
    scheme, _, rest = value.partition(" ")
    yield rest.strip()
    if scheme.lower() == "basic":
        decoded = _decoded(rest)
        yield from (decoded, decoded.partition(":")[2])
    if "cookie" in name.lower():
        yield from (part.partition("=")[2].strip() for part in value.split(";"))


def _decoded(text: str) -> str:
    try:
        return b64decode(text).decode()
    except ValueError:
        return ""
