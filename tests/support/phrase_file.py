"""The phrases of phrases.txt with what they mean."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

FILE = Path(__file__).with_name("phrases.txt")
YEAR = "2026-"


class Phrase(NamedTuple):
    schedule: str | dict[str, Any]
    zone: str | None
    kind: str  # = due again and again, @ due once, ! refused
    times: tuple[str, ...]  # by the clocks of the zone
    message: str  # of the refusal
    said_back: str

    @property
    def name(self) -> str:
        written = (
            self.schedule if isinstance(self.schedule, str) else msgspec.json.encode(self.schedule).decode()
        )
        return f"{self.zone} {written}".encode("ascii", "backslashreplace").decode()


def read_phrases() -> Iterator[Phrase]:
    zone: str | None = None
    head = Phrase("", None, "", (), "", "")
    for line in FILE.read_text(encoding="utf-8").split("\n"):
        kind, _, rest = line.partition(" ")
        if not line.strip() or kind == "#":
            continue
        if kind == "%":
            zone = rest or None
        elif kind == "!":
            head = Phrase("", None, kind, (), rest, "")
        elif kind in ("=", "@"):
            times, _, said_back = rest.partition(" ~ ")
            head = Phrase("", None, kind, tuple(map(_full, times.split(", "))), "", said_back)
        else:
            schedule = msgspec.json.decode(line) if line.startswith("{") else line
            yield head._replace(schedule=schedule, zone=zone)


def _full(time: str) -> str:
    time = time.strip()
    dated = time if time.startswith("20") else YEAR + time
    return dated if dated.count(":") == 2 else f"{dated}:00"
