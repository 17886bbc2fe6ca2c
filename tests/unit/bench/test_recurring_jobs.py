"""How many executions are due is known by arithmetic, not by asking the scheduler."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.bench.recurring_jobs import RecurringLoad

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PULSE = RecurringLoad(0, 5, [1, 2], [NOON, NOON + timedelta(seconds=1)], timedelta(seconds=10))


@pytest.mark.parametrize(("seconds", "due"), [(-1, 0), (0, 5), (1, 10), (9, 10), (10, 15), (21, 30)])
def test_due_by_a_moment(seconds, due):
    assert PULSE.due_by(NOON + timedelta(seconds=seconds)) == due


def test_as_many_jobs_as_rules_hold():
    assert PULSE.jobs == 10
