"""After a failover that may have lost commits, attempts of what was due by then have other numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.model.public_ids import to_micros
from tickwork.store.failover.new_attempt_numbers import AttemptFence, Fence
from tickwork.store.failover.notice_failover import Loss, Mark, ServerHistory, Survived, judge

NOW = datetime(2026, 11, 18, 5, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def test_attempts_begin_with_one_as_long_as_nothing_was_lost() -> None:
    assert AttemptFence().first_attempts([1, 2, 3]) == [1, 1, 1]


def test_what_was_due_by_the_failover_begins_with_a_higher_attempt() -> None:
    fence = AttemptFence()
    assert fence.raise_to(Fence(NOW, 100_001, 7))
    assert fence.first_attempts([to_micros(NOW), to_micros(NOW + _SECOND)]) == [100_001, 1]
    assert fence.first_lease == 7


def test_a_fence_is_never_lowered() -> None:
    fence = AttemptFence()
    fence.raise_to(Fence(NOW, 200_001, 7))
    assert not fence.raise_to(Fence(NOW + _SECOND, 100_001, 9))
    assert fence.columns == (NOW, 200_001)


@pytest.mark.parametrize(
    ("synchronous", "mark", "replayed", "loss"),
    [
        (True, 5, 900, "none"),  # WAL that nobody was told of may be missing
        (True, 4, 2000, "certain"),
        (True, None, 2000, "certain"),
        (False, 5, 2000, "possible"),  # what was committed since the mark is not known
        (False, 5, 900, "certain"),
        (False, 5, None, "possible"),
        (False, 4, 2000, "certain"),
        (False, 6, 2000, "possible"),  # a mark whose answer was lost
    ],
)
def test_loss_is_judged_by_the_last_mark_and_by_where_the_new_server_began(
    synchronous: bool, mark: int | None, replayed: int | None, loss: Loss
) -> None:
    known = Mark(5, NOW, 1000, synchronous)
    assert judge(known, Survived(mark, NOW, replayed, NOW)) == loss


def test_a_node_that_remembers_nothing_can_exclude_nothing() -> None:
    assert judge(None, Survived(None, None, None, None)) == "possible"


def test_an_earlier_timeline_was_replaced_and_that_of_another_cluster_was_not() -> None:
    assert ServerHistory("a", 1).precedes(ServerHistory("a", 2))
    assert not ServerHistory("b", 1).precedes(ServerHistory("a", 2))
