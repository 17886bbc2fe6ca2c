"""Parses a schedule in any notation into its canonical form."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import KINDS, Once, Recurring, Schedule, Timing
from tickwork.schedule.canonical_form import ParsedSchedule, canonical_form, canonical_text
from tickwork.schedule.compile_timing import compile_source, timing_from_text
from tickwork.schedule.due.time_zone import zone_named
from tickwork.schedule.errors import ScheduleProblems
from tickwork.schedule.instant_and_duration import Moment
from tickwork.schedule.options import (
    JOB_OPTION_NAMES,
    OPTION_NAMES,
    Options,
    read_job_options,
    read_options,
    read_zone,
)
from tickwork.schedule.parse_notation import NOTATIONS, ReadContext, notation_of, read_notation

__all__ = ["parse_schedule", "parse_with_notes", "timing_from_text", "why_never_due"]

_LONGEST, _LONGEST_KEPT = 16_384, 512
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class ParseResult(NamedTuple):
    schedule: Moment | Recurring | None  # None means now
    notes: tuple[str, ...] = ()  # how ambiguous words were read


def parse_schedule(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> Schedule:
    """Parse a schedule. Raises Invalid with every field that is wrong, and if the schedule is never due."""
    parsed = parse_with_notes(schedule, timezone, now=now, seed=seed).schedule
    if parsed is None:
        return Once(None, "now")
    if isinstance(parsed, Moment):
        return Once(parsed.at, parsed.words)
    if parsed.timing.next_after(now) is None:
        raise Invalid.field(_main_path(schedule), *why_never_due(parsed.timing))
    return parsed


def parse_with_notes(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> ParseResult:
    """Like parse_schedule, with notes, and a schedule that is never due is not an error."""
    if schedule is None:
        _check_zone(timezone)
        return ParseResult(None)
    key = _encoded(schedule)
    if len(key) > _LONGEST_KEPT or (isinstance(schedule, dict) and ("at" in schedule or "in" in schedule)):
        return _read(schedule, timezone, now, seed)
    used_seed = seed if b"H" in key.upper() else ""
    return _cached_recurring(key, timezone, used_seed) or _read(schedule, timezone, now, seed)


@lru_cache(maxsize=4096)
def _cached_recurring(schedule: bytes, timezone: str | None, seed: str) -> ParseResult | None:
    """Caches recurring schedules, which do not depend on the current time. None for a single instant."""
    found = _read(msgspec.json.decode(schedule), timezone, _BEGINNING, seed)
    return found if isinstance(found.schedule, Recurring) else None


def _encoded(schedule: str | dict[str, Any]) -> bytes:
    try:
        encoded = msgspec.json.encode(schedule)
    except RecursionError as error:
        raise Invalid.field("schedule", "is nested too deep") from error
    if len(encoded) > _LONGEST:
        raise Invalid.field("schedule", f"a schedule is at most {_LONGEST} bytes of JSON, not {len(encoded)}")
    return encoded


def _check_zone(timezone: str | None) -> None:
    problems = ScheduleProblems()
    problems.attempt("timezone", read_zone, timezone)
    problems.raise_any()


def _read(schedule: str | dict[str, Any], timezone: str | None, now: datetime, seed: str) -> ParseResult:
    problems = ScheduleProblems()
    zone = problems.attempt("timezone", read_zone, timezone)
    notes: list[str] = []
    found = ScheduleReader(problems, now, seed, notes).read(schedule, Options(zone))
    of_job = read_job_options(schedule, problems) if isinstance(schedule, dict) else {}
    problems.raise_any()
    if isinstance(found, Moment):
        return ParseResult(found, tuple(notes))
    text = canonical_text(_join(found) | of_job)
    if len(text) > _LONGEST:
        raise Invalid.field(
            "schedule", f"this is too long: written in full it has {len(text)} bytes; the limit is {_LONGEST}"
        )
    return ParseResult(Recurring(text, timing_from_text(text)), tuple(notes))


def why_never_due(timing: Timing) -> tuple[str, str]:
    if timing.next_after(_BEGINNING) is None:
        return "this is never due: no such time exists", "check the day and the month, and what is excluded"
    return "this is never due: all of its times have passed", "check the year and the end"


def _main_path(schedule: str | dict[str, Any] | None) -> str:
    kinds = [name for name in KINDS if isinstance(schedule, dict) and name in schedule]
    return f"schedule.{kinds[0]}" if kinds else "schedule"


def _join(parts: list[dict[str, Any]]) -> dict[str, Any]:
    unique = {canonical_text(part): part for part in parts}
    return parts[0] if len(unique) == 1 else {"any": [part for _, part in sorted(unique.items())]}


_MOST_JOINED = 32

Part = dict[str, Any]


class ScheduleReader(NamedTuple):
    """Reads one schedule. Do not use what it returns if it added problems."""

    problems: ScheduleProblems
    now: datetime
    seed: str
    notes: list[str]  # how ambiguous words were read, to show to the user

    def read(self, given: object, outer: Options) -> Moment | list[Part]:
        return self._read(given, outer, "schedule", KINDS, (*OPTION_NAMES, *JOB_OPTION_NAMES))

    def _read(
        self, given: object, outer: Options, path: str, kinds: tuple[str, ...], names: tuple[str, ...]
    ) -> Moment | list[Part]:
        schedule = {notation_of(given): given} if isinstance(given, str) else given
        if not isinstance(schedule, dict):
            self.problems.add(path, "a schedule is a text or an object", 'such as "every weekday at 9am"')
            return []
        self.problems.check_names(path, schedule, (*kinds, *names))
        options = read_options(schedule, outer, path, self.problems)
        kind = self._only_kind(schedule, path, kinds)
        if kind is None:
            return []
        if kind == "any":
            return self._any(schedule["any"], options, f"{path}.any")
        found = self._read_kind(
            kind, schedule[kind], options, path if isinstance(given, str) else f"{path}.{kind}"
        )
        if isinstance(found, Moment):
            self._check_has_no_options(schedule, path)
            return found
        if kinds is NOTATIONS:
            self._check_needs_no_counting(found, path)
        return self._canonical(found, options, path)

    def _only_kind(self, schedule: dict[str, Any], path: str, kinds: tuple[str, ...]) -> str | None:
        found = [kind for kind in kinds if kind in schedule]
        if len(found) == 1:
            return found[0]
        given = " and ".join(found) or "none"
        self.problems.add(path, f"exactly one of {', '.join(kinds)} is needed, not {given}")
        return None

    def _read_kind(
        self, kind: str, value: object, options: Options, path: str
    ) -> Moment | list[ParsedSchedule]:
        context = ReadContext(options.zone or zone_named("UTC"), options.start, self.now, self.seed)
        found = self.problems.attempt(path, read_notation, kind, value, context) or []
        for read in [found] if isinstance(found, Moment) else found:
            self.notes.extend(note for note in read.notes if note not in self.notes)
        return found

    def _canonical(self, schedules: list[ParsedSchedule], options: Options, path: str) -> list[Part]:
        parts = (self.problems.attempt(path, canonical_form, parsed, options) for parsed in schedules)
        return [part for part in parts if part]

    def _any(self, value: object, options: Options, path: str) -> list[Part]:
        if not isinstance(value, list) or not 1 <= len(value) <= _MOST_JOINED:
            self.problems.add(path, f"any is a list of 1 to {_MOST_JOINED} schedules")
            return []
        parts: list[Part] = []
        for at, given in enumerate(value):
            parts += self._one_of_any(given, options, f"{path}[{at}]")
            if self.problems.found:
                return []
        if len(parts) > _MOST_JOINED:
            self.problems.add(path, f"at most {_MOST_JOINED} schedules can be joined, not {len(parts)}")
        return parts

    def _one_of_any(self, given: object, options: Options, path: str) -> list[Part]:
        found = self._read(given, options, path, NOTATIONS, OPTION_NAMES)
        if isinstance(found, Moment):
            self.problems.add(path, "is due only once", "join schedules that repeat")
            return []
        for part in found:
            if compile_source(part).next_after(-1) is None:
                self.problems.add(path, "this is never due: no such time exists")
        return found

    def _check_needs_no_counting(self, schedules: list[ParsedSchedule], path: str) -> None:
        for parsed in schedules:
            if parsed.due_times:
                self.problems.add(path, "COUNT does not go with any", "give the end instead")

    def _check_has_no_options(self, schedule: dict[str, Any], path: str) -> None:
        for name in schedule:
            if name not in KINDS and name != "timezone":
                self.problems.add(f"{path}.{name}", "is only for schedules that repeat", "leave it out")
