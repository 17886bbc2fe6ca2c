"""What time it is in the zones of this process's schedules, and for how long none of them changes its clocks."""

from collections.abc import Mapping
from typing import NamedTuple

from tickwork.schedule.due.calendar_bit_masks import DAY, END
from tickwork.schedule.due.time_zone import loaded_zones


class ZoneTimes(NamedTuple):
    """At one instant, by the names of zones."""

    seconds: Mapping[str, int]  # of the local day
    skipped: Mapping[str, int]  # where a clock change skips some at this very instant
    until: int  # when the next clock change is, in any of them


def zone_times(at: int) -> ZoneTimes:
    """At an instant in seconds since 1970."""
    periods = {zone.name: zone.offset_period(at) for zone in loaded_zones()}
    return ZoneTimes(
        {name: (at + period.offset) % DAY for name, period in periods.items()},
        {
            name: period.offset - period.before
            for name, period in periods.items()
            if period.start == at and period.offset > period.before
        },
        min((period.end for period in periods.values()), default=END),
    )
