"""A recurring schedule after parsing, whatever its notation, and its canonical form."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from tickwork.schedule.compile_timing import compile_source
from tickwork.schedule.cron.read_expression import Cron, default_dst
from tickwork.schedule.due.calendar_bit_masks import from_seconds
from tickwork.schedule.due.next_due_time import AS_SHOWN, ONCE_EACH, Dst
from tickwork.schedule.due.time_zone import Zone, zone_named
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import read_every, write_instant
from tickwork.schedule.options import MOST_DATES, Options
from tickwork.schedule.rrule.read_rule import RecurrenceRule

LONGEST = {"cron": 1024, "rrule": 2048}  # characters
Same = TypeVar("Same")


class ParsedSchedule(NamedTuple):
    """A period in seconds, a cron expression or an RRULE, with the options that the same text gives."""

    what: int | Cron | RecurrenceRule
    zone: Zone | None = None
    start: int | None = None
    end: int | None = None
    due_times: int | None = None  # how many, counted from the start
    exclude: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()  # how ambiguous words were read
    first: int | None = None  # the first due time, when intervals are counted from it and not from the start


def canonical_form(parsed: ParsedSchedule, options: Options) -> dict[str, Any]:
    """The form that all schedules with the same due times share."""
    zone = _one_of("timezone", parsed.zone, options.zone) or zone_named("UTC")
    start, end = _one_of("start", parsed.start, options.start), _one_of("end", parsed.end, options.end)
    start = start if parsed.first is None else parsed.first
    canonical = _kind(parsed.what, zone, options.dst)
    if start is not None:
        canonical["start"] = write_instant(from_seconds(start))
    if parsed.due_times:
        end = _end_of_count(canonical, parsed.due_times, end)
    if end is not None:
        canonical["end"] = write_instant(from_seconds(end))
    exclude = _joined(parsed.exclude, options.exclude)
    return canonical | {"exclude": exclude, "timezone": zone.name} if exclude else canonical


def canonical_text(canonical: dict[str, Any]) -> str:
    return msgspec.json.encode(canonical, order="deterministic").decode()


def _one_of(name: str, first: Same | None, second: Same | None) -> Same | None:
    if first is not None and second is not None and first != second:
        raise ScheduleError(f"{name} is given twice", "leave one of them out", f".{name}")
    return second if first is None else first


def _kind(what: int | Cron | RecurrenceRule, zone: Zone, wanted: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(what, int) or (isinstance(what, RecurrenceRule) and what.times is None):
        if wanted:
            raise ScheduleError(
                "a period is real time: clock changes do not affect it", "leave dst out", ".dst"
            )
        return {"every": read_every(what)} if isinstance(what, int) else _text("rrule", what, zone)
    affected = what.times is None or zone.skips_or_repeats(what.times)
    dst = Dst(**{**what.dst._asdict(), **wanted}) if affected else AS_SHOWN
    what = what._replace(dst=dst)
    name, usual = ("cron", default_dst(what.text)) if isinstance(what, Cron) else ("rrule", ONCE_EACH)
    canonical = _text(name, what, zone)
    return canonical if dst == usual or not affected else {**canonical, "dst": dst._asdict()}


def _text(name: str, what: Cron | RecurrenceRule, zone: Zone) -> dict[str, Any]:
    if len(what.text) > LONGEST[name]:
        raise ScheduleError(
            f"this is too long: written in full it has {len(what.text)} characters; the limit is {LONGEST[name]}"
        )
    return {name: what.text, "timezone": zone.name}


def _end_of_count(canonical: Mapping[str, Any], count: int, end: int | None) -> int:
    """The last of `count` due times."""
    source = compile_source(canonical)
    due = source.next_after(-1)
    for _ in range(count - 1):
        following = source.next_after(due) if due is not None else None
        if following is None or (end is not None and following > end):
            break
        due = following
    if due is None:
        raise ScheduleError("this is never due")
    return due


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**first, **second}
    for name in ("dates", "holidays"):
        if name in joined:
            joined[name] = sorted({*first.get(name, ()), *second.get(name, ())})
    if len(joined.get("dates", ())) > MOST_DATES:
        raise ScheduleError(f"at most {MOST_DATES} dates can be excluded", path_suffix=".exclude.dates")
    return joined
