"""Recognises which notation a text or an object uses, and reads it."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from tickwork.schedule.canonical_form import LONGEST, ParsedSchedule
from tickwork.schedule.compile_timing import compile_source
from tickwork.schedule.cron.read_expression import read_cron, reject_crontab_line
from tickwork.schedule.dialects.aws import is_aws_expression, read_aws_expression
from tickwork.schedule.dialects.iso_repeating import read_iso_repeating
from tickwork.schedule.dialects.systemd import is_calendar_event, read_calendar_event
from tickwork.schedule.due.calendar_bit_masks import from_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.parse_sentence import Sentence, read_sentence
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.instant_and_duration import (
    Moment,
    read_duration,
    read_every,
    read_instant,
    write_instant,
)
from tickwork.schedule.named_fields import read_fields
from tickwork.schedule.options import read_end, read_start
from tickwork.schedule.rrule.read_ical_text import read_rrule
from tickwork.schedule.rrule.read_rule import local_anchor, read_rule
from tickwork.schedule.rrule.to_cron_or_period import simplify_rule
from tickwork.schedule.zone_name import read_zone_name

_LONGEST_TEXT = 256
_INSTANT = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[+-][0-9:]+)?)?", re.IGNORECASE)
_RRULE = re.compile(r"(?:RRULE:|DTSTART[;:]|EXDATE[;:]|FREQ=)", re.IGNORECASE)
_REPEATING = re.compile(r"R[0-9]*/", re.IGNORECASE)
_CRON = re.compile(
    r"(?:(?:CRON_)?TZ=\S+\s+)?(?:@|[0-9*?H][0-9*?H,/()-]*\s+[0-9*?H][0-9*?H,/()-]*(?:\s|$))", re.IGNORECASE
)
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.IGNORECASE)
_COUNTED = 'which of them is counted from 2001-01-01; add "starting" and a date to choose'
_INTERVAL = re.compile(r"INTERVAL=[0-9]+;?")
_EVERY = re.compile(r"@every\s+(\S.*)", re.IGNORECASE)


class ReadContext(NamedTuple):
    """What the meaning of a schedule depends on besides its text."""

    zone: Zone
    start: int | None
    now: datetime
    seed: str


def notation_of(text: str) -> str:
    """The notation of a plain text."""
    text = text.strip()
    if _RRULE.match(text):
        return "rrule"
    if _INSTANT.fullmatch(text):
        return "at"
    return "cron" if _CRON.match(text) else "text"


def read_notation(notation: str, value: object, context: ReadContext) -> Moment | list[ParsedSchedule]:
    """One instant, or one or more recurring schedules."""
    return _READERS[notation](value, context)


def _read_at(value: object, context: ReadContext) -> Moment:
    return Moment(read_instant(value, context.zone), context.zone)


def _read_in(value: object, context: ReadContext) -> Moment:
    return Moment(context.now + read_duration(value), context.zone)


def _read_every(value: object, context: ReadContext) -> list[ParsedSchedule]:
    try:
        return [ParsedSchedule(read_every(value))]
    except ScheduleError as error:
        if not isinstance(value, str) or not _is_sentence(f"every {value}", context):
            raise
        raise ScheduleError(
            f"{value[:40]!r} is not a length of time", f'give it as a text: "every {value}"'
        ) from error


def _is_sentence(text: str, context: ReadContext) -> bool:
    try:
        return bool(_read_text(text, context))
    except ScheduleError:
        return False


def _read_fields(value: object, context: ReadContext) -> Moment | list[ParsedSchedule]:
    fields = read_fields(value)
    if fields.names_one_instant:
        return Moment(fields.instant(context.zone), context.zone)
    return [ParsedSchedule(read_cron(fields.cron, context.seed), notes=fields.notes)]


def _read_rrule(value: object, context: ReadContext) -> list[ParsedSchedule]:
    return [read_rrule(_checked_text(value, LONGEST["rrule"]), context.zone, context.start)]


def _read_cron(value: object, context: ReadContext) -> list[ParsedSchedule]:
    text = _checked_text(value, LONGEST["cron"])
    zoned = _ZONE.fullmatch(text)
    if zoned:
        zone = read_zone_name(zoned[1])
        return [parsed._replace(zone=zone) for parsed in _read_cron(zoned[2], context)]
    if is_aws_expression(text):
        return _only_recurring(_read_aws(text, context))
    reject_crontab_line(text)
    every = _EVERY.fullmatch(text)
    return (
        [ParsedSchedule(read_every(every[1]))] if every else [ParsedSchedule(read_cron(text, context.seed))]
    )


def _read_text(value: object, context: ReadContext) -> Moment | list[ParsedSchedule]:
    """A text in any notation."""
    text = _checked_text(value, _LONGEST_TEXT)
    notation = notation_of(text)
    if notation != "text":
        return read_notation(notation, text, context)
    if _REPEATING.match(text):
        return [read_iso_repeating(text, context.zone, context.start)]
    if is_aws_expression(text):
        return _read_aws(text, context)
    if is_calendar_event(text):
        return [_read_on_calendar(text, context)]
    return _read_sentence(text, context)


def _checked_text(value: object, longest: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ScheduleError("a text is needed here")
    if len(value) > longest:
        raise ScheduleError(f"a text of at most {longest} characters, not {len(value)}")
    return value.strip()


def _read_aws(text: str, context: ReadContext) -> Moment | list[ParsedSchedule]:
    found = read_aws_expression(text, context.zone)
    if isinstance(found.what, Moment):
        return found.what
    return [ParsedSchedule(found.what, notes=found.notes)]


def _only_recurring(found: Moment | list[ParsedSchedule]) -> list[ParsedSchedule]:
    if isinstance(found, Moment):
        raise ScheduleError("cron is due again and again", "use at for one instant")
    return found


def _read_on_calendar(text: str, context: ReadContext) -> ParsedSchedule:
    event = read_calendar_event(text)
    if not isinstance(event.what, str):
        return ParsedSchedule(event.what, event.zone)
    anchor = local_anchor(context.start, event.zone or context.zone)
    return ParsedSchedule(simplify_rule(read_rule(event.what, anchor)[0]), event.zone)


def _read_sentence(text: str, context: ReadContext) -> Moment | list[ParsedSchedule]:
    sentence = read_sentence(text, context.zone, context.now)
    zone = sentence.zone or context.zone
    if sentence.at is not None:
        return Moment(sentence.at, zone, sentence.notes)
    start = read_start(sentence.options.get("start"), zone)
    shared = ParsedSchedule(
        0,
        sentence.zone,
        start,
        read_end(sentence.options.get("end"), zone),
        None,
        sentence.options.get("exclude", {}),
        sentence.notes,
    )
    begin = context.start if start is None else start
    if sentence.counted_from_start and begin is None:
        shared = shared._replace(notes=(*sentence.notes, _COUNTED))
    elif sentence.counted_from_start and begin is not None:
        begin = _first_due(sentence, begin, zone)
        shared = shared._replace(first=begin)
    anchor = local_anchor(begin, zone)
    return [
        shared._replace(what=simplify_rule(read_rule(what, anchor)[0]) if isinstance(what, str) else what)
        for what in sentence.schedules
    ]


def _first_due(sentence: Sentence, start: int, zone: Zone) -> int:
    """The first due time, to count intervals from: "every 2 weeks on monday starting" on a thursday begins on the next
    monday, but an RRULE would count from the week of that thursday."""
    rules = (_INTERVAL.sub("", what) for what in sentence.schedules if isinstance(what, str))
    each = [
        {"rrule": rule, "timezone": zone.name, "start": write_instant(from_seconds(start))} for rule in rules
    ]
    return min(
        (due for one in each if (due := compile_source(one).next_after(start - 1)) is not None), default=start
    )


_READERS: dict[str, Callable[[object, ReadContext], Moment | list[ParsedSchedule]]] = {
    "at": _read_at,
    "in": _read_in,
    "cron": _read_cron,
    "every": _read_every,
    "rrule": _read_rrule,
    "text": _read_text,
    "fields": _read_fields,
}
NOTATIONS = tuple(_READERS)
