"""Slots that were in use, and slots that will be wanted."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.model.job import HTTP_TASK
from tickwork.model.statistics import bucket_of
from tickwork.model.upcoming import DueTime
from tickwork.store.timeline_store import RunningNow
from tickwork.timeline.slots_over_time import (
    Use,
    average_demand,
    demands_of,
    ended_uses,
    running_uses,
    shortages,
    slots_in_use,
    wanted_slots,
)

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def minutes(uses: list[Use], until: datetime = NOON + 4 * MINUTE) -> dict[int, float]:
    parts = slots_in_use(uses, NOON, until, MINUTE)
    return {round((part.begin - NOON) / MINUTE): round(part.slots, 6) for part in parts}


def due(at: datetime, task: str = "work") -> DueTime:
    return DueTime(at=at, job_id="j1", name=None, task=task, queue="default")


def test_a_long_run_takes_its_slot_all_the_time_and_not_only_in_the_minute_in_which_it_ends() -> None:
    assert minutes([Use(NOON + 3 * MINUTE, 120, 1)]) == {1: 1.0, 2: 1.0}


def test_short_runs_take_a_share_of_a_minute() -> None:
    assert minutes([Use(NOON + MINUTE, 6, 5)]) == {0: 0.5}


def test_what_began_before_the_range_or_ended_after_it_is_cut_off() -> None:
    assert minutes([Use(NOON + MINUTE, 3600, 2)]) == {0: 2.0}
    assert minutes([Use(NOON + 90 * MINUTE, 5340, 1)], NOON + 2 * MINUTE) == {1: 1.0}
    assert minutes([Use(NOON - MINUTE, 10, 1)]) == {}


def test_the_buckets_of_statistics_and_what_still_runs_count() -> None:
    ended = list(ended_uses([(NOON, {bucket_of(30_000_000 >> 7): 4})], MINUTE))
    assert minutes(ended)[0] == pytest.approx(2.0, rel=0.1)
    running = [
        RunningNow(1, "work", NOON, NOON + MINUTE),
        RunningNow(2, HTTP_TASK, NOON, NOON),
    ]
    assert minutes(list(running_uses(running, NOON + 3 * MINUTE))) == {1: 1.0, 2: 1.0}


def test_what_runs_goes_on_for_as_long_as_usual_and_http_calls_want_no_slot() -> None:
    running = [
        RunningNow(1, "work", NOON, NOON - MINUTE),
        RunningNow(2, "work", NOON, NOON - 5 * MINUTE),  # longer than usual: nobody knows for how long
        RunningNow(3, HTTP_TASK, NOON, NOON),
    ]
    coming = [due(NOON + MINUTE), due(NOON + MINUTE, HTTP_TASK)]
    demands = demands_of(running, coming, {"work": 90.0, HTTP_TASK: 5.0}, NOON)
    assert [each.length for each in demands] == [30.0, 90.0]


def test_says_how_many_are_wanted_at_once_and_where_there_are_too_few() -> None:
    demands = demands_of([], [due(NOON + MINUTE)] * 3, {"work": 30.0}, NOON)
    (part,) = wanted_slots(demands, NOON, NOON + 5 * MINUTE, MINUTE)
    assert (part.begin, part.slots) == (NOON + MINUTE, 3)
    (shortage,) = shortages(demands, 2, NOON)
    assert shortage.begin == NOON + MINUTE
    assert shortage.until == NOON + MINUTE + timedelta(seconds=30)
    assert (shortage.wanted, shortage.slots, shortage.delay) == (3, 2, 30.0)


def test_what_is_counted_and_not_listed_is_an_average() -> None:
    counts = {"work": [(NOON, 6.0)], "new": [(NOON, 60.0)], HTTP_TASK: [(NOON, 1000.0)]}
    (part,) = average_demand(counts, {"work": 20.0}, MINUTE, NOON + timedelta(hours=1))
    assert part.slots == pytest.approx(6 * 20 / 60 + 60 * 1 / 60)
