"""Cron expressions: 5 fields, 6 with seconds first, 7 with the year last. Not whole lines of a crontab."""

import re
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from tickwork.schedule.cron.days import EVERY_YEAR, CronDays, read_days
from tickwork.schedule.cron.field import HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, write, write_list
from tickwork.schedule.due.calendar_bit_masks import Times
from tickwork.schedule.due.next_due_time import AS_SHOWN, ONCE_EACH, Dst
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import is_zone_name

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELD_COUNTS = range(5, 8)
_LAYOUT = "minute hour day-of-month month day-of-week, such as 0 9 * * MON-FRI"
_NAMES = "|".join([*MONTH.names, *WEEKDAY.names])
_FIELD = re.compile(rf"(?:[0-9*?/,#LWH()-]|{_NAMES})+")


class Cron(NamedTuple):
    times: Times
    days: CronDays
    dst: Dst

    @property
    def text(self) -> str:
        """Equal times and days give equal texts. `default_dst` of the text may differ from `dst`."""
        field = write if self.dst == AS_SHOWN else _write_plain
        seconds, years = self.times.seconds != 1, self.days.years != EVERY_YEAR
        parts = [field(self.times.seconds, SECOND)] if seconds or years else []
        parts += [field(self.times.minutes, MINUTE), field(self.times.hours, HOUR)]
        date, weekday = self.days.write()
        parts += [date, write(self.days.months, MONTH), weekday]
        return " ".join([*parts, write_list(self.days.years << YEAR.low)] if years else parts)


def read_cron(text: str, seed: str = "") -> Cron:
    """Parse an expression. Every H becomes a number that depends only on the seed."""
    text = _MACROS.get(text.lower(), text)
    if text.startswith("@"):
        raise ScheduleError(f"{text[:40]!r} is not a schedule", f"use one of {', '.join(_MACROS)}")
    fields = text.upper().split()
    if len(fields) not in _FIELD_COUNTS:
        raise ScheduleError(
            f"a cron expression has 5 fields, or 6 with seconds first; this has {len(fields)}", _LAYOUT
        )
    second, minute, hour, date, month, weekday, year = _seven(fields)
    spread = partial(_spread, seed)
    times = Times(HOUR.read(hour, spread), MINUTE.read(minute, spread), SECOND.read(second, spread))
    months = MONTH.read(month, spread)
    years = YEAR.read(year, spread) >> YEAR.low
    days = read_days(_any(date), _any(weekday), months=months, years=years, spread=spread)
    return Cron(times, days, default_dst(text))


def default_dst(expression: str) -> Dst:
    """As in Debian's cron: times with a star follow the wall clock; each other time is due exactly once a day."""
    fields = _seven(expression.split())
    return AS_SHOWN if any(field.startswith("*") for field in fields[:3]) else ONCE_EACH


def _seven(fields: list[str]) -> list[str]:
    with_seconds = fields if len(fields) > 5 else ["0", *fields]  # noqa: PLR2004 (the plain form)
    return with_seconds if len(with_seconds) > 6 else [*with_seconds, "*"]  # noqa: PLR2004 (without the year)


def _any(field: str) -> str:
    return "*" if field == "?" else field


def _write_plain(numbers: int, _: object) -> str:
    return write_list(numbers)


def _spread(seed: str, field: str, count: int) -> int:
    return int.from_bytes(blake2b(f"{seed}\0{field}".encode(), digest_size=8).digest()) % count


def reject_crontab_line(text: str) -> None:
    """Refuses a whole line of a crontab. The error says which part of it is the schedule."""
    words = text.split()
    count = 1 if text.startswith("@") else _FIELD_COUNTS[0]
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
