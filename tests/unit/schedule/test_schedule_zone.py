"""Zones against their data files, read here byte by byte."""

import struct
from collections.abc import Iterator
from datetime import timedelta
from importlib.resources import files
from itertools import pairwise

import pytest

from tickwork.schedule.due.calendar_bit_masks import BEGIN, DAY, END, from_seconds
from tickwork.schedule.due.time_zone import Zone, zone_data_version, zone_named, zone_names
from tickwork.schedule.errors import ScheduleError

HEADER = struct.Struct(">4s c 15x 6l")


def offset_changes(name: str) -> Iterator[tuple[int, int]]:
    """The changes of offset that a zone's file lists one by one, and what they change to."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    _, _, *counts = HEADER.unpack_from(data)
    at = HEADER.size + _size(counts, 4)
    _, _, *counts = HEADER.unpack_from(data, at)
    at += HEADER.size
    number, kinds = counts[3], counts[4]
    instants = struct.unpack_from(f">{number}q", data, at)
    types = data[at + 8 * number : at + 9 * number]
    offsets = [struct.unpack_from(">l", data, at + 9 * number + 6 * kind)[0] for kind in range(kinds)]
    previous = offsets[0]
    for instant, kind in zip(instants, types, strict=True):
        if offsets[kind] != previous:
            yield instant, offsets[kind]
        previous = offsets[kind]


def _size(counts: list[int], instant: int) -> int:
    in_utc, standard, leaps, instants, kinds, characters = counts
    return instants * (instant + 1) + kinds * 6 + characters + leaps * (instant + 4) + standard + in_utc


def test_no_change_of_any_zone_is_overlooked() -> None:
    for name in sorted(zone_names()):
        zone = Zone(name)
        listed = [(at, offset) for at, offset in offset_changes(name) if BEGIN <= at < END]
        found = [(zone.offset_period(at).start, zone.offset_period(at).offset) for at, _ in listed]
        assert found == listed, name
        for (at, _), (following, _) in pairwise(listed):
            assert zone.offset_period(at).end == following, name


def test_the_rule_of_every_zone_is_followed_to_the_end() -> None:
    """Against the standard library, every month and around every change."""
    seen = set()
    for name in sorted(zone_names()):
        zone = Zone(name)
        offset_periods = zone.offset_periods(BEGIN, END - 1)
        if offset_periods in seen:  # another name of the same zone
            continue
        seen.add(offset_periods)
        around = [
            at
            for offset_period in offset_periods[1:]
            for at in (offset_period.start - 1, offset_period.start)
        ]
        for at in [*range(BEGIN, END, 30 * DAY), *around]:
            offset = from_seconds(at).astimezone(zone.info).utcoffset()
            assert offset == timedelta(seconds=zone.offset_period(at).offset), f"{name} at {from_seconds(at)}"


def test_the_stretches_between_two_instants_come_to_an_end() -> None:
    zone = zone_named("Europe/Paris")
    assert len(zone.offset_periods(END - 400 * DAY, END + 400 * DAY)) == 3
    assert len(zone.offset_periods(END + DAY, END + 9999 * DAY)) == 1


def test_a_zone_without_changes_is_one_stretch() -> None:
    assert zone_named("UTC").offset_period(0).end >= END
    assert zone_named("Asia/Tokyo").offset_period(END - 1).offset == 9 * 3600


def test_the_zone_data_come_with_tickwork() -> None:
    assert len(zone_names()) > 500
    assert zone_data_version().startswith("20")


@pytest.mark.parametrize(
    "name", ["", "/etc/localtime", "../UTC", "Europe", "europe/paris", "UTC\0", "x" * 1000]
)
def test_only_names_of_zones_are_looked_up(name: str) -> None:
    with pytest.raises(ScheduleError):
        zone_named(name)
