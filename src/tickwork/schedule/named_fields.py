"""Reads a schedule that names its fields: `{"hour": 9, "minute": 30, "days_of_week": ["MON"]}`."""

import re
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, NamedTuple

from tickwork.schedule.due.calendar_bit_masks import from_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.vocabulary import MONTHS, WEEKDAYS
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import check_year

_FINEST_FIRST = ("minute", "hour", "days_of_week", "date", "month", "year")
_LEAST = {"minute": "0", "hour": "0", "days_of_week": "*", "date": "1", "month": "1", "year": "*"}
_OF_AN_INSTANT = ("year", "month", "date", "hour", "minute")
_LONGEST_LIST = 100
_ITEM = re.compile(r"[A-Za-z0-9*/,#()-]{1,40}")
_EITHER = (
    "a day that matches date or days_of_week is due, as in cron; "
    'for days that match both use rrule, such as "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"'
)


class NamedFields(NamedTuple):
    texts: Mapping[str, str]  # of every field, as in cron

    @property
    def cron(self) -> str:
        return "0 {minute} {hour} {date} {month} {days_of_week} {year}".format(**self.texts)

    @property
    def names_one_instant(self) -> bool:
        """Such a schedule is due once. As a cron expression it would be recurring, and its only run would be lost in an
        outage that is longer than the catch-up policy allows."""
        return self.texts["days_of_week"] == "*" and all(
            self.texts[name].isdecimal() for name in _OF_AN_INSTANT
        )

    def instant(self, zone: Zone) -> datetime:
        """In local time, as `at`."""
        try:
            local = datetime(*(int(self.texts[name]) for name in _OF_AN_INSTANT))  # type: ignore[arg-type] # noqa: DTZ001 (local)
        except ValueError as error:
            raise ScheduleError(f"there is no such time: {error}") from error
        check_year(local)
        return from_seconds(zone.instant(local))

    @property
    def notes(self) -> tuple[str, ...]:
        """How an ambiguous combination is read. Beside a star, both must match, which nobody doubts."""
        restricted = not any(self.texts[name].startswith(("*", "?")) for name in ("date", "days_of_week"))
        return (_EITHER,) if restricted else ()


def read_fields(value: object) -> NamedFields:
    """A field that is left out, or empty as in a form, means every value if a finer field is given, else its first."""
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    for name in fields:
        _check_name(name)
    given = {name: field for name, field in fields.items() if not _is_empty(field)}
    if not given:
        raise ScheduleError(
            f"fields is an object with any of {', '.join(_FINEST_FIRST)}", 'such as {"hour": 9, "minute": 30}'
        )
    finest = min(_FINEST_FIRST.index(name) for name in given)
    return NamedFields(
        {name: _text(name, given, is_finer=at < finest) for at, name in enumerate(_FINEST_FIRST)}
    )


def _is_empty(field: object) -> bool:
    return isinstance(field, str) and not field.strip()


def _check_name(name: object) -> None:
    if name not in _FINEST_FIRST:
        near = get_close_matches(str(name), _FINEST_FIRST, 1)
        hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(_FINEST_FIRST)}"
        raise ScheduleError("there is no such field", hint, f".{str(name)[:40]}")


def _text(name: str, given: dict[str, Any], *, is_finer: bool) -> str:
    if name not in given:
        return _LEAST[name] if is_finer else "*"
    items = given[name] if isinstance(given[name], list) else [given[name]]
    if not items or len(items) > _LONGEST_LIST:
        raise ScheduleError(f"give 1 to {_LONGEST_LIST} values", path_suffix=f".{name}")
    return ",".join(_item(name, item) for item in items)


def _item(name: str, item: object) -> str:
    if isinstance(item, bool) or not isinstance(item, int | str) or not _ITEM.fullmatch(str(item)):
        raise ScheduleError(
            f'{str(item)[:40]!r} is not a number, a name or a text such as "*/5"', path_suffix=f".{name}"
        )
    word = str(item).lower()
    number = WEEKDAYS.get(word) if name == "days_of_week" else MONTHS.get(word) if name == "month" else None
    return str(item) if number is None else str(number)
