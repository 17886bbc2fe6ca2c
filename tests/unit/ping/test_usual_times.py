"""What is usual for a ping is learned from its latest runs."""

from datetime import timedelta

from tickwork.ping.usual_times import late_after, slow_after
from tickwork.store.port.ping import PastRun


def runs(*seconds: float) -> list[PastRun]:
    return [PastRun(each, each) for each in seconds]


def test_nothing_is_usual_before_there_were_five_runs() -> None:
    assert late_after(runs(1, 1, 1, 1)) is None
    assert slow_after(runs(1, 1, 1, 1)) is None
    assert slow_after([*runs(1, 1, 1, 1), PastRun(None, None)]) is None


def test_slow_is_twice_as_long_as_nearly_all_and_at_least_ten_seconds_longer() -> None:
    assert slow_after(runs(*[60.0] * 20)) == timedelta(seconds=120)
    assert slow_after(runs(*[1.0] * 20)) == timedelta(seconds=11)


def test_late_is_twice_as_late_as_nearly_all_and_at_least_a_minute() -> None:
    assert late_after(runs(*[300.0] * 20)) == timedelta(minutes=10)
    assert late_after(runs(*[3.0] * 20)) == timedelta(minutes=1)


def test_a_run_that_came_early_was_not_late() -> None:
    assert late_after(runs(*[-30.0] * 20)) == timedelta(minutes=1)


def test_one_run_that_hung_does_not_make_it_usual() -> None:
    assert slow_after(runs(*[60.0] * 19, 36_000.0)) == timedelta(seconds=120)


def test_a_weekly_long_run_is_usual() -> None:
    assert slow_after(runs(*[60.0] * 17, 600.0, 600.0, 600.0)) == timedelta(seconds=1200)
