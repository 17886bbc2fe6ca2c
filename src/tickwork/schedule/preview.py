"""Previews a schedule: its canonical form, its words, the next due times, and warnings such as clock changes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Preview, PreviewTime, Recurring, Timing
from tickwork.schedule.due.calendar_bit_masks import DAY, to_seconds
from tickwork.schedule.due.time_zone import Zone, zone_named
from tickwork.schedule.english.describe import clock_text
from tickwork.schedule.errors import ScheduleProblems
from tickwork.schedule.instant_and_duration import Moment, check_year, write_instant
from tickwork.schedule.options import read_zone
from tickwork.schedule.parse import parse_with_notes
from tickwork.schedule.preview_warnings import cron_difference_warnings, warnings_of
from tickwork.schedule.zone_name import zone_warning

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
    """A schedule that is never due gets a warning and no times. One that cannot be parsed raises Invalid."""
    problems = ScheduleProblems()
    viewer = problems.attempt("viewer_timezone", read_zone, viewer_timezone)
    if after is not None:
        problems.attempt("after", check_year, after)
    if not 1 <= count <= MOST_TIMES:
        problems.add("count", f"count is a number from 1 to {MOST_TIMES}")
    try:
        parsed, notes = parse_with_notes(schedule, timezone, now=now)
    except Invalid as invalid:
        raise Invalid([*problems.found, *invalid.errors]) from invalid
    problems.raise_any()
    zone = read_zone(timezone) or zone_named("UTC")
    if isinstance(parsed, Recurring):
        found = _recurring(parsed.timing, after or now, count, zone, viewer)
        about = [*notes, *cron_difference_warnings(schedule), *_zone_warnings(found.canonical)]
        return msgspec.structs.replace(found, warnings=[*about, *found.warnings])
    moment = parsed or Moment(now, zone)
    words = moment.words if parsed else "now"
    warnings = [*notes, *filter(None, [zone_warning(moment.zone.name)])]
    return Preview({"at": write_instant(moment.at)}, words, [_time(moment.at, moment.zone, viewer)], warnings)


def _recurring(timing: Timing, after: datetime, count: int, zone: Zone, viewer: Zone | None) -> Preview:
    canonical = timing.canonical
    zone = _zone_of(canonical) or zone
    due = list(islice(timing.due_times(after), min(count, canonical.get("max_runs", count))))
    times = [_time(at, zone, viewer) for at in due]
    return Preview(canonical, timing.words, times, list(warnings_of(timing, canonical, after, due)))


def _zone_warnings(canonical: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys(part.get("timezone", "UTC") for part in canonical.get("any", [canonical]))
    return [warning for name in names if (warning := zone_warning(name))]


def _zone_of(canonical: Mapping[str, Any]) -> Zone | None:
    """The time zone of the first part that has one; a period has none."""
    names = [part["timezone"] for part in canonical.get("any", [canonical]) if "timezone" in part]
    return zone_named(names[0]) if names else None


def _time(at: datetime, zone: Zone, viewer: Zone | None) -> PreviewTime:
    return PreviewTime(
        at.astimezone(UTC),
        _local(at, zone),
        _clock_change_note(to_seconds(at), zone),
        _local(at, viewer) if viewer else None,
    )


def _local(at: datetime, zone: Zone) -> str:
    local = at.astimezone(zone.info)
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}" if local.second else f"{local:%a %Y-%m-%d %H:%M %Z}"


def _clock_change_note(due: int, zone: Zone) -> str | None:
    """A note for a due time at which a clock change skips or repeats times; else None."""
    offset_period = zone.offset_period(due)
    following = zone.offset_period(offset_period.end)
    shown = clock_text((due + offset_period.offset) % DAY)
    if due == offset_period.start and offset_period.offset > offset_period.before:
        return f"the clocks jump from {clock_text((due + offset_period.before) % DAY)} to {shown}"
    if due - offset_period.start < offset_period.before - offset_period.offset:
        return f"the clocks show {shown} for the second time"
    if offset_period.end - due <= offset_period.offset - following.offset:
        return f"the clocks show {shown} twice, this is the first time"
    return None
