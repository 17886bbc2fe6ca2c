"""Where running begins again after an outage, found without walking through all that was missed."""

from datetime import UTC, datetime, timedelta

import pytest

from support.call_count import calls
from support.schedule_reading import timing
from tickwork.model.job import CatchUp
from tickwork.store.port.trigger import DueRule
from tickwork.trigger.catch_up import STEPS, plan

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)


def late(next_at: datetime, catch_up: CatchUp) -> DueRule:
    return DueRule(
        id=1, timing="", catch_up=catch_up.text(), next_at=next_at, last_at=None, cursor=None, now=NOW
    )


@pytest.mark.parametrize("wanted", [1, 7, 100])
@pytest.mark.parametrize(
    "schedule", ["every 5m", "* * * 4 3 *", "0 9 * * MON", "* * 10 4 3 *", {"any": ["every 7m", "@hourly"]}]
)
def test_the_newest_due_times_are_those_of_a_walk_over_all(schedule: str, wanted: int) -> None:
    read, begin = timing(schedule), NOW - timedelta(days=20)
    next_at = read.next_after(begin)
    assert next_at is not None
    missed = [next_at]
    while (due := read.next_after(missed[-1])) is not None and due <= NOW:
        missed.append(due)
    planned = plan(late(next_at, CatchUp("all", "30d", wanted)), read, steps=len(missed) + 1)
    assert planned.round is not None
    assert planned.round.scheduled_for == missed[-wanted:][0]


@pytest.mark.parametrize("wanted", [1, 100])
def test_a_year_of_seconds_is_not_walked_through(wanted: int) -> None:
    """All of them are due on one day of the year: whatever reaches back to it finds tens of thousands."""
    read = timing("* * * 3 1 *")
    rule = late(datetime(2026, 1, 3, tzinfo=UTC), CatchUp("all", "365d", wanted))
    calls(lambda: plan(rule, read, steps=1), 200 * STEPS)
