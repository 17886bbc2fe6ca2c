"""Structured fields, for programs that would rather not write cron: {"hour": 9, "days_of_week": ["MON"]}."""

import re
from difflib import get_close_matches
from typing import Any

from tickwork.trigger.english.lexicon import MONTHS, WEEKDAYS
from tickwork.trigger.misread import Misread

_FINEST_FIRST = ("minute", "hour", "days_of_week", "date", "month", "year")
_LEAST = {"minute": "0", "hour": "0", "days_of_week": "*", "date": "1", "month": "1", "year": "*"}
_LONGEST_LIST = 100
_ITEM = re.compile(r"[A-Za-z0-9*/,#()-]{1,40}")


def read_fields(value: object) -> str:
    """As a cron expression. A field left out is every value when a finer one is given, else the first."""
    if not isinstance(value, dict) or not value:
        raise Misread(
            f"fields is an object with any of {', '.join(_FINEST_FIRST)}", 'such as {"hour": 9, "minute": 30}'
        )
    for name in value:
        if name not in _FINEST_FIRST:
            near = get_close_matches(str(name), _FINEST_FIRST, 1)
            hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(_FINEST_FIRST)}"
            raise Misread("there is no such field", hint, f".{str(name)[:40]}")
    if "date" in value and "days_of_week" in value:
        raise Misread(
            "date and days_of_week together can mean both or either",
            'use rrule for both ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR") or cron for either ("0 0 13 * FRI")',
        )
    finest = min(_FINEST_FIRST.index(name) for name in value)
    texts = {name: _text(name, value, at < finest) for at, name in enumerate(_FINEST_FIRST)}
    return "0 {minute} {hour} {date} {month} {days_of_week} {year}".format(**texts)


def _text(name: str, value: dict[str, Any], finer: bool) -> str:
    if name not in value:
        return _LEAST[name] if finer else "*"
    items = value[name] if isinstance(value[name], list) else [value[name]]
    if not items or len(items) > _LONGEST_LIST:
        raise Misread(f"give 1 to {_LONGEST_LIST} values", below=f".{name}")
    return ",".join(_item(name, item) for item in items)


def _item(name: str, item: object) -> str:
    if isinstance(item, bool) or not isinstance(item, int | str) or not _ITEM.fullmatch(str(item)):
        raise Misread(f'{str(item)[:40]!r} is not a number, a name or a text such as "*/5"', below=f".{name}")
    word = str(item).lower()
    number = WEEKDAYS.get(word) if name == "days_of_week" else MONTHS.get(word) if name == "month" else None
    return str(item) if number is None else str(number)
