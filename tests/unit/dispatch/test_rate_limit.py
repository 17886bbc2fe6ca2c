from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tickwork.dispatch.limits import LockedLimits
from tickwork.model.quantities import parse_rate
from tickwork.model.requires_limits_fair_share import NO_PLACEMENT, Limit, Placement
from tickwork.store.port.dispatch import Lane, Limiter

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _limiter(used_until: datetime = NOW, now: datetime = NOW, **settings: Any) -> Limiter:
    common = {"paused": False, "max_running": None, "rate": None}
    return Limiter(1, (1, "queue", "mail"), **{**common, **settings}, used_until=used_until, now=now)


MAIL = Lane(1, 1, "mail", "send", NO_PLACEMENT)


def test_a_lane_without_limiters_has_unlimited_capacity() -> None:
    assert LockedLimits([MAIL], ()).capacity(MAIL) > 1_000_000


def test_a_paused_queue_has_no_capacity() -> None:
    assert LockedLimits([MAIL], [_limiter(paused=True)]).capacity(MAIL) == 0


def test_a_rate_has_capacity_for_its_amount_and_then_none() -> None:
    limits = LockedLimits([MAIL], [_limiter(rate=parse_rate("100/1m"))])
    assert limits.capacity(MAIL) == 100
    limits.use(MAIL, 100)
    assert limits.capacity(MAIL) == 0
    limits.reset()
    assert limits.capacity(MAIL) == 100


def test_a_key_that_nobody_limits_by_number_is_not_counted() -> None:
    lane = Lane(2, 1, "other", "send", Placement(limits=[Limit("api", rate="5/1s")]))
    key = Limiter(7, (1, "key", "api"), False, None, None, NOW, NOW)
    limits = LockedLimits([lane], [key])
    assert limits.capacity(lane) == 5
    assert list(limits.slots(lane, range(3))) == []


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), max_size=40), st.integers(1, 20))
def test_no_period_lets_more_through_than_a_full_bucket_and_what_flows_in(
    visits: list[tuple[int, int]], amount: int
) -> None:
    """Visits: seconds since the one before, and how many are wanted."""
    rate = parse_rate(f"{amount}/10s")
    now, used_until = NOW, NOW
    passed: list[tuple[datetime, int]] = []
    for seconds, wanted in visits:
        now += timedelta(seconds=seconds)
        limits = LockedLimits([MAIL], [_limiter(max(used_until, now), now, rate=rate)])
        count = min(wanted, limits.capacity(MAIL))
        limits.use(MAIL, count)
        used_until = limits._used_until[1]
        passed.append((now, count))
    for begin, _ in passed:
        within = sum(count for at, count in passed if begin <= at <= begin + rate.per)
        assert within <= 2 * amount


def test_a_lane_that_was_not_requested_has_no_capacity() -> None:
    limited = Lane(2, 1, "other", "send", Placement(limits=[Limit("api", max_running=5)]))
    for limits in (
        LockedLimits((), ()),
        LockedLimits([MAIL], ()),
        LockedLimits([MAIL], [_limiter(max_running=5)]),
    ):
        assert limits.capacity(limited) == 0
