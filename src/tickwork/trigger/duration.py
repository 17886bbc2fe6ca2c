"""Durations, with the errors of a schedule."""

from datetime import timedelta

from tickwork.model.duration import parse_duration
from tickwork.trigger.misread import Misread


def read_duration(value: object) -> timedelta:
    if not isinstance(value, str | int | float):
        raise Misread(
            f"{str(value)[:40]!r} is not a duration", 'write "90s", "5m", "1h30m", "PT5M" or seconds'
        )
    try:
        return parse_duration(value)
    except (ValueError, OverflowError) as error:
        raise Misread(str(error)) from error
