"""Times of day: some hours, some minutes of each, some seconds of each."""

from collections.abc import Iterable
from typing import NamedTuple


def bits(values: Iterable[int]) -> int:
    """A set of small numbers as one integer: bit n is set when n is in it."""
    mask = 0
    for value in values:
        mask |= 1 << value
    return mask


def members(mask: int) -> list[int]:
    return [value for value in range(mask.bit_length()) if mask >> value & 1]


def first_from(mask: int, low: int) -> int:
    """The smallest member that is at least `low`, or -1."""
    rest = mask >> low
    return low + (rest & -rest).bit_length() - 1 if rest else -1


EVERY_HOUR = bits(range(24))
EVERY_MINUTE = EVERY_SECOND = bits(range(60))


class Times(NamedTuple):
    hours: int
    minutes: int
    seconds: int = 1

    def first_from(self, second: int) -> int:
        """The first of these times at or after a second of the day, or -1."""
        hour, rest = divmod(second, 3600)
        if self.hours >> hour & 1 and (found := self._within_hour(rest)) >= 0:
            return hour * 3600 + found
        later = first_from(self.hours, hour + 1)
        return later * 3600 + self._within_hour(0) if later >= 0 else -1

    def _within_hour(self, second: int) -> int:
        minute, rest = divmod(second, 60)
        if self.minutes >> minute & 1 and (found := first_from(self.seconds, rest)) >= 0:
            return minute * 60 + found
        later = first_from(self.minutes, minute + 1)
        return later * 60 + first_from(self.seconds, 0) if later >= 0 else -1

    @property
    def per_day(self) -> int:
        return self.hours.bit_count() * self.minutes.bit_count() * self.seconds.bit_count()
