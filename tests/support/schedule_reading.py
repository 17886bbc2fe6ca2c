"""Short ways to read a schedule in a test."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.parsed_schedule_and_preview import Once, Recurring, Timing
from tickwork.schedule.parse import parse_schedule

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)  # a Wednesday


def timing(schedule: str | dict[str, Any], zone: str | None = None, *, seed: str = "") -> Timing:
    understood = parse_schedule(schedule, zone, now=NOW, seed=seed)
    assert isinstance(understood, Recurring)
    return understood.timing


def canonical(schedule: str | dict[str, Any], zone: str | None = None, *, seed: str = "") -> dict[str, Any]:
    return timing(schedule, zone, seed=seed).canonical


def once(schedule: str | dict[str, Any], zone: str | None = None) -> str:
    understood = parse_schedule(schedule, zone, now=NOW)
    assert isinstance(understood, Once)
    assert understood.at is not None
    return understood.at.isoformat().replace("+00:00", "Z")


def due(
    schedule: str | dict[str, Any], zone: str | None = None, *, after: str | datetime = NOW, count: int = 3
) -> list[str]:
    """The next due times, in UTC."""
    found, read = [], timing(schedule, zone)
    at = read.next_after(datetime.fromisoformat(after) if isinstance(after, str) else after)
    while at is not None and len(found) < count:
        found.append(f"{at:%Y-%m-%d %H:%M}" if not at.second else f"{at:%Y-%m-%d %H:%M:%S}")
        at = read.next_after(at)
    return found


def problems(schedule: Any, zone: str | None = None) -> list[FieldError]:
    with pytest.raises(Invalid) as caught:
        parse_schedule(schedule, zone, now=NOW)
    return list(caught.value.errors)


def problem(schedule: Any, zone: str | None = None) -> FieldError:
    (found,) = problems(schedule, zone)
    return found
