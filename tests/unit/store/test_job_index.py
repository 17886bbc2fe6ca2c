"""The sets of the index of jobs, and the terms that jobs are found by."""

import random
from typing import Any

import pytest

from tickwork.store.job_index.bit_sets import (
    SEGMENT,
    CreationTimes,
    bits_of,
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
from tickwork.store.job_index.terms import JobText, term_hash, word_hash

CHANCE = random.Random(7)  # noqa: S311 (the same in every run)


@pytest.mark.parametrize("size", [0, 1, 5, 900, 5000, SEGMENT])
def test_a_set_gives_back_its_places_in_both_orders(size: int) -> None:
    there = sorted(CHANCE.sample(range(SEGMENT), size))
    bits = bits_of(there)
    assert bits.bit_count() == size
    assert list(places_of(bits, newest_first=False)) == there
    assert list(places_of(bits, newest_first=True)) == there[::-1]
    assert decoded(encoded(bits)) == bits


def test_the_first_and_the_last_id_of_a_segment_are_in_it() -> None:
    assert split(0) == (0, 0)
    assert split(SEGMENT - 1) == (0, SEGMENT - 1)
    assert split(SEGMENT) == (1, 0)
    assert up_to(-1) == 0
    assert up_to(SEGMENT - 1).bit_count() == SEGMENT


def test_terms_that_share_a_row_are_told_apart() -> None:
    """Also where the bytes of one entry and the next look like another term."""
    terms = [CHANCE.getrandbits(63) for _ in range(300)] + [n << 8 for n in (0, 1, 256, 65_536, 16_777_216)]
    there = {term: sorted(CHANCE.sample(range(SEGMENT), CHANCE.randrange(40))) for term in terms}
    data = b"".join(entries(term, found) for term, found in there.items())
    for term, found in there.items():
        assert sorted(places_in_bucket(data, term)) == found


def test_an_entry_is_removed_and_the_others_stay() -> None:
    data = entries(1 << 8, [1, 2, 3]) + entries(2 << 8, [2]) + entries(1 << 8, [2])
    data = without_entry(data, 1 << 8, 2)
    assert places_in_bucket(data, 1 << 8) == [1, 3]
    assert places_in_bucket(data, 2 << 8) == [2]


def test_entries_of_jobs_that_are_gone_are_dropped() -> None:
    data = entries(1 << 8, [1, 300, 65_535]) + entries(2 << 8, [300, 301])
    kept = entries_within(data, bits_of([300, 65_535]))
    assert places_in_bucket(kept, 1 << 8) == [300, 65_535]
    assert places_in_bucket(kept, 2 << 8) == [300]


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
