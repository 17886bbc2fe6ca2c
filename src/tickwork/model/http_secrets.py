"""Secrets in the headers and the URL of an HTTP job.

Answers show the mark *** in place of a secret. A request that sends the mark back keeps the stored secret. That is
allowed only for the destination that the secret was given for. Otherwise anybody who may change a job could have its
secrets sent to another server.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote_plus

import msgspec

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_target import HttpTarget, destination_of, target_errors

REDACTED = "***"

_SECRET_NAME = re.compile(
    r"authorization|cookie|token|secret|passw|passphrase|credential|signature|session"
    r"|(api|access|auth|private)-?key|(^|-)(auth|bearer|hmac|jwt|key|pass|pwd|sid|sig)(-|$)"
)
_NOT_SECRET = frozenset({"idempotency-key", "x-idempotency-key"})
_SECRET_PARAMETERS = frozenset({"code"})  # the name that some clouds use for the key of a function
_PARAMETER = re.compile(r"(?P<name>[^=&;]+)=(?P<value>[^&;]+)")
_SHORTEST_MASKED = 6
_HINT = "send the value itself"


def is_secret_name(name: str) -> bool:
    """Whether the value of a header with this name must be hidden."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return words not in _NOT_SECRET and bool(_SECRET_NAME.search(words))


def redacted(target: HttpTarget) -> HttpTarget:
    """The target with its secrets replaced by marks."""
    headers = {name: REDACTED if is_secret_name(name) else value for name, value in target.headers.items()}
    return msgspec.structs.replace(
        target, url=replace_secret_parameters(target.url, lambda *_: REDACTED), headers=headers
    )


def secret_texts(target: HttpTarget) -> tuple[str, ...]:
    """The texts to mask in stored answers and errors, longest first."""
    found = {
        text for name, value in target.headers.items() if is_secret_name(name) for text in _forms(name, value)
    }
    for _, value in secret_parameters(target.url):
        found |= {value, unquote_plus(value)}
    return texts_to_mask(found)


def texts_to_mask(secrets: Iterable[str]) -> tuple[str, ...]:
    """The secrets, also as JSON escapes them, longest first. A short text occurs in too many others."""
    found = {form for text in secrets for form in (text, msgspec.json.encode(text).decode()[1:-1])}
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST_MASKED), key=len, reverse=True))


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def secret_parameters(url: str) -> Iterator[tuple[str, str]]:
    """The names and values of the secret parameters in a URL."""
    for match in _PARAMETER.finditer(url.partition("?")[2]):
        if _is_secret_parameter(match["name"]):
            yield match["name"], match["value"]


def replace_secret_parameters(url: str, new_value: Callable[[str, str], str]) -> str:
    """The URL with new values for its secret parameters."""
    address, mark, query = url.partition("?")

    def replace_one(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        return f"{name}={new_value(name, value)}" if _is_secret_parameter(name) else match[0]

    return address + mark + _PARAMETER.sub(replace_one, query) if mark else url


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


def mark_errors(target: HttpTarget) -> Iterator[FieldError]:
    """An error for each mark: the request must send the secrets themselves."""
    for name, value in target.headers.items():
        if value == REDACTED and is_secret_name(name):
            path = f"http.headers.{name[:80]}"
            yield FieldError(path, f"{REDACTED} stands for a secret, and none is stored", _HINT)
    for name, value in secret_parameters(target.url):
        if value == REDACTED:
            message = f"{name[:80]}={REDACTED} stands for a secret, and none is stored"
            yield FieldError("http.url", message, _HINT)


def with_stored_secrets(target: HttpTarget, stored: HttpTarget | None, given: Iterable[str]) -> HttpTarget:
    """The target with the stored secrets in place of marks. `given`: the headers that the request names. Raises Invalid
    if a secret is not stored, or was given for another destination."""
    if target_errors(target):
        return target  # the caller refuses it for these errors
    if stored is not None:
        _refuse_other_destination(target, stored, set(given))
        target = _restored(target, stored)
    if errors := list(mark_errors(target)):
        raise Invalid(errors)
    return target


def _refuse_other_destination(target: HttpTarget, stored: HttpTarget, given: set[str]) -> None:
    if destination_of(target.url) == destination_of(stored.url):
        return
    meant_for = f"was given for {destination_of(stored.url)}, and the URL has another destination"
    errors = [
        FieldError(
            f"http.headers.{name[:80]}", meant_for, "send its value again; in a patch, null removes it"
        )
        for name, value in target.headers.items()
        if is_secret_name(name) and (value == REDACTED or name not in given)
    ]
    errors += [
        FieldError("http.url", f"the value of {name[:80]} {meant_for}", _HINT)
        for name, value in secret_parameters(target.url)
        if value == REDACTED
    ]
    if errors:
        raise Invalid(errors)


def _restored(target: HttpTarget, stored: HttpTarget) -> HttpTarget:
    headers = {name.lower(): value for name, value in stored.headers.items()}
    values: dict[str, list[str]] = {}
    for name, value in secret_parameters(stored.url):
        values.setdefault(name, []).append(value)

    def restore(name: str, value: str) -> str:
        return values[name].pop(0) if value == REDACTED and values.get(name) else value

    return msgspec.structs.replace(
        target,
        url=replace_secret_parameters(target.url, restore),
        headers={
            name: headers.get(name.lower(), value) if value == REDACTED and is_secret_name(name) else value
            for name, value in target.headers.items()
        },
    )
