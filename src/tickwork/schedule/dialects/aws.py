"""Schedule expressions of AWS: rate(5 minutes), cron(0 10 * * ? *), at(2026-12-24T18:00:00)."""

import re
from typing import NamedTuple

from tickwork.schedule.cron.field import WEEKDAY, Field, write_list
from tickwork.schedule.cron.read_expression import Cron, read_cron
from tickwork.schedule.due.calendar_bit_masks import mask_of, numbers_in
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import Moment, read_duration, read_instant

_EXPRESSION = re.compile(r"(rate|cron|at)\s*\(\s*(.*?)\s*\)", re.IGNORECASE)
_RATE = re.compile(r"[0-9]{1,6}\s+(?:minute|hour|day)s?", re.IGNORECASE)
_FIELDS = 6
_NUMBERED = Field("day of week", 1, 7, {name: number + 1 for name, number in WEEKDAY.names.items()})


class AwsSchedule(NamedTuple):
    what: int | Cron | Moment
    notes: tuple[str, ...] = ()


def is_aws_expression(text: str) -> bool:
    return bool(_EXPRESSION.fullmatch(text))


def read_aws_expression(text: str, zone: Zone) -> AwsSchedule:
    match = _EXPRESSION.fullmatch(text)
    name, inner = (match[1].lower(), match[2]) if match else ("", "")
    if name == "at":
        return AwsSchedule(Moment(read_instant(inner, zone), zone))
    if name == "rate":
        return AwsSchedule(_rate(inner))
    return _cron(inner)


def _rate(text: str) -> int:
    seconds = int(read_duration(text).total_seconds()) if _RATE.fullmatch(text) else 0
    if not seconds:
        raise ScheduleError(
            f"rate({text[:40]}) is not a rate: it has a number of minutes, hours or days",
            'such as "rate(5 minutes)"',
        )
    return seconds


def _cron(text: str) -> AwsSchedule:
    fields = text.upper().split()
    if len(fields) != _FIELDS:
        raise ScheduleError(
            f"cron(…) of AWS has 6 fields: minute, hour, day of month, month, day of week, year; "
            f"this has {len(fields)}",
            'such as "cron(0 10 * * ? *)"; without the name and the brackets, 5 fields: "0 10 * * *"',
        )
    minute, hour, date, month, weekday, year = fields
    if "?" not in (date, weekday):
        raise ScheduleError(
            "cron(…) of AWS has ? as the day of month or the day of week",
            'such as "cron(0 10 ? * MON-FRI *)"',
        )
    cron = read_cron(f"0 {minute} {hour} {date} {month} {_weekdays(weekday)} {year}")
    numbered = any(sign.isdigit() for sign in weekday.partition("#")[0])
    note = "in cron(…) of AWS, days of the week are 1 for Sunday to 7 for Saturday"
    return AwsSchedule(cron, (note,) if numbered else ())


def _weekdays(field: str) -> str:
    """The field with Sunday as 0, not 1."""
    if field in ("?", "*"):
        return "*"
    return ",".join(_weekday(item) for item in field.split(","))


def _weekday(item: str) -> str:
    if item == "L":
        return "6"
    if item.endswith("L"):
        return f"{_NUMBERED.number(item[:-1]) - 1}L"
    day, hash_sign, nth = item.partition("#")
    if hash_sign:
        return f"{_NUMBERED.number(day) - 1}#{nth}"
    numbers = _NUMBERED.read(item, _no_spread)
    return write_list(mask_of(day - 1 for day in numbers_in(numbers)))


def _no_spread(field: str, _: int) -> int:
    raise ScheduleError(f"{field}: AWS has no H", 'such as "cron(0 10 * * ? *)"')
