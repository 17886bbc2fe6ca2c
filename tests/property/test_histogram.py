"""Histograms add up in any order, and their percentiles are never far from those of the durations themselves."""

from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from tickwork.model.statistics import UNIT_BITS, add_up, bounds, bucket_of, in_buckets, quantile

_MICROS = st.integers(0, 10**13)  # up to four months
_DURATIONS = st.lists(_MICROS, min_size=1, max_size=200)
_HISTOGRAMS = st.dictionaries(st.integers(0, 300), st.integers(1, 10**9), max_size=30)


def _histogram(durations: list[int]) -> dict[int, int]:
    return in_buckets(Counter(micros >> UNIT_BITS for micros in durations))


@given(_MICROS)
def test_a_duration_is_within_the_bounds_of_its_bucket(micros: int) -> None:
    first, last = bounds(bucket_of(micros >> UNIT_BITS))
    assert first <= micros < last


@given(st.integers(0, 300))
def test_buckets_follow_each_other_and_are_narrow(bucket: int) -> None:
    first, last = bounds(bucket)
    assert last == bounds(bucket + 1)[0]
    assert last - first <= max(first / 8, 1 << UNIT_BITS)


@given(_HISTOGRAMS, _HISTOGRAMS, _HISTOGRAMS)
def test_the_order_of_adding_up_does_not_matter(
    first: dict[int, int], second: dict[int, int], third: dict[int, int]
) -> None:
    together = add_up([first, second, third])
    assert together == add_up([first, add_up([second, third])])
    assert together == add_up([add_up([third, first]), second])


@given(_DURATIONS, _DURATIONS)
def test_durations_may_be_divided_among_histograms(some: list[int], others: list[int]) -> None:
    assert add_up([_histogram(some), _histogram(others)]) == _histogram([*some, *others])


@given(_DURATIONS, st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_is_at_most_one_bucket_away_from_the_true_one(
    durations: list[int], share: float
) -> None:
    true = sorted(durations)[ceil(share * len(durations)) - 1]
    first, last = bounds(bucket_of(true >> UNIT_BITS))
    estimate = quantile(_histogram(durations), share)
    assert estimate is not None
    assert first <= round(estimate * 1e6) <= last


def test_nothing_has_no_percentile() -> None:
    assert quantile({}, 0.5) is None


def test_durations_before_zero_count_as_none() -> None:
    assert bucket_of(-5) == 0
