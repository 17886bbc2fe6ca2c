"""How often an address may fail to sign in."""

from tickwork.access.sign_in_limit import MOST_FAILURES, PERIOD, SignInLimit


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_address_that_failed_often_waits_until_the_end_of_the_period() -> None:
    clock = Clock()
    limit = SignInLimit(clock)
    for _ in range(MOST_FAILURES):
        assert limit.wait("192.0.2.1") == 0
        limit.failed("192.0.2.1")
    clock.now += 10
    assert limit.wait("192.0.2.1") == PERIOD - 10
    assert limit.wait("192.0.2.2") == 0
    clock.now += PERIOD
    assert limit.wait("192.0.2.1") == 0
    limit.failed("192.0.2.1")
    assert limit.wait("192.0.2.1") == 0


def test_the_addresses_of_one_subscriber_count_as_one() -> None:
    limit = SignInLimit(Clock())
    for number in range(MOST_FAILURES):
        limit.failed(f"2001:db8::{number:x}")
    assert limit.wait("2001:db8::ffff") > 0
    assert limit.wait("2001:db8:0:1::1") == 0


def test_many_addresses_take_a_limited_amount_of_memory() -> None:
    limit = SignInLimit(Clock())
    for number in range(20_000):
        limit.failed(f"host{number}")
    assert len(limit._limit._counted) <= 10_001
