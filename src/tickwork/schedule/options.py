"""The options of a recurring schedule: timezone, start, end, exclude, dst, max_runs, jitter."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from tickwork.model.parsed_schedule_and_preview import MOST_RUNS
from tickwork.schedule.due.calendar_bit_masks import DAY, to_seconds
from tickwork.schedule.due.time_zone import Zone, zone_named
from tickwork.schedule.errors import ScheduleError, ScheduleProblems
from tickwork.schedule.excluded_days import check_country
from tickwork.schedule.instant_and_duration import read_duration, read_instant, write_instant
from tickwork.schedule.zone_name import read_zone_name

OPTION_NAMES = ("timezone", "start", "end", "exclude", "dst")
JOB_OPTION_NAMES = ("max_runs", "jitter")
_DST = {"gap": ("next", "skip"), "repeat": ("once", "twice")}
_EXCLUDE = ("holidays", "dates", "weekends")
MOST_DATES, _MOST_CALENDARS = 366, 5
_LONGEST_JITTER = timedelta(days=1)
_ALMOST_A_SECOND = timedelta(microseconds=999_999)
_DATE_LENGTH = len("2026-12-24")


class Options(NamedTuple):
    zone: Zone | None = None  # None: not given
    start: int | None = None
    end: int | None = None
    exclude: Mapping[str, Any] = {}
    dst: Mapping[str, str] = {}


def read_options(given: Mapping[str, Any], outer: Options, path: str, problems: ScheduleProblems) -> Options:
    """The options of one schedule. `outer`, those of the schedule around it, fill in what it leaves out."""
    zone = problems.attempt(f"{path}.timezone", read_zone, given.get("timezone")) or outer.zone
    local = zone or zone_named("UTC")
    start = problems.attempt(f"{path}.start", read_start, given.get("start"), local)
    end = problems.attempt(f"{path}.end", read_end, given.get("end"), local)
    exclude = problems.attempt(f"{path}.exclude", _read_exclude, given.get("exclude"), local)
    dst = problems.attempt(f"{path}.dst", _read_dst, given.get("dst"))
    return Options(
        zone,
        outer.start if start is None else start,
        outer.end if end is None else end,
        exclude or outer.exclude,
        dst or outer.dst,
    )


def read_job_options(given: Mapping[str, Any], problems: ScheduleProblems) -> dict[str, Any]:
    """max_runs and jitter, in canonical form. They belong to the job, not to one part of its schedule."""
    max_runs = problems.attempt("schedule.max_runs", _read_max_runs, given.get("max_runs"))
    jitter = problems.attempt("schedule.jitter", _read_jitter, given.get("jitter"))
    return {name: value for name, value in (("max_runs", max_runs), ("jitter", jitter)) if value}


def read_zone(value: object) -> Zone | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ScheduleError("a time zone is a text", 'such as "Europe/Paris"')
    return read_zone_name(value)


def read_start(value: object, zone: Zone) -> int | None:
    """The first second that counts."""
    return None if value is None else to_seconds(read_instant(value, zone) + _ALMOST_A_SECOND)


def read_end(value: object, zone: Zone) -> int | None:
    """The last second that counts; a date means its whole day."""
    if value is None:
        return None
    end = to_seconds(read_instant(value, zone))
    whole_day = isinstance(value, str) and len(value.strip()) == _DATE_LENGTH
    return zone.day_start(zone.local(end) // DAY + 1) - 1 if whole_day else end


def _read_exclude(value: object, zone: Zone) -> dict[str, Any]:
    if value is None:
        return {}
    given = _object(value, _EXCLUDE, "exclude")
    found = {
        "dates": sorted({_read_date(day, zone) for day in _list(given, "dates", MOST_DATES)}),
        "holidays": sorted({_read_country(code) for code in _list(given, "holidays", _MOST_CALENDARS)}),
        "weekends": given.get("weekends", False),
    }
    if not isinstance(found["weekends"], bool):
        raise ScheduleError("weekends is true or false", path_suffix=".weekends")
    return {name: excluded for name, excluded in found.items() if excluded}


def _read_country(value: object) -> str:
    try:
        return check_country(value)
    except ScheduleError as error:
        raise ScheduleError(error.message, error.hint, ".holidays") from error


def _read_date(value: object, zone: Zone) -> str:
    """A date, or the time of one due time."""
    text = value.strip() if isinstance(value, str) else ""
    if len(text) > _DATE_LENGTH:
        return write_instant(read_instant(text, zone))
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ScheduleError(f"{str(value)[:40]!r} is not a date", 'such as "2026-12-24"', ".dates") from error


def _read_dst(value: object) -> dict[str, str]:
    if value is None:
        return {}
    given = _object(value, tuple(_DST), "dst")
    for name, choice in given.items():
        if choice not in _DST[name]:
            raise ScheduleError(
                f"{str(choice)[:40]!r} is not a choice", f"use {' or '.join(_DST[name])}", f".{name}"
            )
    return given


def _read_max_runs(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNS:
        raise ScheduleError(f"max_runs is a whole number from 1 to {MOST_RUNS}", "for more, give an end")
    return value


def _read_jitter(value: object) -> float:
    if value is None:
        return 0
    jitter = read_duration(value)
    if jitter > _LONGEST_JITTER:
        raise ScheduleError("jitter is at most one day")
    seconds = jitter.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _object(value: object, names: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScheduleError(f"{what} is an object with any of {', '.join(names)}")
    for name in value:
        if name not in names:
            raise ScheduleError(
                "there is no such field", f"the fields are {', '.join(names)}", f".{str(name)[:40]}"
            )
    return value


def _list(given: dict[str, Any], name: str, most: int) -> list[Any]:
    value = given.get(name) or []
    if not isinstance(value, list) or len(value) > most:
        raise ScheduleError(f"{name} is a list of at most {most}", path_suffix=f".{name}")
    return value
