"""What a schedule means: its canonical form, in words, and when it comes next."""

from datetime import datetime
from typing import Any

import msgspec

from tickwork.model.schedule import Once
from tickwork.trigger.once import write_instant
from tickwork.trigger.parse import parse_schedule


class PreviewTime(msgspec.Struct, frozen=True):
    at: datetime
    local: str
    note: str | None = None


class Preview(msgspec.Struct, frozen=True):
    canonical: dict[str, Any]
    words: str
    times: list[PreviewTime]
    warnings: list[str] = []


def preview(
    schedule: str | dict[str, Any] | None,
    timezone: str | None,
    *,
    now: datetime,
    after: datetime | None = None,
    count: int = 5,
    viewer_timezone: str | None = None,
) -> Preview:
    understood = parse_schedule(schedule, timezone, now=now)
    if isinstance(understood, Once):
        at = understood.at or now
        return Preview({"at": write_instant(at)}, understood.words, [PreviewTime(at, at.isoformat())])
    times: list[PreviewTime] = []
    due = understood.timing.next_after(after or now)
    while due is not None and len(times) < count:
        times.append(PreviewTime(due, due.isoformat()))
        due = understood.timing.next_after(due)
    return Preview(understood.timing.canonical, understood.timing.words, times)
