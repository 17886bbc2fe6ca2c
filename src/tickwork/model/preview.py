"""What a schedule was understood as, and when it is due next."""

from typing import Any

import msgspec

from tickwork.model.instant import Instant


class PreviewTime(msgspec.Struct, frozen=True):
    at: Instant
    local: str
    note: str | None = None


class Preview(msgspec.Struct, frozen=True):
    canonical: dict[str, Any]
    words: str
    times: list[PreviewTime]
    warnings: list[str] = []
