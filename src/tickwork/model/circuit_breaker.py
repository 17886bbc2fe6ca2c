"""A circuit breaker: whether a destination that fails may be called, and what the result of a call means for it.

                 failed too often                      its pause is over: one call, the probe
    closed ───────────────────────────▶ open ◀─────────────────────────────────▶ half-open
      ▲                                       the probe failed: open for longer        │
      └──────────────────────────────── the probe succeeded ───────────────────────────┘

One function per transition; nothing else decides a state. A breaker carries the time at which it was read.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from http import HTTPStatus
from itertools import takewhile
from random import uniform
from typing import NamedTuple

import msgspec

from tickwork.model.field_types import Instant
from tickwork.model.worker_protocol import Failure

FAILURES_IN_A_ROW = 5
WINDOW = timedelta(seconds=60)
WINDOW_CALLS = 20
WINDOW_RATE = 0.5
PAUSE = timedelta(seconds=10)  # doubled by each probe that fails
LONGEST_PAUSE = timedelta(minutes=5)
_SHORTEST_JITTER = 0.8

PACE = 10  # executions released in the first second after it closed; doubled every second
_MOST_AT_ONCE = 5_000
# By then every node has read the state, so that none holds what is released.
_ALL_NODES_KNOW = timedelta(seconds=1.5)
_NEXT_RELEASE = timedelta(seconds=1)
_NEXT_CANDIDATE = timedelta(seconds=5)  # after a released execution did not become the probe
_DELETE_HEALTHY_AFTER = timedelta(seconds=60)  # since its last failure
_DELETE_UNUSED_AFTER = timedelta(hours=1)  # since its last failure, while it is open
_DESTINATION_ERRORS = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionLost", "DnsError", "TlsError", "BadResponse", "Timeout"}
)
_LONGEST_ERROR = 300


class CallVerdict(Enum):
    WORKS = auto()  # it answered, even if with "your request is wrong"
    FAILS = auto()  # unreachable, connection lost, timeout or a 5xx answer
    REFUSES = auto()  # it answered 429: too many requests
    UNKNOWN = auto()  # it was not called, or the call was cancelled


class CallResult(NamedTuple):
    """What one call says about its destination."""

    verdict: CallVerdict
    error: str | None = None
    retry_after: float = 0.0  # seconds that the destination asks for

    @property
    def bad(self) -> bool:
        return self.verdict is CallVerdict.FAILS or self.verdict is CallVerdict.REFUSES


WORKS = CallResult(CallVerdict.WORKS)
UNKNOWN = CallResult(CallVerdict.UNKNOWN)


class BreakerState(StrEnum):
    CLOSED = "closed"  # calls go out
    OPEN = "open"  # calls wait
    HALF_OPEN = "half_open"  # one call is being tried


class BreakerKey(NamedTuple):
    tenant_id: int
    destination: str


class Breaker(NamedTuple):
    key: BreakerKey
    state: BreakerState
    since: datetime
    failures_in_a_row: int
    window_at: datetime
    calls: int
    failures: int
    reason: str | None
    last_error: str | None
    failed_probes: int
    probe: int
    probe_at: datetime | None
    pace: int
    look_at: datetime
    touched_at: datetime
    now: datetime


class Tally(NamedTuple):
    """A summary of the results of several calls, in order."""

    calls: int
    failures: int
    in_a_row: int  # bad results at the end
    worked: bool  # at least one call succeeded
    last_bad: CallResult | None


class BreakerView(msgspec.Struct, frozen=True, kw_only=True):
    """A circuit breaker as shown to users."""

    destination: str
    state: BreakerState
    since: Instant
    reason: str | None
    failures_in_a_row: int
    calls: int
    failures: int
    last_error: str | None
    next_probe_at: Instant | None
    waiting: int


def call_result_from(failure: Failure) -> CallResult:
    verdict = _verdict(failure.type)
    if verdict in (CallVerdict.WORKS, CallVerdict.UNKNOWN):
        return CallResult(verdict)
    error = f"{failure.type}: {failure.message}".replace("\0", "")[:_LONGEST_ERROR]
    return CallResult(verdict, error, failure.retry_after)


def _verdict(kind: str) -> CallVerdict:
    if kind in _DESTINATION_ERRORS:
        return CallVerdict.FAILS
    status = kind.removeprefix("Http")
    if not status.isdecimal():
        return CallVerdict.WORKS if kind == "ResponseTooLarge" else CallVerdict.UNKNOWN
    if int(status) == HTTPStatus.TOO_MANY_REQUESTS:
        return CallVerdict.REFUSES
    return CallVerdict.FAILS if int(status) >= HTTPStatus.INTERNAL_SERVER_ERROR else CallVerdict.WORKS


def tally_of(results: Sequence[CallResult]) -> Tally:
    """A call that was refused (429) does not count towards the failure rate: a destination that accepts half of the
    calls works."""
    bad = [result for result in results if result.bad]
    return Tally(
        calls=len(results),
        failures=sum(result.verdict is CallVerdict.FAILS for result in results),
        in_a_row=sum(1 for _ in takewhile(lambda result: result.bad, reversed(results))),
        worked=len(bad) < len(results),
        last_bad=bad[-1] if bad else None,
    )


def count_calls(breaker: Breaker, tally: Tally) -> Breaker:
    """Counts calls that have ended. Calls that end after the breaker opened change nothing."""
    if breaker.state is not BreakerState.CLOSED:
        return breaker
    breaker = _in_current_window(breaker)
    breaker = breaker._replace(
        calls=breaker.calls + tally.calls,
        failures=breaker.failures + tally.failures,
        failures_in_a_row=tally.in_a_row + (0 if tally.worked else breaker.failures_in_a_row),
    )
    if tally.last_bad is None:
        return breaker
    breaker = breaker._replace(last_error=tally.last_bad.error, touched_at=breaker.now)
    reason = _failure_reason(breaker)
    if reason is None:
        return breaker
    return _open(breaker._replace(reason=reason, since=breaker.now), tally.last_bad)


def is_probe_due(breaker: Breaker) -> bool:
    return breaker.probe_at is not None and breaker.probe_at <= breaker.now


def start_probe(breaker: Breaker, within: timedelta) -> Breaker:
    """Lets one call through as the probe, unless the pause is not over or another probe is running."""
    if not is_probe_due(breaker):
        return breaker
    lost_at = breaker.now + within
    return breaker._replace(
        state=BreakerState.HALF_OPEN, probe=breaker.probe + 1, probe_at=lost_at, look_at=lost_at
    )


def end_probe(breaker: Breaker, probe: int, result: CallResult) -> Breaker:
    """The probe has ended. Its result is ignored if it counted as lost by then."""
    if breaker.state is not BreakerState.HALF_OPEN or breaker.probe != probe:
        return breaker
    if result.verdict is CallVerdict.WORKS:
        return close_breaker(breaker)
    if result.verdict is CallVerdict.UNKNOWN:
        return _open_for_next_probe(breaker)
    failed_probes = breaker.failed_probes + 1
    return _open(breaker._replace(failed_probes=failed_probes, last_error=result.error), result)


def close_breaker(breaker: Breaker) -> Breaker:
    return new_breaker(breaker.key, breaker.now)._replace(
        probe=breaker.probe, last_error=breaker.last_error, look_at=breaker.now + _ALL_NODES_KNOW
    )


def new_breaker(key: BreakerKey, now: datetime) -> Breaker:
    return Breaker(
        key, BreakerState.CLOSED, since=now, failures_in_a_row=0, window_at=now, calls=0, failures=0, reason=None,
        last_error=None, failed_probes=0, probe=0, probe_at=None, pace=PACE, look_at=now, touched_at=now, now=now,
    )  # fmt: skip


def release_count(breaker: Breaker) -> int:
    """How many held executions to release: more every second once it is closed, or one to be the probe."""
    return breaker.pace if breaker.state is BreakerState.CLOSED else 1


def after_release(breaker: Breaker, *, holding: bool) -> Breaker | None:
    """Sets when to look again after executions were released. None: the breaker can be deleted."""
    if breaker.state is BreakerState.CLOSED:
        if not holding:
            return _delete_after(breaker._replace(pace=PACE), _DELETE_HEALTHY_AFTER)
        pace = min(breaker.pace * 2, _MOST_AT_ONCE)
        return breaker._replace(pace=pace, look_at=breaker.now + _NEXT_RELEASE)
    if breaker.state is BreakerState.HALF_OPEN:
        breaker = _open_for_next_probe(breaker)
    if holding:
        return breaker._replace(look_at=breaker.now + _NEXT_CANDIDATE)
    return _delete_after(breaker, _DELETE_UNUSED_AFTER)


def reason_to_wait(breaker: Breaker) -> str:
    """Why a call waits. The text stays true however many probes fail meanwhile."""
    what = f"{breaker.key.destination} {breaker.reason} ({breaker.last_error})"
    if breaker.state is BreakerState.HALF_OPEN or breaker.probe_at is None:
        return f"circuit breaker open: {what}; being tried just now"
    return f"circuit breaker open: {what}; tried again from {breaker.probe_at:%H:%M:%S} UTC on"


def _failure_reason(breaker: Breaker) -> str | None:
    if breaker.failures_in_a_row >= FAILURES_IN_A_ROW:
        return f"failed {breaker.failures_in_a_row} times in a row"
    if breaker.calls >= WINDOW_CALLS and breaker.failures >= breaker.calls * WINDOW_RATE:
        return f"failed {breaker.failures} of {breaker.calls} times within a minute"
    return None


def _open(breaker: Breaker, result: CallResult) -> Breaker:
    pause = min(PAUSE * 2 ** min(breaker.failed_probes, 10), LONGEST_PAUSE)
    asked = min(timedelta(seconds=result.retry_after), LONGEST_PAUSE)
    until = breaker.now + max(pause * uniform(_SHORTEST_JITTER, 1), asked)  # noqa: S311 (spread, not secrecy)
    return breaker._replace(state=BreakerState.OPEN, probe_at=until, look_at=until, touched_at=breaker.now)


def _open_for_next_probe(breaker: Breaker) -> Breaker:
    """The probe said nothing about the destination: the next one may start at once."""
    return breaker._replace(state=BreakerState.OPEN, probe_at=breaker.now, look_at=breaker.now)


def _in_current_window(breaker: Breaker) -> Breaker:
    if breaker.now < breaker.window_at + WINDOW:
        return breaker
    return breaker._replace(window_at=breaker.now, calls=0, failures=0)


def _delete_after(breaker: Breaker, after: timedelta) -> Breaker | None:
    delete_at = breaker.touched_at + after
    return breaker._replace(look_at=delete_at) if breaker.now < delete_at else None
