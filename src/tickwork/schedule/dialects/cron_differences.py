"""Cron expressions that other programs read differently: users who bring one along should know.

Quartz numbers the days of the week from 1, Sunday; croniter has the seconds last."""

import re
from collections.abc import Iterator
from typing import Any

from tickwork.schedule.cron.expression import Cron, read_cron
from tickwork.schedule.due.time_zone import zone_named
from tickwork.schedule.english.describe import cron_words
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.notations import notation_of

_SECONDS = re.compile(r"[0-9]+(?:,[0-9]+)*|\*/[0-9]+")  # as they are written where they come last
_WEEKDAY_NUMBER = re.compile(r"(?<![0-9#/])[0-9]")


def cron_difference_warnings(schedule: object) -> Iterator[str]:
    """Warnings for a valid schedule, as the user gave it."""
    for text in _cron_texts(schedule):
        fields = [field for field in text.upper().split() if "=" not in field]  # without TZ=…
        ours = _read(fields)
        if ours is None:
            continue
        theirs = _read(_numbered_from_one(fields))
        if theirs and theirs[:2] != ours[:2]:
            yield (
                f"days of the week are numbered from 0, Sunday, so this is {_words(ours)}; "
                f"Quartz numbers them from 1 and means {_words(theirs)}: write names such as MON-FRI"
            )
        theirs = _read(_seconds_first(fields))
        if theirs and theirs[:2] != ours[:2]:
            yield (
                f"seconds come first, so this is {_words(ours)}; "
                f"programs that have them last mean {_words(theirs)}"
            )


def _cron_texts(schedule: object) -> Iterator[str]:
    if isinstance(schedule, str):
        yield from [schedule] if notation_of(schedule) == "cron" else []
    elif isinstance(schedule, dict):
        yield from _cron_texts(schedule.get("text"))
        yield from [schedule["cron"]] if isinstance(schedule.get("cron"), str) else []
        parts: Any = schedule.get("any")
        for part in parts if isinstance(parts, list) else []:
            yield from _cron_texts(part)


def _numbered_from_one(fields: list[str]) -> list[str]:
    """A Quartz expression with its weekdays numbered as in Tickwork; empty if that makes no difference."""
    place = len(fields) - 1 if len(fields) < 7 else 5  # noqa: PLR2004 (with the year last)
    quartz = len(fields) > 5 or "?" in fields  # noqa: PLR2004 (the plain form)
    if not quartz or not _WEEKDAY_NUMBER.search(fields[place]):
        return []
    moved = _WEEKDAY_NUMBER.sub(lambda number: str(int(number[0]) - 1), fields[place])
    return [*fields[:place], moved, *fields[place + 1 :]]


def _seconds_first(fields: list[str]) -> list[str]:
    """An expression with seconds as its sixth field, with the seconds moved to the front; empty if it has none."""
    if len(fields) < 6 or not _SECONDS.fullmatch(fields[5]):  # noqa: PLR2004 (with seconds)
        return []
    return [fields[5], *fields[:5], *fields[6:]]


def _read(fields: list[str]) -> Cron | None:
    try:
        return read_cron(" ".join(fields))
    except ScheduleError:
        return None


def _words(cron: Cron) -> str:
    return cron_words([cron.times], cron.days, zone_named("UTC"))
