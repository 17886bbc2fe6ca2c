"""Histograms of durations that can be added up: how many fall into each bucket.

A duration is counted in units of 128 µs. Below 16 units each unit is a bucket; from there on, each power of two is
divided into eight. So a bucket is at most an eighth as wide as the durations in it are long, or one unit.
The SQL function tickwork.histogram_bucket computes the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

UNIT_BITS = 7  # a unit is 2**7 µs
_LINEAR = 16  # buckets of one unit each
_PARTS = 8  # buckets of each power of two

Key = TypeVar("Key")
Histogram = Mapping[int, int]  # how many are in each bucket


def bucket_of(units: int) -> int:
    if units < _LINEAR:
        return max(units, 0)
    power = units.bit_length() - 1
    return _PARTS * (power - 3) + (units >> (power - 3))


def bounds(bucket: int) -> tuple[int, int]:
    """The microseconds from which and up to which durations are in the bucket."""
    if bucket < _LINEAR:
        return bucket << UNIT_BITS, (bucket + 1) << UNIT_BITS
    power, part = divmod(bucket, _PARTS)
    shift = power - 1 + UNIT_BITS
    return (_PARTS + part) << shift, (_PARTS + part + 1) << shift


def in_buckets(units: Mapping[int, int]) -> dict[int, int]:
    """A histogram from how often each number of units occurred."""
    return add_up({bucket_of(value): count} for value, count in units.items())


def add_up(counts: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    total: Counter[Key] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def quantile(histogram: Histogram, share: float) -> float | None:
    """The duration in seconds that this share of them does not exceed, or None if there are none."""
    buckets = sorted(histogram)
    sums = list(accumulate(histogram[bucket] for bucket in buckets))
    if not sums or not sums[-1]:
        return None
    rank = share * sums[-1]
    for bucket, sum_ in zip(buckets, sums, strict=True):
        if sum_ >= rank and histogram[bucket]:
            first, last = bounds(bucket)
            within = (rank - (sum_ - histogram[bucket])) / histogram[bucket]
            return (first + (last - first) * within) / 1e6
    return bounds(buckets[-1])[1] / 1e6
