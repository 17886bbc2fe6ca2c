"""Which due time a run answers, and which one is awaited next."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.ping.expectation import Expectation
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.schedule.parse import parse_schedule

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def expectation(
    schedule: str | dict[str, Any], *, timezone: str | None = None, grace: timedelta = 10 * MINUTE
) -> Expectation:
    parsed = parse_schedule(schedule, timezone, now=NOON)
    assert isinstance(parsed, Recurring)
    return Expectation(timing_from_text(parsed.text), grace)


def test_a_period_counts_from_the_run_before_and_not_from_the_full_hour() -> None:
    hourly = expectation("every 1h")
    ran_at = NOON + 17 * MINUTE
    assert hourly.first_after(ran_at) == ran_at + HOUR
    assert hourly.after_answer(ran_at, ran_at, NOON) == ran_at + HOUR


def test_a_period_counts_from_the_start_of_a_run_unless_it_took_longer_than_that() -> None:
    hourly = expectation("every 1h")
    assert hourly.after_answer(NOON, NOON + 40 * MINUTE, NOON) == NOON + HOUR
    assert hourly.after_answer(NOON, NOON + 90 * MINUTE, NOON) == NOON + 150 * MINUTE


def test_other_schedules_name_their_due_times() -> None:
    nightly = expectation("0 2 * * *")
    due = NOON.replace(day=16, hour=2)
    assert nightly.first_after(NOON) == due
    assert nightly.after_answer(due + MINUTE, due + MINUTE, due) == due + 24 * HOUR


@pytest.mark.parametrize(
    ("early", "answers"), [(timedelta(), True), (50 * SECOND, True), (2 * MINUTE, False), (5 * HOUR, False)]
)
def test_a_clock_that_is_a_little_ahead_is_forgiven(early: timedelta, answers: bool) -> None:
    due = NOON.replace(day=16, hour=2)
    assert expectation("0 2 * * *").is_answered_by(due - early, due) is answers


def test_a_run_that_begins_early_answers_its_due_time_and_not_the_one_after() -> None:
    due = NOON.replace(day=16, hour=2)
    early = due - 10 * SECOND
    assert expectation("0 2 * * *").after_answer(early, early, due) == due + 24 * HOUR


def test_no_run_counts_twice_when_due_times_are_close_together() -> None:
    often = expectation("*/1 * * * *")
    assert not often.is_answered_by(NOON - 40 * SECOND, NOON)
    assert often.is_answered_by(NOON - 20 * SECOND, NOON)


def test_a_long_run_leaves_the_due_time_that_came_meanwhile_awaited() -> None:
    hourly = expectation("0 * * * *", grace=3 * HOUR)
    assert hourly.after_answer(NOON, NOON + 90 * MINUTE, NOON) == NOON + HOUR


def test_one_run_answers_all_due_times_before_it() -> None:
    hourly = expectation("0 * * * *", grace=3 * HOUR)
    late = NOON + 150 * MINUTE
    assert hourly.after_answer(late, late, NOON) == NOON + 3 * HOUR


@pytest.mark.parametrize("schedule", ["every 1h", "0 * * * *"])
def test_counts_the_due_times_that_were_missed_while_nobody_looked(schedule: str) -> None:
    missed = expectation(schedule).missed(NOON + 3 * HOUR + 15 * MINUTE, NOON)
    assert missed == (NOON + 3 * HOUR, 4, NOON + 4 * HOUR)
    only_one = expectation(schedule).missed(NOON + 10 * MINUTE, NOON)
    assert only_one == (NOON, 1, NOON + HOUR)


def test_clock_changes_move_the_due_times_of_a_zone() -> None:
    paris = expectation("0 2 * * *", timezone="Europe/Paris")
    before = datetime(2026, 10, 24, 0, tzinfo=UTC)  # 02:00 in summer
    after = paris.after_answer(before, before, before)
    assert after - before == 24 * HOUR  # 02:00 is repeated, and due once
    assert paris.after_answer(after, after, after) - after == 25 * HOUR


def test_a_schedule_that_ends_expects_nothing_more() -> None:
    last = expectation({"cron": "0 * * * *", "end": "2026-11-15T13:00:00Z"})
    assert last.after_answer(NOON + HOUR, NOON + HOUR, NOON + HOUR) is None
    assert last.missed(NOON + 5 * HOUR, NOON + HOUR) == (NOON + HOUR, 1, None)
