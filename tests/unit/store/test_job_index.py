"""The sets of the index of jobs, and the terms that jobs are found by."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickwork.store.job_index.bit_sets import (
    SEGMENT,
    CreationTimes,
    bits_of,
    bits_of_runs,
    decoded,
    encoded,
    entries,
    entries_within,
    places_in_bucket,
    places_of,
    split,
    up_to,
    without_entry,
)
from tickwork.store.job_index.terms import (
    JobText,
    hash_of_due,
    hour_hash,
    hour_of,
    rule_hash,
    term_hash,
    word_hash,
)

CHANCE = random.Random(7)  # noqa: S311 (the same in every run)


@pytest.mark.parametrize("size", [0, 1, 5, 900, 5000, SEGMENT])
def test_a_set_gives_back_its_places_in_both_orders(size: int) -> None:
    there = sorted(CHANCE.sample(range(SEGMENT), size))
    bits = bits_of(there)
    assert bits.bit_count() == size
    assert list(places_of(bits, newest_first=False)) == there
    assert list(places_of(bits, newest_first=True)) == there[::-1]
    assert decoded(encoded(bits)) == bits


def test_runs_of_places_are_the_set_of_all_of_them() -> None:
    runs = [(0, 0), (2, 7), (9, 4_000), (SEGMENT - 2, SEGMENT - 1)]
    places = [place for first, last in runs for place in range(first, last + 1)]
    assert bits_of_runs(*zip(*runs, strict=True)) == bits_of(places)
    assert bits_of_runs([0], [SEGMENT - 1]) == up_to(SEGMENT - 1)
    assert bits_of_runs([], []) == 0


def test_the_first_and_the_last_id_of_a_segment_are_in_it() -> None:
    assert split(0) == (0, 0)
    assert split(SEGMENT - 1) == (0, SEGMENT - 1)
    assert split(SEGMENT) == (1, 0)
    assert up_to(-1) == 0
    assert up_to(SEGMENT - 1).bit_count() == SEGMENT


def test_terms_that_share_a_row_are_told_apart() -> None:
    """Also where the bytes of one entry and the next look like another term."""
    terms = [CHANCE.getrandbits(63) for _ in range(300)] + [n << 10 for n in (0, 1, 256, 65_536, 16_777_216)]
    there = {term: sorted(CHANCE.sample(range(SEGMENT), CHANCE.randrange(40))) for term in terms}
    data = b"".join(entries(term, found) for term, found in there.items())
    for term, found in there.items():
        assert sorted(places_in_bucket(data, term)) == found


def test_an_entry_is_removed_and_the_others_stay() -> None:
    data = entries(1 << 10, [1, 2, 3]) + entries(2 << 10, [2]) + entries(1 << 10, [2])
    data = without_entry(data, 1 << 10, 2)
    assert places_in_bucket(data, 1 << 10) == [1, 3]
    assert places_in_bucket(data, 2 << 10) == [2]


def test_entries_of_jobs_that_are_gone_are_dropped() -> None:
    data = entries(1 << 10, [1, 300, 65_535]) + entries(2 << 10, [300, 301])
    kept = entries_within(data, bits_of([300, 65_535]))
    assert places_in_bucket(kept, 1 << 10) == [300, 65_535]
    assert places_in_bucket(kept, 2 << 10) == [300]


def test_creation_times_leave_out_blocks_outside_a_range() -> None:
    times = CreationTimes()
    times.note(0, 100, 200)
    times.note(63, 300, 400)
    times = CreationTimes(times.encoded())
    assert times.within(0, 99) == 0
    assert times.within(200, 250) == up_to(1023)
    assert times.within(0, 1000).bit_count() == 2048
    assert times.within(350, 360) == up_to(1023) << (63 * 1024)


def job(**fields: Any) -> JobText:
    empty = JobText("default", "reports.weekly.eu", None, None, (), None, None)
    return empty._replace(**fields)


@pytest.mark.parametrize(
    ("kind", "value", "is_there"),
    [
        ("queue", "default", True),
        ("task", "reports.weekly.eu", True),
        ("task", "reports.weekly", False),
        ("under", "reports.", True),
        ("under", "reports.weekly.", True),
        ("under", "rep", False),
        ("tag", "EU", True),
        ("tag", "eu", False),
        ("owner", "Ann", True),
        ("owner", "ann", False),
    ],
)
def test_a_job_has_the_terms_that_filters_ask_for(kind: str, value: str, is_there: bool) -> None:
    assert (term_hash(kind, value) in job(tags=("EU",), owner="Ann").hashes()) is is_there


@pytest.mark.parametrize(
    ("word", "is_there"),
    [
        ("invoice", True),
        ("inv", True),
        ("in", False),
        ("invoices", True),
        ("reports", True),
        ("weekl", True),
        ("42", True),
        ("4", False),
        ("straße".casefold(), True),
        ("ann", False),
    ],
)
def test_a_job_has_the_words_of_its_texts(word: str, is_there: bool) -> None:
    """Of a word of letters three are enough; numbers are found as a whole."""
    there = job(name="Invoices_2", key="customer-42", tags=("Straße",), owner="Ann").hashes()
    assert (word_hash(word) in there) is is_there


def test_a_one_time_job_is_found_by_its_hour_and_a_recurring_one_by_its_rule() -> None:
    at = datetime(2026, 3, 1, 12, 59, 59, 999_999, tzinfo=UTC)
    hour = hour_of(at)
    assert hour_of(at + timedelta(microseconds=1)) == hour + 1
    assert hash_of_due(None, at) == hash_of_due(None, at - timedelta(minutes=59)) == hour_hash(hour)
    assert hash_of_due(7, None) == rule_hash(7) != hour_hash(7)
    assert hash_of_due(None, None) is None
    assert hour_of(datetime(1969, 12, 31, 23, 30, tzinfo=UTC)) == -1
