"""ISO 8601 repeating intervals: R5/2026-01-01T00:00:00Z/PT1H."""

import re
from datetime import datetime

from tickwork.schedule.canonical_form import ParsedSchedule
from tickwork.schedule.cron.read_expression import Cron
from tickwork.schedule.due.calendar_bit_masks import END, to_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import read_every, read_instant
from tickwork.schedule.rrule.read_ical_text import MOST_COUNTED
from tickwork.schedule.rrule.read_rule import RecurrenceRule, local_anchor, read_rule
from tickwork.schedule.rrule.to_cron_or_period import simplify_rule

_REPEATING_EXAMPLE = "write R/start/period or R5/start/period, such as R5/2026-01-01T00:00:00Z/PT1H"
_REPEAT = re.compile(r"R([0-9]{0,9})")
_DATE_PERIOD = re.compile(r"P([1-9][0-9]{0,3})([YMWD])")
_FREQUENCIES = {"Y": "YEARLY", "M": "MONTHLY", "W": "WEEKLY", "D": "DAILY"}
_SHORTEST_MONTH, _LONGEST_MONTH, _FEBRUARY = 28, 31, 2


def read_iso_repeating(text: str, zone: Zone, given_start: int | None) -> ParsedSchedule:
    """`Rn` means n due times. A period of days or longer follows the calendar of the zone; without a start it is
    counted from the same date as an RRULE without DTSTART."""
    repeat, *rest = text.strip().upper().split("/")
    match = _REPEAT.fullmatch(repeat)
    if not match or not 1 <= len(rest) <= 2 or match[1] == "0":  # noqa: PLR2004 (with and without start)
        raise ScheduleError(f"{text[:80]!r} is not a repeating interval", _REPEATING_EXAMPLE)
    if len(rest) == 1:
        if match[1]:
            raise ScheduleError(f"{repeat[:40]} needs a start to count from", _REPEATING_EXAMPLE)
        dated = _DATE_PERIOD.fullmatch(rest[0])
        return ParsedSchedule(
            _calendar_period(dated, local_anchor(given_start, zone)) if dated else read_every(rest[0])
        )
    start = read_instant(rest[0], zone).replace(microsecond=0)
    what = _period(rest[1], start, zone)
    count = int(match[1]) if match[1] else None
    if count and isinstance(what, int):
        end = to_seconds(start) + what * (count - 1)
        return ParsedSchedule(what, start=to_seconds(start), end=end if end < END else None)
    if count and count > MOST_COUNTED:
        raise ScheduleError(f"at most R{MOST_COUNTED}", "for more, use end")
    return ParsedSchedule(what, start=to_seconds(start), due_times=count)


def _period(text: str, start: datetime, zone: Zone) -> int | Cron | RecurrenceRule:
    dated = _DATE_PERIOD.fullmatch(text)
    if dated and (zone.name != "UTC" or dated[2] in "YM"):
        return _calendar_period(dated, start.astimezone(zone.info).replace(tzinfo=None))
    if not text.startswith("P"):
        return read_every((read_instant(text, zone) - start).total_seconds())
    return read_every(text)


def _calendar_period(dated: re.Match[str], start: datetime) -> int | Cron | RecurrenceRule:
    return simplify_rule(read_rule(_calendar_rule(int(dated[1]), dated[2], start), start)[0])


def _calendar_rule(interval: int, unit: str, start: datetime) -> str:
    """A month without the start's day of month uses its last day."""
    rule = f"FREQ={_FREQUENCIES[unit]};INTERVAL={interval}"
    if unit == "M" and start.day == _LONGEST_MONTH:
        return f"{rule};BYMONTHDAY=-1"
    if start.day > _SHORTEST_MONTH and (unit == "M" or (unit == "Y" and start.month == _FEBRUARY)):
        days = ",".join(map(str, range(_SHORTEST_MONTH, start.day + 1)))
        return f"{rule};BYMONTHDAY={days};BYSETPOS=-1" + (f";BYMONTH={_FEBRUARY}" if unit == "Y" else "")
    return rule
