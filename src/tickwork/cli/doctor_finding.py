"""One finding of `tickwork doctor`."""

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True):
    status: Literal["ok", "warn", "fail"]
    what: str
    found: str
    fix: str = ""
