from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tickwork.dispatch.limits import LockedLimits
from tickwork.model.placement import NO_PLACEMENT, Limit, Placement
from tickwork.model.quantities import parse_rate
from tickwork.store.port.dispatch import Lane, Limiter

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _gate(used_until: datetime = NOW, now: datetime = NOW, **settings: Any) -> Limiter:
    common = {"paused": False, "max_running": None, "rate": None}
    return Limiter(1, (1, "queue", "mail"), **{**common, **settings}, used_until=used_until, now=now)


MAIL = Lane(1, 1, "mail", "send", NO_PLACEMENT)


def test_a_lane_without_gates_has_room_for_any_number() -> None:
    assert LockedLimits([MAIL], ()).room(MAIL) > 1_000_000


def test_a_paused_queue_has_room_for_none() -> None:
    assert LockedLimits([MAIL], [_gate(paused=True)]).room(MAIL) == 0


def test_a_rate_has_room_for_its_amount_and_then_for_none() -> None:
    gates = LockedLimits([MAIL], [_gate(rate=parse_rate("100/1m"))])
    assert gates.room(MAIL) == 100
    gates.let_through(MAIL, 100)
    assert gates.room(MAIL) == 0
    gates.start_over()
    assert gates.room(MAIL) == 100


def test_a_key_that_nobody_limits_by_number_is_not_counted() -> None:
    lane = Lane(2, 1, "other", "send", Placement(limits=[Limit("api", rate="5/1s")]))
    key = Limiter(7, (1, "key", "api"), False, None, None, NOW, NOW)
    gates = LockedLimits([lane], [key])
    assert gates.room(lane) == 5
    assert list(gates.slots(lane, range(3))) == []


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
        gates = LockedLimits([MAIL], [_gate(max(used_until, now), now, rate=rate)])
        count = min(wanted, gates.room(MAIL))
        gates.let_through(MAIL, count)
        used_until = gates._used_until[1]
        passed.append((now, count))
    for begin, _ in passed:
        within = sum(count for at, count in passed if begin <= at <= begin + rate.per)
        assert within <= 2 * amount


def test_a_lane_that_was_not_asked_for_has_no_room() -> None:
    limited = Lane(2, 1, "other", "send", Placement(limits=[Limit("api", max_running=5)]))
    for gates in (
        LockedLimits((), ()),
        LockedLimits([MAIL], ()),
        LockedLimits([MAIL], [_gate(max_running=5)]),
    ):
        assert gates.room(limited) == 0
