"""The name of a time zone as people write it, such as europe/paris or EST, and warnings about such names."""

import re
from functools import cache

from tickwork.schedule.due.calendar_bit_masks import END
from tickwork.schedule.due.time_zone import Zone, zone_named, zone_names
from tickwork.schedule.errors import ScheduleError

_OFFSET = re.compile(r"(?:UTC|GMT)\s?([+-])([0-9]{1,2})(?::?(00|[1-9][0-9]))?")
_FARTHEST = {"+": 14, "-": 12}
# IANA names that many people use for the local time of a place.
_PLACES = {
    "EST": "America/New_York",
    "MST": "America/Denver",
    "HST": "Pacific/Honolulu",
    "CET": "Europe/Paris",
    "MET": "Europe/Paris",
    "EET": "Europe/Athens",
    "WET": "Europe/Lisbon",
    "EST5EDT": "America/New_York",
    "CST6CDT": "America/Chicago",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
}
# Not zone names: several places use them, or a place uses them only for half of the year.
_USED_IN = {
    "PST": ("America/Los_Angeles", "Asia/Manila"),
    "PDT": ("America/Los_Angeles",),
    "MDT": ("America/Denver",),
    "CST": ("America/Chicago", "Asia/Shanghai", "America/Havana"),
    "CDT": ("America/Chicago", "America/Havana"),
    "EDT": ("America/New_York",),
    "AKST": ("America/Anchorage",),
    "AST": ("America/Halifax", "Asia/Riyadh"),
    "NST": ("America/St_Johns",),
    "ET": ("America/New_York",),
    "CT": ("America/Chicago",),
    "MT": ("America/Denver",),
    "PT": ("America/Los_Angeles",),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "CEST": ("Europe/Paris", "Europe/Berlin"),
    "EEST": ("Europe/Athens",),
    "WEST": ("Europe/Lisbon",),
    "MSK": ("Europe/Moscow",),
    "JST": ("Asia/Tokyo",),
    "KST": ("Asia/Seoul",),
    "HKT": ("Asia/Hong_Kong",),
    "SGT": ("Asia/Singapore",),
    "PKT": ("Asia/Karachi",),
    "GST": ("Asia/Dubai",),
    "AEST": ("Australia/Sydney", "Australia/Brisbane"),
    "AEDT": ("Australia/Sydney",),
    "ACST": ("Australia/Adelaide", "Australia/Darwin"),
    "AWST": ("Australia/Perth",),
    "NZST": ("Pacific/Auckland",),
    "NZDT": ("Pacific/Auckland",),
    "SAST": ("Africa/Johannesburg",),
    "EAT": ("Africa/Nairobi",),
    "CAT": ("Africa/Maputo",),
    "WAT": ("Africa/Lagos",),
    "BRT": ("America/Sao_Paulo",),
    "ART": ("America/Argentina/Buenos_Aires",),
}
ABBREVIATIONS = frozenset({"UTC", "GMT", *_PLACES, *_USED_IN})


def read_zone_name(name: str) -> Zone:
    """In upper or lower case. ScheduleError suggests the zones that may be meant."""
    if name in zone_names():
        return zone_named(name)
    known = _by_small_letters().get(name.strip().replace(" ", "_").lower())
    if known:
        return zone_named(known)
    upper = name.strip().upper()
    if upper in _USED_IN:
        places = " or ".join(_USED_IN[upper])
        raise ScheduleError(f"{name.strip()!r} is not the name of one time zone", f"name a place: {places}")
    if _OFFSET.fullmatch(upper):
        raise ScheduleError(f"{name.strip()!r} is not the name of a time zone", _fixed_offset_hint(upper))
    return zone_named(name)


def is_zone_name(name: str) -> bool:
    return name.lower() in _by_small_letters()


@cache
def _by_small_letters() -> dict[str, str]:
    return {known.lower(): known for known in zone_names()}


def _fixed_offset_hint(name: str) -> str:
    match = _OFFSET.fullmatch(name)
    hours = int(match[2]) if match else 0
    if not match or match[3] not in (None, "00") or hours > _FARTHEST[match[1]]:
        return "name a place, such as Asia/Kolkata"
    sign, side = ("-", "ahead of") if match[1] == "+" else ("+", "behind")
    return f"name a place, or write Etc/GMT{sign}{hours}, which is {hours} hours {side} UTC"


def zone_warning(name: str) -> str | None:
    """A warning for abbreviations, which may not mean what the user expects."""
    if name not in _PLACES:
        return None
    zone = zone_named(name)
    offset = zone.offset_period(END - 1).offset // 3600
    fixed = zone.offset_period(END - 1).start == 0
    clocks = f"is UTC{offset:+} all year, without summer time" if fixed else "has summer time"
    return f"the time zone {name} {clocks}; name a place to be sure, such as {_PLACES[name]}"
