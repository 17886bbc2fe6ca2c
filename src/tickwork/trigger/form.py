"""The ways of saying when: which one a text is, and reading each."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from tickwork.trigger.cron import read_cron
from tickwork.trigger.draft import LONGEST, Draft
from tickwork.trigger.due.zone import Zone, zone_named
from tickwork.trigger.duration import read_duration
from tickwork.trigger.fields import read_fields
from tickwork.trigger.interval import read_every
from tickwork.trigger.iso import read_iso
from tickwork.trigger.misread import Misread
from tickwork.trigger.once import Moment, read_instant
from tickwork.trigger.option import read_end, read_start
from tickwork.trigger.rrule import read_rrule
from tickwork.trigger.rule import local_anchor, read_rule
from tickwork.trigger.rulecron import simplest
from tickwork.trigger.text import read_text

_LONGEST_TEXT = 256
_INSTANT = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[+-][0-9:]+)?)?", re.IGNORECASE)
_RRULE = re.compile(r"(?:RRULE:|DTSTART[;:]|EXDATE[;:]|FREQ=)", re.IGNORECASE)
_REPEATING = re.compile(r"R[0-9]*/", re.IGNORECASE)
_CRON = re.compile(
    r"(?:(?:CRON_)?TZ=\S+\s+)?(?:@|[0-9*?H][0-9*?H,/()-]*\s+[0-9*?H][0-9*?H,/()-]*(?:\s|$))", re.IGNORECASE
)
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.IGNORECASE)
_EVERY = re.compile(r"@every\s+(\S.*)", re.IGNORECASE)


class Setting(NamedTuple):
    """What reading a form may depend on besides its text."""

    zone: Zone
    start: int | None
    now: datetime
    seed: str


def form_of(text: str) -> str:
    """Which way of saying when a plain text is."""
    text = text.strip()
    if _RRULE.match(text):
        return "rrule"
    if _INSTANT.fullmatch(text):
        return "at"
    return "cron" if _CRON.match(text) else "text"


def read_form(form: str, value: object, setting: Setting) -> Moment | list[Draft]:
    """One instant, or one or more schedules that repeat."""
    return _READERS[form](value, setting)


def _read_at(value: object, setting: Setting) -> Moment:
    return Moment(read_instant(value, setting.zone), setting.zone)


def _read_in(value: object, setting: Setting) -> Moment:
    return Moment(setting.now + read_duration(value), setting.zone)


def _read_every(value: object, _: Setting) -> list[Draft]:
    return [Draft(read_every(value))]


def _read_fields(value: object, setting: Setting) -> list[Draft]:
    return [Draft(read_cron(read_fields(value), setting.seed))]


def _read_rrule(value: object, setting: Setting) -> list[Draft]:
    return [read_rrule(_bounded(value, LONGEST["rrule"]), setting.zone, setting.start)]


def _read_cron(value: object, setting: Setting) -> list[Draft]:
    text = _bounded(value, LONGEST["cron"])
    zoned = _ZONE.fullmatch(text)
    if zoned:
        zone = zone_named(zoned[1])
        return [draft._replace(zone=zone) for draft in _read_cron(zoned[2], setting)]
    every = _EVERY.fullmatch(text)
    return [Draft(read_every(every[1]))] if every else [Draft(read_cron(text, setting.seed))]


def _read_text(value: object, setting: Setting) -> Moment | list[Draft]:
    """Any of the ways that are texts."""
    text = _bounded(value, _LONGEST_TEXT)
    form = form_of(text)
    if form != "text":
        return read_form(form, text, setting)
    if _REPEATING.match(text):
        return [read_iso(text, setting.zone)]
    return _read_sentence(text, setting)


def _bounded(value: object, longest: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Misread("a text is needed here")
    if len(value) > longest:
        raise Misread(f"a text of at most {longest} characters, not {len(value)}")
    return value.strip()


def _read_sentence(text: str, setting: Setting) -> Moment | list[Draft]:
    sentence = read_text(text, setting.zone, setting.now)
    zone = sentence.zone or setting.zone
    if sentence.at is not None:
        return Moment(sentence.at, zone)
    start = read_start(sentence.options.get("start"), zone)
    anchor = local_anchor(setting.start if start is None else start, zone)
    shared = Draft(
        0,
        sentence.zone,
        start,
        read_end(sentence.options.get("end"), zone),
        None,
        sentence.options.get("exclude", {}),
    )
    return [
        shared._replace(what=simplest(read_rule(what, anchor)[0]) if isinstance(what, str) else what)
        for what in sentence.schedules
    ]


_READERS: dict[str, Callable[[object, Setting], Moment | list[Draft]]] = {
    "at": _read_at,
    "in": _read_in,
    "cron": _read_cron,
    "every": _read_every,
    "rrule": _read_rrule,
    "text": _read_text,
    "fields": _read_fields,
}
FORMS = tuple(_READERS)
