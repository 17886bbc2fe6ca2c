"""Any way of saying when → one canonical form."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.schedule import KINDS, Once, Recurring, Schedule, Timing
from tickwork.trigger.once import Moment
from tickwork.trigger.option import Options, read_job_options, read_zone
from tickwork.trigger.problems import Problems
from tickwork.trigger.reader import Reader
from tickwork.trigger.timing import canonical_text, timing_from_text

__all__ = ["parse_schedule", "timing_from_text", "understand", "why_never"]

_LONGEST, _LONGEST_KEPT = 16_384, 512
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Understood(NamedTuple):
    schedule: Moment | Recurring | None  # None means now
    notes: tuple[str, ...] = ()  # what was read into the words


def parse_schedule(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> Schedule:
    """Understand a schedule. Invalid names every field that is wrong, and the schedule if it is never due."""
    understood = understand(schedule, timezone, now=now, seed=seed).schedule
    if understood is None:
        return Once(None, "now")
    if isinstance(understood, Moment):
        return Once(understood.at, understood.words)
    if understood.timing.next_after(now) is None:
        raise Invalid.field(_main_path(schedule), *why_never(understood.timing))
    return understood


def understand(
    schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str = ""
) -> Understood:
    """The same, but never being due is no mistake."""
    if schedule is None:
        _check_zone(timezone)
        return Understood(None)
    key = _encoded(schedule)
    if len(key) > _LONGEST_KEPT or (isinstance(schedule, dict) and ("at" in schedule or "in" in schedule)):
        return _read(schedule, timezone, now, seed)
    spread = seed if b"H" in key.upper() else ""
    return _repeated(key, timezone, spread) or _read(schedule, timezone, now, seed)


@lru_cache(maxsize=4096)
def _repeated(schedule: bytes, timezone: str | None, seed: str) -> Understood | None:
    """A schedule that repeats means the same whenever it is said; one instant is not for keeping."""
    found = _read(msgspec.json.decode(schedule), timezone, _BEGINNING, seed)
    return found if isinstance(found.schedule, Recurring) else None


def _encoded(schedule: str | dict[str, Any]) -> bytes:
    try:
        encoded = msgspec.json.encode(schedule)
    except RecursionError as error:
        raise Invalid.field("schedule", "a schedule is not that deep") from error
    if len(encoded) > _LONGEST:
        raise Invalid.field("schedule", f"a schedule is at most {_LONGEST} bytes of JSON, not {len(encoded)}")
    return encoded


def _check_zone(timezone: str | None) -> None:
    problems = Problems()
    problems.attempt("timezone", read_zone, timezone)
    problems.raise_any()


def _read(schedule: str | dict[str, Any], timezone: str | None, now: datetime, seed: str) -> Understood:
    problems = Problems()
    zone = problems.attempt("timezone", read_zone, timezone)
    notes: list[str] = []
    found = Reader(problems, now, seed, notes).read(schedule, Options(zone))
    of_job = read_job_options(schedule, problems) if isinstance(schedule, dict) else {}
    problems.raise_any()
    if isinstance(found, Moment):
        return Understood(found, tuple(notes))
    text = canonical_text(_join(found) | of_job)
    if len(text) > _LONGEST:
        raise Invalid.field(
            "schedule", f"this is too long: written in full it has {len(text)} bytes, not {_LONGEST}"
        )
    return Understood(Recurring(text, timing_from_text(text)), tuple(notes))


def why_never(timing: Timing) -> tuple[str, str]:
    if timing.next_after(_BEGINNING) is None:
        return "this is never due: no such time exists", "check the day and the month, and what is excluded"
    return "this is never due: all of its times have passed", "check the year and the end"


def _main_path(schedule: str | dict[str, Any] | None) -> str:
    kinds = [name for name in KINDS if isinstance(schedule, dict) and name in schedule]
    return f"schedule.{kinds[0]}" if kinds else "schedule"


def _join(parts: list[dict[str, Any]]) -> dict[str, Any]:
    unique = {canonical_text(part): part for part in parts}
    return parts[0] if len(unique) == 1 else {"any": [part for _, part in sorted(unique.items())]}
