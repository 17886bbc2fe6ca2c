"""Any way of saying when → one canonical form."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.schedule import Once, Recurring, Schedule, Timing
from tickwork.trigger.draft import canonical_of
from tickwork.trigger.due.zone import zone_named
from tickwork.trigger.form import FORMS, Setting, form_of, read_form
from tickwork.trigger.once import Moment
from tickwork.trigger.option import JOB_NAMES, NAMES, Options, read_job_options, read_options, read_zone
from tickwork.trigger.problems import Problems
from tickwork.trigger.timing import canonical_text, timing_from_text

__all__ = ["parse_schedule", "timing_from_text", "understand", "why_never"]

_KINDS = (*FORMS, "any")
_MOST_JOINED = 32
_LONGEST, _LONGEST_KEPT = 16_384, 512
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def parse_schedule(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> Schedule:
    """Understand a schedule. Invalid names every field that is wrong, and the schedule if it is never due."""
    understood = understand(schedule, timezone, now=now, seed=seed)
    if understood is None:
        return Once(None, "now")
    if isinstance(understood, Moment):
        return Once(understood.at, understood.words)
    if understood.timing.next_after(now) is None:
        raise Invalid.field(_main_path(schedule), *why_never(understood.timing))
    return understood


def understand(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> Moment | Recurring | None:
    """The same, but never being due is no mistake, and None means now."""
    if schedule is None:
        _check_zone(timezone)
        return None
    if isinstance(schedule, dict) and ("at" in schedule or "in" in schedule):
        return _read(schedule, timezone, now, seed)
    key = msgspec.json.encode(schedule)
    return _repeated(key, timezone, seed if b"H" in key.upper() else "") or _read(
        schedule, timezone, now, seed
    )


@lru_cache(maxsize=4096)
def _repeated(schedule: bytes, timezone: str | None, seed: str) -> Recurring | None:
    """A schedule that repeats means the same whenever it is said; one instant is not for keeping."""
    found = _read(msgspec.json.decode(schedule), timezone, _BEGINNING, seed)
    return found if isinstance(found, Recurring) else None


def _check_zone(timezone: str | None) -> None:
    problems = Problems()
    problems.attempt("timezone", read_zone, timezone)
    problems.raise_any()


def _read(
    schedule: str | dict[str, Any], timezone: str | None, now: datetime, seed: str
) -> Moment | Recurring:
    problems = Problems()
    zone = problems.attempt("timezone", read_zone, timezone)
    reader = _Reader(problems, now, seed)
    found = reader.moment_or_parts(schedule, Options(zone), "schedule", (*NAMES, *JOB_NAMES))
    of_job = read_job_options(schedule, problems) if isinstance(schedule, dict) else {}
    problems.raise_any()
    if isinstance(found, Moment):
        return found
    text = canonical_text(_join(found) | of_job)
    return Recurring(text, timing_from_text(text))


def why_never(timing: Timing) -> tuple[str, str]:
    if timing.next_after(_BEGINNING) is None:
        return "this is never due: no such time exists", "check the day and the month, and what is excluded"
    return "this is never due: all of its times have passed", "check the year and the end"


def _main_path(schedule: str | dict[str, Any] | None) -> str:
    kinds = [name for name in _KINDS if isinstance(schedule, dict) and name in schedule]
    return f"schedule.{kinds[0]}" if kinds else "schedule"


def _join(parts: list[dict[str, Any]]) -> dict[str, Any]:
    unique = {canonical_text(part): part for part in parts}
    return parts[0] if len(unique) == 1 else {"any": [part for _, part in sorted(unique.items())]}


class _Reader(NamedTuple):
    problems: Problems
    now: datetime
    seed: str

    def moment_or_parts(
        self, given: object, outer: Options, path: str, names: tuple[str, ...]
    ) -> Moment | list[dict[str, Any]]:
        """One instant, or canonical forms to be joined. Of no use once there are problems."""
        schedule = {form_of(given): given} if isinstance(given, str) else given
        if not isinstance(schedule, dict):
            self.problems.add(path, "a schedule is a text or an object", 'such as "every weekday at 9am"')
            return []
        self.problems.check_names(path, schedule, (*_KINDS, *names))
        options = read_options(schedule, outer, path, self.problems)
        kinds = [kind for kind in _KINDS if kind in schedule]
        if len(kinds) != 1:
            self.problems.add(
                path, f"has {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}", "give exactly one"
            )
            return []
        kind, value = kinds[0], schedule[kinds[0]]
        if kind == "any":
            return self._any(value, options, f"{path}.any")
        found = self.problems.attempt(
            path if isinstance(given, str) else f"{path}.{kind}",
            read_form,
            kind,
            value,
            Setting(options.zone or zone_named("UTC"), options.start, self.now, self.seed),
        )
        if isinstance(found, Moment):
            self._check_has_no_options(schedule, path)
            return found
        parts = (self.problems.attempt(path, canonical_of, draft, options) for draft in found or ())
        return [part for part in parts if part]

    def _any(self, value: object, options: Options, path: str) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not 1 <= len(value) <= _MOST_JOINED:
            self.problems.add(path, f"any is a list of 1 to {_MOST_JOINED} schedules")
            return []
        parts: list[dict[str, Any]] = []
        for at, given in enumerate(value):
            found = self.moment_or_parts(given, options, f"{path}[{at}]", NAMES)
            if isinstance(found, Moment):
                self.problems.add(f"{path}[{at}]", "is due only once", "join schedules that repeat")
            else:
                parts += found
        if len(parts) > _MOST_JOINED:
            self.problems.add(path, f"at most {_MOST_JOINED} schedules can be joined, not {len(parts)}")
        return parts

    def _check_has_no_options(self, schedule: dict[str, Any], path: str) -> None:
        for name in schedule:
            if name not in _KINDS and name != "timezone":
                self.problems.add(f"{path}.{name}", "goes with schedules that repeat only", "leave it out")
