"""When a circuit breaker opens, for how long, and when it closes again."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.model.circuit_breaker import (
    LONGEST_PAUSE,
    PACE,
    PAUSE,
    UNKNOWN,
    WINDOW,
    WORKS,
    Breaker,
    BreakerKey,
    BreakerState,
    CallResult,
    CallVerdict,
    after_release,
    call_result_from,
    close_breaker,
    count_calls,
    end_probe,
    new_breaker,
    reason_to_wait,
    release_count,
    start_probe,
    tally_of,
)
from tickwork.model.http_target import destination_of
from tickwork.model.worker_protocol import Failure

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEY = BreakerKey(1, "https://api.example.com")
DOWN = CallResult(CallVerdict.FAILS, "ConnectError: refused")
BUSY = CallResult(CallVerdict.REFUSES, "Http429: slow down", retry_after=60.0)
SECOND = timedelta(seconds=1)


def after(breaker: Breaker, *heard: CallResult) -> Breaker:
    return count_calls(breaker, tally_of(heard))


def later(breaker: Breaker, by: timedelta) -> Breaker:
    return breaker._replace(now=breaker.now + by)


def opened() -> Breaker:
    return after(new_breaker(KEY, NOON), *[DOWN] * 5)


def probing(breaker: Breaker) -> Breaker:
    return start_probe(breaker._replace(now=breaker.probe_at), SECOND)


def test_opens_on_five_failures_in_a_row_however_they_are_counted() -> None:
    breaker = new_breaker(KEY, NOON)
    for _ in range(2):
        breaker = after(breaker, DOWN, DOWN)
        assert breaker.state is BreakerState.CLOSED
    breaker = after(breaker, DOWN)
    assert breaker.state is BreakerState.OPEN
    assert reason_to_wait(breaker).startswith(
        "circuit breaker open: https://api.example.com failed 5 times in a row "
        "(ConnectError: refused); tried again from"
    )


def test_a_success_in_between_begins_the_row_anew() -> None:
    breaker = after(new_breaker(KEY, NOON), DOWN, DOWN, DOWN, DOWN)
    breaker = after(breaker, WORKS, DOWN, DOWN)
    assert (breaker.state, breaker.failures_in_a_row) == (BreakerState.CLOSED, 2)
    assert after(breaker, WORKS).failures_in_a_row == 0


def test_opens_when_half_of_the_calls_of_a_minute_fail() -> None:
    breaker = after(new_breaker(KEY, NOON), *[DOWN, WORKS] * 9)
    assert breaker.state is BreakerState.CLOSED
    breaker = after(breaker, WORKS, DOWN)
    assert breaker.state is BreakerState.OPEN
    assert breaker.reason == "failed 10 of 20 times within a minute"


def test_failures_of_an_earlier_minute_are_not_in_the_rate() -> None:
    breaker = after(new_breaker(KEY, NOON), *[DOWN, WORKS] * 9)
    breaker = after(later(breaker, WINDOW), WORKS, DOWN)
    assert (breaker.state, breaker.calls, breaker.failures) == (BreakerState.CLOSED, 2, 1)


def test_being_refused_counts_in_a_row_and_not_in_the_rate() -> None:
    breaker = new_breaker(KEY, NOON)
    assert after(breaker, *[WORKS, BUSY] * 50).state is BreakerState.CLOSED
    assert after(breaker, *[BUSY] * 5).probe_at == NOON + timedelta(seconds=60)


def test_calls_that_end_after_it_opened_change_nothing() -> None:
    breaker = later(opened(), SECOND)
    assert after(breaker, WORKS, DOWN) == breaker


def test_stays_open_for_longer_after_each_failed_probe_up_to_a_limit() -> None:
    breaker = opened()
    for failed_probes in range(8):
        pause = breaker.probe_at - breaker.now
        longest = min(PAUSE * 2**failed_probes, LONGEST_PAUSE)
        assert 0.8 * longest <= pause <= longest
        breaker = probing(breaker)
        breaker = end_probe(breaker, breaker.probe, DOWN)
    assert breaker.since == NOON


def test_a_probe_that_succeeds_closes_it_and_counting_begins_anew() -> None:
    breaker = probing(opened())
    breaker = end_probe(breaker, breaker.probe, WORKS)
    assert (breaker.state, breaker.failures_in_a_row, breaker.failed_probes) == (BreakerState.CLOSED, 0, 0)
    assert after(breaker, *[DOWN] * 4).state is BreakerState.CLOSED


def test_only_one_probe_at_a_time_and_only_when_its_time_has_come() -> None:
    breaker = opened()
    assert start_probe(breaker, SECOND) == breaker
    breaker = probing(breaker)
    assert breaker.state is BreakerState.HALF_OPEN
    assert start_probe(breaker, SECOND) == breaker
    assert start_probe(later(breaker, SECOND), SECOND).probe == breaker.probe + 1


def test_a_probe_that_counts_as_lost_is_not_listened_to() -> None:
    first = probing(opened())
    second = start_probe(later(first, SECOND), SECOND)
    assert end_probe(second, first.probe, WORKS) == second
    assert end_probe(close_breaker(second), second.probe, DOWN).state is BreakerState.CLOSED


def test_a_probe_that_tells_nothing_makes_room_for_another_at_once() -> None:
    breaker = probing(opened())
    breaker = end_probe(breaker, breaker.probe, UNKNOWN)
    assert (breaker.state, breaker.probe_at, breaker.failed_probes) == (BreakerState.OPEN, breaker.now, 0)


def test_lets_twice_as_many_go_each_second_after_it_closed() -> None:
    breaker = close_breaker(opened())
    let_go = []
    for _ in range(12):
        let_go.append(release_count(breaker))
        breaker = after_release(breaker._replace(now=breaker.look_at), holding=True)
    assert let_go[:4] == [PACE, PACE * 2, PACE * 4, PACE * 8]
    assert max(let_go) == 5_000
    assert breaker.now - NOON == 12.5 * SECOND


def test_is_forgotten_a_minute_after_it_failed_last() -> None:
    breaker = after_release(after(new_breaker(KEY, NOON), DOWN), holding=False)
    assert breaker.look_at == NOON + timedelta(minutes=1)
    assert after_release(breaker._replace(now=breaker.look_at), holding=False) is None


def test_is_not_forgotten_while_it_holds_something() -> None:
    breaker = later(opened(), timedelta(days=1))
    assert after_release(breaker, holding=True).state is BreakerState.OPEN
    assert after_release(breaker, holding=False) is None


@pytest.mark.parametrize(
    ("url", "destination"),
    [
        ("https://api.example.com/hook?x=1", "https://api.example.com"),
        ("HTTPS://API.Example.com.:443/", "https://api.example.com"),
        ("http://api.example.com:80", "http://api.example.com"),
        ("http://api.example.com:443/", "http://api.example.com:443"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080"),
    ],
)
def test_a_destination_is_written_in_one_way(url: str, destination: str) -> None:
    assert destination_of(url) == destination


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        *[
            (kind, CallVerdict.FAILS)
            for kind in ("ConnectError", "ConnectTimeout", "DnsError", "TlsError", "Timeout")
        ],
        *[
            (kind, CallVerdict.FAILS)
            for kind in ("ConnectionLost", "BadResponse", "Http500", "Http503", "Http599")
        ],
        ("Http429", CallVerdict.REFUSES),
        *[
            (kind, CallVerdict.WORKS)
            for kind in ("Http404", "Http401", "Http410", "Http302", "ResponseTooLarge")
        ],
        *[(kind, CallVerdict.UNKNOWN) for kind in ("AddressDenied", "BadTarget", "SomethingElse", "Httpd")],
    ],
)
def test_only_what_speaks_about_the_destination_counts(kind: str, verdict: CallVerdict) -> None:
    heard = call_result_from(Failure(kind, "why"))
    assert heard.verdict is verdict
    assert heard.error == (f"{kind}: why" if heard.bad else None)
