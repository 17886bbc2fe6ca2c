"""iCalendar text: DTSTART, one RRULE, EXDATE."""

import re
from datetime import datetime
from typing import NamedTuple

from tickwork.schedule.canonical_form import ParsedSchedule
from tickwork.schedule.due.calendar_bit_masks import DAY, from_seconds, to_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import check_year, write_instant
from tickwork.schedule.rrule.read_rule import local_anchor, read_rule
from tickwork.schedule.rrule.to_cron_or_period import simplify_rule
from tickwork.schedule.zone_name import read_zone_name

_LINE = re.compile(r"(DTSTART|EXDATE)((?:;[A-Z]+=[^:;\s]+)*):(\S+)", re.IGNORECASE)
_STAMP = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z?))?")
MOST_COUNTED = 1000  # the last due time is found by counting


class ICalendarLines(NamedTuple):
    """The lines of an iCalendar text."""

    rule: str
    zone: Zone | None = None
    start: int | None = None
    without: tuple[str, ...] = ()


def read_rrule(text: str, zone: Zone, start: int | None) -> ParsedSchedule:
    lines = _read_lines(text, zone)
    if lines.start is not None:
        start = lines.start
    zone = lines.zone or zone
    rule, parts = read_rule(lines.rule, local_anchor(start, zone))
    end = _read_until(parts["UNTIL"], zone) if "UNTIL" in parts else None
    count = _read_count(parts["COUNT"], start) if "COUNT" in parts else None
    exclude = {"dates": sorted(set(lines.without))} if lines.without else {}
    return ParsedSchedule(simplify_rule(rule), lines.zone, lines.start, end, count, exclude)


def _read_count(text: str, start: int | None) -> int:
    if start is None:
        raise ScheduleError(
            "COUNT needs a DTSTART to count from", "add DTSTART, or use max_runs instead of COUNT"
        )
    count = int(text[:8]) if text.isascii() and text.isdigit() else 0
    if not 1 <= count <= MOST_COUNTED:
        raise ScheduleError(f"COUNT is a number from 1 to {MOST_COUNTED}", "for more, use UNTIL")
    return count


def _read_lines(text: str, zone: Zone) -> ICalendarLines:
    lines = ICalendarLines("")
    for line in text.split():
        rule = line[6:] if line.upper().startswith("RRULE:") else line
        match = _LINE.fullmatch(line)
        if match and match[1].upper() == "DTSTART":
            own = _zone_of(match[2]) or lines.zone
            lines = lines._replace(start=_read_stamp(match[3], own or zone), zone=own)
        elif match:
            own = _zone_of(match[2]) or lines.zone or zone
            lines = lines._replace(without=lines.without + _read_without(match[3], own))
        elif rule.upper().startswith("FREQ=") or (rule != line and "=" in rule):
            if lines.rule:
                raise ScheduleError("one RRULE at a time", 'join several schedules with "any"')
            lines = lines._replace(rule=rule)
        else:
            raise ScheduleError(
                f"did not understand {line[:40]!r}", "give DTSTART:…, RRULE:FREQ=… and EXDATE:…"
            )
    if not lines.rule:
        raise ScheduleError("the RRULE is missing", "add RRULE:FREQ=…")
    return lines


def _zone_of(parameters: str) -> Zone | None:
    name = None
    for parameter in filter(None, parameters.split(";")):
        key, _, value = parameter.partition("=")
        if key.upper() == "TZID":
            name = value
        elif (key.upper(), value.upper()) not in (("VALUE", "DATE"), ("VALUE", "DATE-TIME")):
            raise ScheduleError(f"did not understand {parameter[:40]!r}")
    return read_zone_name(name) if name else None


def _read_until(text: str, zone: Zone) -> int:
    """The last second that counts; a date includes its whole day."""
    at = _read_stamp(text, zone)
    return at if "T" in text.upper() else zone.day_start(zone.local(at) // DAY + 1) - 1


def _read_without(text: str, zone: Zone) -> tuple[str, ...]:
    return tuple(
        write_instant(from_seconds(_read_stamp(item, zone)))
        if "T" in item.upper()
        else _local(item).date().isoformat()
        for item in text.split(",")
    )


def _read_stamp(text: str, zone: Zone) -> int:
    local = _local(text)
    return to_seconds(local) if text.upper().endswith("Z") else zone.instant(local.replace(tzinfo=None))


def _local(text: str) -> datetime:
    match = _STAMP.fullmatch(text.upper())
    try:
        at = datetime.fromisoformat(f"{match[1]}T{match[2] or '000000'}Z") if match else None
    except ValueError:
        at = None
    if at is None:
        raise ScheduleError(
            f"{text[:40]!r} is not a time", "write 20261224T180000, or 20261224T180000Z for UTC"
        )
    check_year(at)
    return at
