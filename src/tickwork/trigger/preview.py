"""What a schedule means: its canonical form, in words, and when it comes next."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.preview import Preview, PreviewTime
from tickwork.model.schedule import Recurring, Timing
from tickwork.trigger.dialect import other_readings
from tickwork.trigger.due.epoch import to_seconds
from tickwork.trigger.due.zone import Zone, zone_named
from tickwork.trigger.oddday import note_at
from tickwork.trigger.once import Moment, check_year, write_instant
from tickwork.trigger.option import read_zone
from tickwork.trigger.parse import understand
from tickwork.trigger.problems import Problems
from tickwork.trigger.warning import warnings_of
from tickwork.trigger.zone_name import zone_warning

MOST_TIMES = 100


def preview(
    schedule: str | dict[str, Any] | None,
    timezone: str | None,
    *,
    now: datetime,
    after: datetime | None = None,
    count: int = 5,
    viewer_timezone: str | None = None,
) -> Preview:
    """A schedule that is never due has a warning and no times; one not understood is Invalid."""
    problems = Problems()
    viewer = problems.attempt("viewer_timezone", read_zone, viewer_timezone)
    if after is not None:
        problems.attempt("after", check_year, after)
    if not 1 <= count <= MOST_TIMES:
        problems.add("count", f"count is a number from 1 to {MOST_TIMES}")
    try:
        understood, notes = understand(schedule, timezone, now=now)
    except Invalid as invalid:
        raise Invalid([*problems.found, *invalid.errors]) from invalid
    problems.raise_any()
    zone = read_zone(timezone) or zone_named("UTC")
    if isinstance(understood, Recurring):
        found = _recurring(understood.timing, after or now, count, zone, viewer)
        about = [*notes, *other_readings(schedule), *_about_zones(found.canonical)]
        return msgspec.structs.replace(found, warnings=[*about, *found.warnings])
    moment = understood or Moment(now, zone)
    words = moment.words if understood else "now"
    warnings = [*notes, *filter(None, [zone_warning(moment.zone.name)])]
    return Preview({"at": write_instant(moment.at)}, words, [_time(moment.at, moment.zone, viewer)], warnings)


def _recurring(timing: Timing, after: datetime, count: int, zone: Zone, viewer: Zone | None) -> Preview:
    canonical = timing.canonical
    zone = _zone_of(canonical) or zone
    due = list(islice(timing.due_times(after), min(count, canonical.get("max_runs", count))))
    times = [_time(at, zone, viewer) for at in due]
    return Preview(canonical, timing.words, times, list(warnings_of(timing, canonical, after, due)))


def _about_zones(canonical: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys(part.get("timezone", "UTC") for part in canonical.get("any", [canonical]))
    return [warning for name in names if (warning := zone_warning(name))]


def _zone_of(canonical: Mapping[str, Any]) -> Zone | None:
    """The first of the schedule's own; a period has none."""
    names = [part["timezone"] for part in canonical.get("any", [canonical]) if "timezone" in part]
    return zone_named(names[0]) if names else None


def _time(at: datetime, zone: Zone, viewer: Zone | None) -> PreviewTime:
    return PreviewTime(
        at.astimezone(UTC),
        _local(at, zone),
        note_at(to_seconds(at), zone),
        _local(at, viewer) if viewer else None,
    )


def _local(at: datetime, zone: Zone) -> str:
    local = at.astimezone(zone.info)
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}" if local.second else f"{local:%a %Y-%m-%d %H:%M %Z}"
