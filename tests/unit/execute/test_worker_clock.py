"""A worker's estimate of the database's clock: late by at most a round trip, never early."""

from hypothesis import given
from hypothesis import strategies as st

from tickwork.execute.clock import DatabaseClock

SECOND = 1_000_000
_delays = st.floats(min_value=0.0, max_value=0.5)


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def ask(clock: DatabaseClock, time: ManualClock, *, ahead: float, there: float, back: float) -> None:
    sent = time.at
    time.at += there
    database = int((time.at + ahead) * SECOND)
    time.at += back
    clock.learn(sent=sent, database=database)


def test_a_quick_answer_after_a_slow_one_improves_the_estimate():
    time = ManualClock()
    clock = DatabaseClock(time)
    ask(clock, time, ahead=1000, there=0.1, back=0.4)
    assert clock.now() == int((time.at + 1000 - 0.4) * SECOND)
    time.at += 3
    ask(clock, time, ahead=1000, there=0.0, back=0.001)
    assert abs(clock.now() - (time.at + 1000 - 0.001) * SECOND) <= 1


def test_a_slow_answer_after_a_quick_one_hardly_changes_the_estimate():
    time = ManualClock()
    clock = DatabaseClock(time)
    ask(clock, time, ahead=1000, there=0.0, back=0.0)
    time.at += 3
    ask(clock, time, ahead=1000, there=0.1, back=0.4)
    late = (time.at + 1000) * SECOND - clock.now()
    assert 0 <= late < 0.001 * SECOND


def test_follows_a_database_whose_clock_is_set_back():
    time = ManualClock()
    clock = DatabaseClock(time)
    ask(clock, time, ahead=1000, there=0.0, back=0.0)
    time.at += 3
    ask(clock, time, ahead=940, there=0.01, back=0.01)
    assert clock.now() <= (time.at + 940) * SECOND


def test_follows_a_database_whose_clock_is_set_forward():
    time = ManualClock()
    clock = DatabaseClock(time)
    ask(clock, time, ahead=1000, there=0.0, back=0.0)
    time.at += 3
    ask(clock, time, ahead=1060, there=0.01, back=0.01)
    assert abs(clock.now() - (time.at + 1060 - 0.01) * SECOND) <= 1


@given(
    st.lists(st.tuples(_delays, _delays, st.floats(min_value=0, max_value=10)), min_size=1),
    st.floats(-5e-5, 5e-5),
)
def test_is_never_ahead_of_the_database_and_behind_by_no_more_than_the_last_answer_took(answers, drift):
    time = ManualClock()
    clock = DatabaseClock(time)
    for there, back, pause in answers:
        ask(clock, time, ahead=1000 + time.at * drift, there=there, back=back)
        behind = (time.at * (1 + drift) + 1000) * SECOND - clock.now()
        assert -100 <= behind <= (back + 0.001) * SECOND
        time.at += pause
