"""Refuses a whole line of a crontab, of which only the beginning is a schedule."""

import re

from tickwork.schedule.cron.field import MONTH, WEEKDAY
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import is_zone_name

_NAMES = "|".join([*MONTH.names, *WEEKDAY.names])
_FIELD = re.compile(rf"(?:[0-9*?/,#LWH()-]|{_NAMES})+")
_FIELDS = 5


def reject_crontab_line(text: str) -> None:
    """The error says which part is the schedule."""
    words = text.split()
    count = 1 if text.startswith("@") else _FIELDS
    rest = words[count:]
    if not rest or text.lower().startswith("@every"):
        return
    schedule = " ".join(words[:count])
    if len(rest) == 1 and is_zone_name(rest[0]):
        raise ScheduleError(
            "a cron expression has its time zone in front", f'write "TZ={rest[0]} {schedule}"'
        )
    if not all(_FIELD.fullmatch(word.upper()) for word in rest) and _are_fields(words[:count]):
        raise ScheduleError(
            f"this is a line of a crontab: {schedule!r} is the schedule, {' '.join(rest)[:60]!r} the command",
            f'give the schedule alone: "{schedule}"',
        )


def _are_fields(words: list[str]) -> bool:
    return words[0].startswith("@") or all(_FIELD.fullmatch(word.upper()) for word in words)
