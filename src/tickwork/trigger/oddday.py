"""Days on which the clocks of a zone jump, as far as a schedule notices."""

from collections.abc import Iterator
from itertools import pairwise

from tickwork.trigger.due.epoch import DAY, from_seconds
from tickwork.trigger.due.wallclock import WallClock
from tickwork.trigger.due.zone import Stretch, Zone
from tickwork.trigger.english.names import clock


def note_at(due: int, zone: Zone) -> str | None:
    """What is odd about the wall clock at a due time."""
    stretch = zone.stretch(due)
    following = zone.stretch(stretch.end)
    shown = clock((due + stretch.offset) % DAY)
    if due == stretch.start and stretch.offset > stretch.before:
        return f"the clocks jump from {clock((due + stretch.before) % DAY)} to {shown}"
    if due - stretch.start < stretch.before - stretch.offset:
        return f"the clocks show {shown} for the second time"
    if stretch.end - due <= stretch.offset - following.offset:
        return f"the clocks show {shown} twice, this is the first time"
    return None


def odd_days(wall: WallClock, start: int, end: int) -> Iterator[str]:
    """What happens to the times that the clocks skip or repeat between two instants."""
    for before, after in pairwise(wall.zone.stretches(start, end)):
        low, high = sorted((before.end + before.offset, before.end + after.offset))
        if wall.shows_between(low, high):
            yield _odd_day(wall, before, after)


def _odd_day(wall: WallClock, before: Stretch, after: Stretch) -> str:
    at, then = clock((before.end + before.offset) % DAY), clock((before.end + after.offset) % DAY)
    date = f"{from_seconds(before.end + min(before.offset, after.offset)):%Y-%m-%d}"
    if after.offset > before.offset:
        fate = f"run at {then}" if wall.dst.gap == "next" else "do not run"
        return f"{date}: the clocks jump from {at} to {then}; times between {fate}"
    return f"{date}: the clocks go back from {at} to {then}; times between run {wall.dst.repeat}"
