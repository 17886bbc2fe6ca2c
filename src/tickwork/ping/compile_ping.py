"""Compiles a PingRequest, as users write it, to a PingSpec. Reports all errors of a request together."""

from datetime import datetime, timedelta
from itertools import islice, pairwise

import msgspec

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.parsed_schedule_and_preview import Recurring, Timing
from tickwork.model.ping import PingName, PingRequest, PingSpec
from tickwork.model.quantities import parse_duration
from tickwork.schedule.parse import parse_schedule

_SHORTEST_PERIOD = timedelta(seconds=10)
_SHORTEST_GRACE, _LONGEST_GRACE = timedelta(seconds=1), timedelta(days=366)
_LOOKED_AT = 100  # due times, for the shortest period


def checked_name(name: str) -> str:
    if not is_name(name):
        hint = "up to 100 letters, digits, dots, dashes and underscores; a letter or digit first"
        raise Invalid.field("name", f"{name[:80]!r} is not the name of a ping", hint)
    return name


def is_name(name: str) -> bool:
    try:
        msgspec.convert(name, PingName)
    except msgspec.ValidationError:
        return False
    return True


def compile_ping(name: str, request: PingRequest, now: datetime) -> PingSpec:
    """Raises Invalid, which names every bad field. The name spreads schedules with an H."""
    errors: list[FieldError] = []
    timing = _timing(name, request, now, errors)
    grace = _grace(request, errors)
    if errors:
        raise Invalid(errors)
    return PingSpec(
        definition=msgspec.json.encode(request),
        timing=timing,
        grace=grace,
        notify=msgspec.json.encode(request.notify),
    )


def _timing(name: str, request: PingRequest, now: datetime, errors: list[FieldError]) -> str:
    try:
        schedule = parse_schedule(request.schedule, request.timezone, now=now, seed=name)
    except Invalid as invalid:
        errors.extend(invalid.errors)
        return ""
    if not isinstance(schedule, Recurring):
        hint = 'such as "every 1h" or "0 2 * * *"'
        errors.append(FieldError("schedule", "is due only once: a ping is expected again and again", hint))
        return ""
    errors.extend(_timing_errors(schedule.timing, now))
    return schedule.text


def _timing_errors(timing: Timing, now: datetime) -> list[FieldError]:
    errors = []
    if timing.jitter:
        errors.append(
            FieldError("schedule.jitter", "is not for pings", "leave it out; the grace allows for it")
        )
    if timing.max_runs is not None:
        errors.append(FieldError("schedule.max_runs", "is not for pings", "give an end instead"))
    times = islice(timing.due_times(now), _LOOKED_AT)
    if any(later - earlier < _SHORTEST_PERIOD for earlier, later in pairwise(times)):
        least = f"{_SHORTEST_PERIOD.total_seconds():g} s"
        errors.append(FieldError("schedule", f"due times must be at least {least} apart"))
    return errors


def _grace(request: PingRequest, errors: list[FieldError]) -> timedelta:
    try:
        grace = parse_duration(request.grace)
    except ValueError as error:
        errors.append(FieldError("grace", str(error)))
        return timedelta()
    if not _SHORTEST_GRACE <= grace <= _LONGEST_GRACE:
        errors.append(FieldError("grace", f"is between 1 s and {_LONGEST_GRACE.days} days"))
    return grace
