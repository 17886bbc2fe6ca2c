"""A time zone as a sequence of periods, each with one offset from UTC."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO
from struct import unpack_from
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tickwork.schedule.due.calendar_bit_masks import DAY, END, Times, from_seconds, to_seconds
from tickwork.schedule.errors import ScheduleError

_DATA = "tzdata"
_SECOND = timedelta(seconds=1)
_HEADER, _COUNTS = 44, 20  # of a TZif block: the length of its header, and where its counts begin
_WEEKS = (52 * 7 * DAY, 53 * 7 * DAY)  # from one year's n-th Sunday of a month to the next year's
_PROBE = 5 * DAY  # shorter than the time between two changes of a rule


class OffsetPeriod(NamedTuple):
    """From start until just before end, local time is UTC plus `offset`. Before the start it is UTC plus `before`."""

    start: int
    end: int
    offset: int
    before: int


class Zone:
    __slots__ = ("_offset_periods", "_skipped_or_repeated", "_starts", "info", "name")

    def __init__(self, name: str) -> None:
        data = files(_DATA).joinpath("zoneinfo", *name.split("/")).read_bytes()
        self.name = name
        self.info = ZoneInfo.from_file(BytesIO(data), key=name)
        self._offset_periods = tuple(self._walk(data))
        self._starts = [offset_period.start for offset_period in self._offset_periods]
        self._skipped_or_repeated = frozenset(map(_skipped_or_repeated, self._offset_periods[1:]))

    def offset_period(self, at: int) -> OffsetPeriod:
        return self._offset_periods[max(bisect_right(self._starts, at) - 1, 0)]

    def offset_periods(self, start: int, end: int) -> Sequence[OffsetPeriod]:
        """The periods that overlap the time between two instants, in order."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        return self._offset_periods[first : bisect_right(self._starts, end)]

    def local(self, at: int) -> int:
        """Local time, in seconds since 1970 as if it were UTC."""
        return at + self.offset_period(at).offset

    def instant(self, local: datetime) -> int:
        """The first instant with this local time. If a clock change skips it, the instant of the change."""
        early = to_seconds(local.replace(tzinfo=self.info, fold=0))
        late = to_seconds(local.replace(tzinfo=self.info, fold=1))
        return self.offset_period(early).start if late < early else early

    def day_start(self, day: int) -> int:
        """The first instant of a local day, counted in days since 1970."""
        offset_period = self.offset_period(day * DAY)
        if offset_period.start + 2 * DAY < day * DAY < offset_period.end - 2 * DAY:
            return day * DAY - offset_period.offset
        return self.instant(from_seconds(day * DAY).replace(tzinfo=None))

    def skips_or_repeats(self, times: Times) -> bool:
        """Whether a clock change ever skips or repeats one of these times of day."""
        for low, length in self._skipped_or_repeated:
            first = times.first_from(low)
            if (first if first >= 0 else DAY + times.first_from(0)) - low < length:
                return True
        return False

    def _walk(self, data: bytes) -> Iterator[OffsetPeriod]:
        start = 0
        before = offset = self._offset(0)
        for change in self._changes(data):
            following = self._offset(change)
            if change > 0 and following != offset:
                yield OffsetPeriod(start, change, offset, before)
                start, before, offset = change, offset, following
        yield OffsetPeriod(start, END + DAY, offset, before)

    def _changes(self, data: bytes) -> Iterator[int]:
        """The instants at which the offset may change: first those that the data lists, then those of its rule for all
        later years, if it has one: two a year, each on the n-th weekday of a month."""
        listed = _listed_changes(data)
        yield from listed
        if b"," not in data.rsplit(b"\n", 2)[1]:
            return
        last = max(listed[-1], 0) if listed else 0
        found = self._first_by_rule(last)
        while found:
            yield from found
            found = [self._year_later(change) for change in found]
            found = [change for change in found if change < END]

    def _first_by_rule(self, after: int) -> list[int]:
        """The changes of the year that follows, to the second."""
        probes = range(after, after + _WEEKS[1] + _PROBE, _PROBE)
        return [self._change_between(low, low + _PROBE) for low in probes if self._differ(low, low + _PROBE)][
            :2
        ]

    def _change_between(self, low: int, high: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._differ(low, middle) else (middle, high)
        return high

    def _year_later(self, change: int) -> int:
        return next(change + weeks for weeks in _WEEKS if self._differ(change + weeks - 1, change + weeks))

    def _differ(self, one: int, other: int) -> bool:
        return self._offset(one) != self._offset(other)

    def _offset(self, at: int) -> int:
        utc = from_seconds(at).replace(tzinfo=self.info)
        return (self.info.fromutc(utc) - utc) // _SECOND


def _skipped_or_repeated(offset_period: OffsetPeriod) -> tuple[int, int]:
    """The local times that the change at the start skips or repeats: first second of the day, and length."""
    low, high = sorted((offset_period.before, offset_period.offset))
    return (offset_period.start + low) % DAY, high - low


_loaded: dict[str, Zone] = {}


def zone_named(name: str) -> Zone:
    """The zone of that name, from the pinned tzdata package: all nodes must agree, whatever their systems have."""
    zone = _loaded.get(name)
    if zone is None:
        if name not in zone_names():
            raise ScheduleError(f"there is no time zone {name[:64]!r}", _suggestion(name[:64]))
        zone = _loaded[name] = Zone(name)
    return zone


def loaded_zones() -> list[Zone]:
    """Those that a schedule of this process has used."""
    return list(_loaded.values())


def zone_data_version() -> str:
    return version(_DATA)


@cache
def zone_names() -> frozenset[str]:
    return frozenset(files(_DATA).joinpath("zones").read_text().split())


def _listed_changes(data: bytes) -> tuple[int, ...]:
    """Reads the 64-bit block of a TZif file (RFC 8536), which follows the 32-bit block."""
    utc, standard, leap, changes, types, letters = unpack_from(">6l", data, _COUNTS)
    second = _HEADER + changes * 5 + types * 6 + letters + leap * 8 + standard + utc
    count = unpack_from(">6l", data, second + _COUNTS)[3]
    return unpack_from(f">{count}q", data, second + _HEADER)


def _suggestion(name: str) -> str:
    wanted = name.strip().lower().replace(" ", "_")
    known = {zone.lower(): zone for zone in sorted(zone_names())}
    cities = {zone.rsplit("/", 1)[-1]: zone for zone in known}
    near = (
        [wanted] if wanted in known else [cities[city] for city in get_close_matches(wanted, cities, 1, 0.8)]
    )
    near = near or get_close_matches(wanted, known, 1)
    return f"did you mean {known[near[0]]!r}?" if near else 'use an IANA name such as "Europe/Paris" or "UTC"'
