"""The database's clock as a worker sees it: late by at most a round trip, never early."""

from hypothesis import given
from hypothesis import strategies as st

from tickwork.execute.clock import DatabaseClock

SECOND = 1_000_000
_delays = st.floats(min_value=0.0, max_value=0.5)


class Hand:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def ask(clock: DatabaseClock, hand: Hand, *, ahead: float, there: float, back: float) -> None:
    sent = hand.at
    hand.at += there
    database = int((hand.at + ahead) * SECOND)
    hand.at += back
    clock.learn(sent=sent, database=database)


def test_a_quick_answer_after_a_slow_one_brings_it_nearer():
    hand = Hand()
    clock = DatabaseClock(hand)
    ask(clock, hand, ahead=1000, there=0.1, back=0.4)
    assert clock.now() == int((hand.at + 1000 - 0.4) * SECOND)
    hand.at += 3
    ask(clock, hand, ahead=1000, there=0.0, back=0.001)
    assert abs(clock.now() - (hand.at + 1000 - 0.001) * SECOND) <= 1


def test_a_slow_answer_after_a_quick_one_changes_little():
    hand = Hand()
    clock = DatabaseClock(hand)
    ask(clock, hand, ahead=1000, there=0.0, back=0.0)
    hand.at += 3
    ask(clock, hand, ahead=1000, there=0.1, back=0.4)
    late = (hand.at + 1000) * SECOND - clock.now()
    assert 0 <= late < 0.001 * SECOND


def test_follows_a_database_whose_clock_is_set_back():
    hand = Hand()
    clock = DatabaseClock(hand)
    ask(clock, hand, ahead=1000, there=0.0, back=0.0)
    hand.at += 3
    ask(clock, hand, ahead=940, there=0.01, back=0.01)
    assert clock.now() <= (hand.at + 940) * SECOND


def test_follows_a_database_whose_clock_is_set_forward():
    hand = Hand()
    clock = DatabaseClock(hand)
    ask(clock, hand, ahead=1000, there=0.0, back=0.0)
    hand.at += 3
    ask(clock, hand, ahead=1060, there=0.01, back=0.01)
    assert abs(clock.now() - (hand.at + 1060 - 0.01) * SECOND) <= 1


@given(
    st.lists(st.tuples(_delays, _delays, st.floats(min_value=0, max_value=10)), min_size=1),
    st.floats(-5e-5, 5e-5),
)
def test_is_never_ahead_of_the_database_and_behind_by_no_more_than_the_last_answer_took(answers, drift):
    hand = Hand()
    clock = DatabaseClock(hand)
    for there, back, pause in answers:
        ask(clock, hand, ahead=1000 + hand.at * drift, there=there, back=back)
        behind = (hand.at * (1 + drift) + 1000) * SECOND - clock.now()
        assert -100 <= behind <= (back + 0.001) * SECOND
        hand.at += pause
