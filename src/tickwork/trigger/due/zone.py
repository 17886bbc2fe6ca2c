"""A time zone as stretches of time in which its clocks run evenly."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tickwork.trigger.due.epoch import DAY, END, from_seconds, to_seconds
from tickwork.trigger.due.times import Times
from tickwork.trigger.misread import Misread

_DATA = "tzdata"
_SECOND = timedelta(seconds=1)
_PROBE = 5 * DAY  # less than the time between any two changes of any zone since 1970, which a test holds true


class Stretch(NamedTuple):
    """From start until just before end, local time is UTC plus the offset; until then, UTC plus `before`."""

    start: int
    end: int
    offset: int
    before: int


class Zone:
    __slots__ = ("_disturbed", "_starts", "_stretches", "info", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.info = _read(name)
        self._stretches = tuple(self._walk())
        self._starts = [stretch.start for stretch in self._stretches]
        self._disturbed = frozenset(map(_disturbed, self._stretches[1:]))

    def stretch(self, at: int) -> Stretch:
        return self._stretches[max(bisect_right(self._starts, at) - 1, 0)]

    def local(self, at: int) -> int:
        """What the clocks on the wall say, as seconds since 1970 if this were UTC."""
        return at + self.stretch(at).offset

    def instant(self, local: datetime) -> int:
        """When the wall clock first says so; where it never does, the moment it jumps past."""
        early = to_seconds(local.replace(tzinfo=self.info, fold=0))
        late = to_seconds(local.replace(tzinfo=self.info, fold=1))
        return self.stretch(early).start if late < early else early

    def day_start(self, day: int) -> int:
        """The first instant of a local day, counted in days since 1970."""
        return self.instant(from_seconds(day * DAY).replace(tzinfo=None))

    def disturbs(self, times: Times) -> bool:
        """Whether its clocks ever skip or repeat one of these times of day."""
        for low, length in self._disturbed:
            first = times.first_from(low)
            if (first if first >= 0 else DAY + times.first_from(0)) - low < length:
                return True
        return False

    def _walk(self) -> Iterator[Stretch]:
        start = 0
        before = offset = self._offset(0)
        for change in self._changes():
            yield Stretch(start, change, offset, before)
            start, before, offset = change, offset, self._offset(change)
        yield Stretch(start, END + _PROBE, offset, before)

    def _changes(self) -> Iterator[int]:
        """The instants at which the offset changes."""
        step, shift = timedelta(seconds=_PROBE), self.info.fromutc
        probe = from_seconds(0).replace(tzinfo=self.info)
        old = shift(probe) - probe
        for low in range(0, END, _PROBE):
            probe += step
            new = shift(probe) - probe
            if new != old:
                yield self._change_after(low)
                old = new

    def _change_after(self, low: int) -> int:
        old = self._offset(low)
        return low + bisect_left(range(low, low + _PROBE), 1, key=lambda at: self._offset(at) != old)

    def _offset(self, at: int) -> int:
        utc = from_seconds(at).replace(tzinfo=self.info)
        return (self.info.fromutc(utc) - utc) // _SECOND


def _disturbed(stretch: Stretch) -> tuple[int, int]:
    """From which second of the day on local time was skipped or repeated when it began, and for how long."""
    low, high = sorted((stretch.before, stretch.offset))
    return (stretch.start + low) % DAY, high - low


@cache
def zone_named(name: str) -> Zone:
    """The zone of that name, from the pinned data: nodes must agree whatever their system has."""
    if name not in zone_names():
        raise Misread(f"there is no time zone {name[:64]!r}", _suggestion(name[:64]))
    return Zone(name)


def zone_data_version() -> str:
    return version(_DATA)


@cache
def zone_names() -> frozenset[str]:
    return frozenset(files(_DATA).joinpath("zones").read_text().split())


def _read(name: str) -> ZoneInfo:
    with files(_DATA).joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def _suggestion(name: str) -> str:
    wanted = name.strip().lower().replace(" ", "_")
    known = {zone.lower(): zone for zone in sorted(zone_names())}
    cities = {zone.rsplit("/", 1)[-1]: zone for zone in known}
    near = (
        [wanted] if wanted in known else [cities[city] for city in get_close_matches(wanted, cities, 1, 0.8)]
    )
    near = near or get_close_matches(wanted, known, 1)
    return f"did you mean {known[near[0]]!r}?" if near else 'use an IANA name such as "Europe/Paris" or "UTC"'
