"""How many in how long, as people write it: "10/s", "100/1m", "500/1h"."""

import re
from datetime import timedelta
from typing import NamedTuple

from tickwork.model.duration import parse_duration

_RATE = re.compile(r"(\d{1,9})\s*/\s*(\S.{0,30})")
_LONGEST = timedelta(days=1)


class Rate(NamedTuple):
    amount: int
    per: timedelta

    @property
    def interval(self) -> timedelta:
        return self.per / self.amount


def parse_rate(text: str) -> Rate:
    """Read a rate; ValueError says what would have been right."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise _wrong(text)
    try:
        per = parse_duration(f"1{match[2]}" if match[2].isalpha() else match[2])
    except ValueError:
        raise _wrong(text) from None
    if int(match[1]) == 0 or not per or per > _LONGEST:
        raise ValueError("a rate is at least 1 in a time of up to a day")
    return Rate(int(match[1]), per)


def _wrong(text: str) -> ValueError:
    return ValueError(
        f'{text[:80]!r} is not a rate; write how many in how long, such as "10/s", "100/1m" or "500/1h"'
    )
