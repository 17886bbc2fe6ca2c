"""What a schedule was understood as, and when it is due next."""

from typing import Any

import msgspec

from tickwork.model.instant import Instant


class PreviewTime(msgspec.Struct, frozen=True):
    at: Instant
    local: str  # as the clocks of the schedule's zone show it
    note: str | None = None  # what is odd about it
    viewer: str | None = None  # as the clocks of the viewer's zone show it


class Preview(msgspec.Struct, frozen=True):
    canonical: dict[str, Any]
    words: str
    times: list[PreviewTime]
    warnings: list[str] = []
