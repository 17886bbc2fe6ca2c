"""The first due time to run after an outage, found without computing all missed ones."""

from datetime import UTC, datetime, timedelta

import pytest

from support.call_count import calls
from support.schedule_reading import timing
from tickwork.model.catch_up_policy import CatchUp
from tickwork.store.port.trigger import DueRule
from tickwork.trigger.catch_up import STEPS, plan

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)


def late_rule(next_at: datetime, catch_up: CatchUp) -> DueRule:
    return DueRule(
        id=1, timing="", catch_up=catch_up.text(), next_at=next_at, last_at=None, cursor=None, now=NOW
    )


@pytest.mark.parametrize("wanted", [1, 7, 100])
@pytest.mark.parametrize(
    "schedule", ["every 5m", "* * * 4 3 *", "0 9 * * MON", "* * 10 4 3 *", {"any": ["every 7m", "@hourly"]}]
)
def test_finds_the_same_newest_due_times_as_a_search_through_all(schedule: str, wanted: int) -> None:
    read, begin = timing(schedule), NOW - timedelta(days=20)
    next_at = read.next_after(begin)
    assert next_at is not None
    missed = [next_at]
    while (due := read.next_after(missed[-1])) is not None and due <= NOW:
        missed.append(due)
    planned = plan(late_rule(next_at, CatchUp("all", "30d", wanted)), read, steps=len(missed) + 1)
    assert planned.round is not None
    assert planned.round.scheduled_for == missed[-wanted:][0]


@pytest.mark.parametrize("wanted", [1, 100])
def test_does_not_compute_every_due_time_of_a_year(wanted: int) -> None:
    """All due times are on one day of the year, so a search that reaches that day finds tens of thousands."""
    read = timing("* * * 3 1 *")
    rule = late_rule(datetime(2026, 1, 3, tzinfo=UTC), CatchUp("all", "365d", wanted))
    calls(lambda: plan(rule, read, steps=1), 200 * STEPS)
