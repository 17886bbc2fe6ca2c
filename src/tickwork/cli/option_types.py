"""Parsers for option values: durations, times, JSON, headers, dependencies, labels, resources, queues, addresses."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from tickwork.model.notification_rule import JOB_NEWS
from tickwork.model.public_ids import KEY_PREFIX
from tickwork.model.quantities import parse_duration
from tickwork.model.rest_worker import LEAST_WEIGHT, MOST_WEIGHT, resource_amounts

_OUTCOMES = {":any": "any outcome", ":failure": "failure"}
_MAX_PORT = 65_535


def duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def instant(text: str) -> datetime:
    """A time, in the time zone of this machine unless it has an offset."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is not a time such as 2026-01-31T09:00 or …T09:00Z") from None


def past(text: str) -> datetime:
    """A time, or how long ago."""
    try:
        return datetime.now(UTC) - parse_duration(text)
    except ValueError:
        pass
    try:
        return instant(text)
    except click.BadParameter:
        raise click.BadParameter(
            f"{text!r} is neither a time such as 2026-01-31T09:00 nor an age such as 2h"
        ) from None


def json_value(text: str) -> Any:
    """JSON, or @FILE or - to read it from there."""
    content = _content(text)
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        example = """'{"to": "a@b.c"}'"""
        raise click.BadParameter(f"not JSON: {error}; quote it for the shell, as in {example}") from None


def text_or_file(text: str) -> str:
    """The text, or @FILE or - to read it from there."""
    content = _content(text)
    return content if isinstance(content, str) else content.decode(errors="replace")


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (colon and name.strip()):
        raise click.BadParameter(f"{text!r} is not a header; write 'Name: value'")
    return name.strip(), value.strip()


def dependency(text: str) -> Any:
    if text.startswith("{"):
        return json_value(text)
    for suffix, outcome in _OUTCOMES.items():
        if text.endswith(suffix):
            return {"job": text.removesuffix(suffix), "on": outcome}
    if ":" in text and not text.startswith(KEY_PREFIX):
        raise click.BadParameter(
            f"{text!r} is not a dependency; write JOB, JOB:failure, JOB:any for any outcome, or JSON with a condition"
        )
    return text


def notify_entry(text: str) -> dict[str, list[str]]:
    """What is told to which channels."""
    kinds, equals, channels = text.partition("=")
    on = [word.strip() for word in kinds.split(",")]
    unknown = [word for word in on if word not in JOB_NEWS]
    if not equals or unknown:
        problem = f"{unknown[0]!r} is no kind of news" if equals else f"{text!r} names no channel"
        raise click.BadParameter(
            f"{problem}; write KIND,…=CHANNEL,…, such as failed,recovered=ops. The kinds are {', '.join(JOB_NEWS)}"
        )
    return {"on": on, "to": [name.strip() for name in channels.split(",") if name.strip()]}


def label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name and value):
        raise click.BadParameter(f"{text!r} is not a label; write NAME=VALUE")
    return name, value


def resource(text: str) -> tuple[str, float]:
    name, equals, amount = text.partition("=")
    if not (equals and name and amount):
        raise click.BadParameter(
            f"{text!r} is not a resource; write NAME=AMOUNT, such as cpu=4 or memory=8Gi"
        )
    try:
        return name, resource_amounts({name: amount})[name]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def weighted_queue(text: str) -> tuple[str, float]:
    """A queue and its weight among the queues of a worker."""
    name, equals, weight = text.partition("=")
    if not equals:
        return name, 1.0
    try:
        number = float(weight)
    except ValueError:
        number = 0.0
    if not (name and LEAST_WEIGHT <= number <= MOST_WEIGHT):
        raise click.BadParameter(
            f"{text!r} is not a queue with its weight; write QUEUE=WEIGHT, "
            f"the weight from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        )
    return name, number


def listen_address(text: str) -> tuple[str, int]:
    """Where to listen: a port of this machine only, or a host and a port."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _MAX_PORT):
        raise click.BadParameter(f"{text!r} is not a port; write PORT or HOST:PORT, such as 0.0.0.0:9100")
    return host.strip("[]") or "127.0.0.1", int(port)


def _content(text: str) -> bytes | str:
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise click.BadParameter(f"{text[1:]} cannot be read: {error.strerror}") from None
