"""How many slots are wanted at once, and who has to wait."""

from tickwork.model.forecast_slot_shortage import Demand, peaks, waits


def test_counts_the_most_at_once_in_each_step() -> None:
    demands = [Demand(0, 15), Demand(5, 1), Demand(22, 3), Demand(23, 1)]
    assert peaks(demands, begin=0, step=10, steps=4) == [2, 1, 2, 0]


def test_what_ends_exactly_where_a_step_begins_is_not_in_it() -> None:
    assert peaks([Demand(0, 10)], begin=0, step=10, steps=2) == [1, 0]


def test_what_lies_outside_of_all_steps_is_left_out() -> None:
    assert peaks([Demand(-50, 20), Demand(900, 5), Demand(-5, 10)], begin=0, step=10, steps=2) == [1, 0]


def test_nobody_waits_where_there_are_enough_slots() -> None:
    assert waits([Demand(at, 10) for at in (0, 1, 2)], slots=3) == []


def test_says_when_there_are_too_few_how_many_are_wanted_and_how_late_the_last_one_starts() -> None:
    (wait,) = waits([Demand(100, 10)] * 5, slots=2)
    assert (wait.begin, wait.until, wait.wanted, wait.delay) == (100, 120, 5, 20)


def test_two_crowds_that_are_apart_are_two_waits() -> None:
    crowds = [Demand(at, 1) for at in (0, 0, 0, 50, 50)]
    assert [(wait.begin, wait.wanted) for wait in waits(crowds, slots=1)] == [(0, 3), (50, 2)]


def test_without_any_slot_there_is_no_shortage_that_ends() -> None:
    assert waits([Demand(0, 1)], slots=0) == []
