"""What becomes of a ping when it is heard of, and when time passes.

    start ──▶ a run is in progress                  time ──▶ later than usual: late
    success ──▶ ok; after failures: recovered                longer than usual: slow
    fail ──▶ failed                                          its grace is over: missing

Only values, no I/O: the store has the row locked, and writes what comes out of this in the same transaction.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from tickwork.model.ping import MOST_LOG, PingOutcome, PingRun, PingState, PingStatus, Signal
from tickwork.model.stream_event import EventKind
from tickwork.ping.expectation import Expectation
from tickwork.ping.usual_times import late_after, slow_after
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.ping import LockedPing, PastRun, PingChange, PingEvent

_TELL_AGAIN_AFTER = timedelta(minutes=1)  # the next of due times that are missed in a row
_LONGEST_MESSAGE = 200  # characters of the log that an event repeats
_FAILING = (PingStatus.MISSING, PingStatus.FAILED)


def expectation_of(ping: LockedPing) -> Expectation:
    return Expectation(timing_from_text(ping.timing), ping.grace)


def new_ping(expectation: Expectation, now: datetime) -> PingChange:
    return _change(PingState(expected_at=expectation.first_after(now)), expectation)


def rescheduled(ping: LockedPing) -> PingChange:
    """With another schedule or grace. Failures stay until a run succeeds."""
    state, expectation = ping.state, expectation_of(ping)
    status = PingStatus.OK if state.status is PingStatus.LATE else state.status
    expected_at = expectation.first_after(ping.now)
    return _change(state._replace(status=status, expected_at=expected_at, told_late=False), expectation)


def retimed(ping: LockedPing) -> PingChange:
    """With new time zone data."""
    state, expectation = ping.state, expectation_of(ping)
    if state.expected_at is None or state.expected_at <= ping.now:
        return _change(state, expectation)
    expected_at = expectation.with_new_zone_data(state.expected_at, ping.now)
    return _change(state._replace(expected_at=expected_at), expectation)


def heard(signal: Signal, ping: LockedPing, past: Sequence[PastRun]) -> PingChange:
    """`past`: the latest runs that succeeded."""
    state, expectation = ping.state._replace(last_heard_at=ping.now), expectation_of(ping)
    if signal.name == "start":
        return _change(_started(state, signal, ping.now), expectation)
    log = (state.log + signal.log)[-MOST_LOG:]
    if signal.name == "log":
        return _change(state._replace(log=log), expectation)
    run = _ended_run(state, expectation, signal, ping.now)._replace(log=log or None)
    ended = _after_run(state, expectation, ping.now)
    if signal.name == "fail":
        failed = _failed(ended, run)
        return _change(failed, expectation, [run], [_about_failure(failed, run)])
    events = [*_slow_to_the_end(state, run), *_recovered(state, run)]
    return _change(_succeeded(ended, run, past), expectation, [run], events)


def look(ping: LockedPing) -> PingChange:
    """What has become true because time passed."""
    state, expectation, now = ping.state, expectation_of(ping), ping.now
    events: list[PingEvent] = []
    if _is_over(_slow_at(state), now) and state.started_at:
        events.append(_slow(state, now - state.started_at, so_far=True))
        state = state._replace(told_slow=True)
    if _is_over(_missing_at(state, expectation), now):
        missing, run = _missing(state, expectation, now)
        return _change(missing, expectation, [run], [*events, _about_missing(missing, run, expectation)])
    if _is_over(_late_at(state, expectation), now):
        events.append(_late(state, expectation))
        is_well = state.status in (PingStatus.NEW, PingStatus.OK)
        state = state._replace(told_late=True, status=PingStatus.LATE if is_well else state.status)
    return _change(state, expectation, events=events)


def _change(
    state: PingState,
    expectation: Expectation,
    runs: Sequence[PingRun] = (),
    events: Sequence[PingEvent] = (),
) -> PingChange:
    """With the time to look at it again, if nothing is heard before."""
    times = (_missing_at(state, expectation), _late_at(state, expectation), _slow_at(state))
    check_at = min((at for at in times if at is not None), default=None)
    return PingChange(state, check_at, runs, events)


def _is_over(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now


def _missing_at(state: PingState, expectation: Expectation) -> datetime | None:
    if state.expected_at is None:
        return None
    at = state.expected_at + expectation.grace
    return max(at, state.told_missing_at + _TELL_AGAIN_AFTER) if state.told_missing_at else at


def _late_at(state: PingState, expectation: Expectation) -> datetime | None:
    """None once it was told, or the awaited run has begun, or while nothing was heard since a due time was missed."""
    if state.expected_at is None or state.late_after is None or state.told_late or state.missed_at:
        return None
    if state.started_at and expectation.is_answered_by(state.started_at, state.expected_at):
        return None
    return state.expected_at + state.late_after if state.late_after < expectation.grace else None


def _slow_at(state: PingState) -> datetime | None:
    if state.started_at is None or state.slow_after is None or state.told_slow:
        return None
    return state.started_at + state.slow_after


def _started(state: PingState, signal: Signal, now: datetime) -> PingState:
    status = PingStatus.OK if state.status is PingStatus.LATE else state.status
    return state._replace(status=status, started_at=now, told_slow=False, log=signal.log[-MOST_LOG:])


def _ended_run(state: PingState, expectation: Expectation, signal: Signal, now: datetime) -> PingRun:
    began, due_at = state.started_at or now, state.expected_at
    if due_at is not None and expectation.is_answered_by(began, due_at):
        due_at = expectation.due_time_of(began, due_at)
    else:
        due_at = state.missed_at
    return PingRun(
        outcome=PingOutcome.FAILED if signal.name == "fail" else PingOutcome.SUCCESS,
        due_at=due_at,
        started_at=state.started_at,
        ended_at=now,
        exit_code=signal.exit_code,
    )


def _after_run(state: PingState, expectation: Expectation, now: datetime) -> PingState:
    """Nothing is in progress, and if this is what was awaited, the next one is."""
    began, due_at = state.started_at or now, state.expected_at
    if due_at is not None and expectation.is_answered_by(began, due_at):
        following = expectation.after_answer(began, now, due_at)
        state = state._replace(expected_at=following, told_late=False)
    return state._replace(started_at=None, log="", told_slow=False, missed_at=None, told_missing_at=None)


def _failed(ended: PingState, run: PingRun) -> PingState:
    return ended._replace(
        status=PingStatus.FAILED,
        failing_since=ended.failing_since or run.ended_at,
        failures_in_a_row=ended.failures_in_a_row + 1,
    )


def _succeeded(ended: PingState, run: PingRun, past: Sequence[PastRun]) -> PingState:
    runs = [PastRun(_delay(run), _run_time(run)), *past]
    return ended._replace(
        status=PingStatus.OK,
        failing_since=None,
        failures_in_a_row=0,
        last_success_at=run.ended_at,
        late_after=late_after(runs),
        slow_after=slow_after(runs),
    )


def _missing(state: PingState, expectation: Expectation, now: datetime) -> tuple[PingState, PingRun]:
    due_at = state.expected_at
    assert due_at is not None  # noqa: S101 (without a due time there is no grace that could be over)
    missed = expectation.missed(now, due_at)
    run = PingRun(
        PingOutcome.MISSING, due_at, state.started_at, now, missed=missed.times, log=state.log or None
    )
    missing = state._replace(
        status=PingStatus.MISSING,
        expected_at=missed.following,
        missed_at=missed.last,
        told_late=False,
        told_missing_at=now,
        failing_since=state.failing_since or now,
        failures_in_a_row=state.failures_in_a_row + missed.times,
    )
    return missing, run


def _late(state: PingState, expectation: Expectation) -> PingEvent:
    detail = {"due_at": state.expected_at, "missing_at": _missing_at(state, expectation)}
    return PingEvent(EventKind.PING_LATE, detail)


def _about_missing(state: PingState, run: PingRun, expectation: Expectation) -> PingEvent:
    detail: dict[str, Any] = {
        "due_at": run.due_at,
        "grace": expectation.grace.total_seconds(),
        "started_at": run.started_at,
        "last_heard_at": state.last_heard_at,
        "failures_in_a_row": state.failures_in_a_row,
    }
    if run.missed > 1:
        detail |= {"missed": run.missed, "until": state.missed_at}
    return PingEvent(EventKind.PING_MISSING, detail)


def _about_failure(state: PingState, run: PingRun) -> PingEvent:
    detail = {
        "due_at": run.due_at,
        "exit_code": run.exit_code,
        "run_time": _run_time(run),
        "message": _last_line(run.log),
        "failures_in_a_row": state.failures_in_a_row,
    }
    return PingEvent(EventKind.PING_FAILED, detail)


def _recovered(before: PingState, run: PingRun) -> list[PingEvent]:
    if before.status not in _FAILING:
        return []
    detail = {
        "was": before.status,
        "failing_since": before.failing_since,
        "failures_in_a_row": before.failures_in_a_row,
        "run_time": _run_time(run),
    }
    return [PingEvent(EventKind.PING_RECOVERED, detail)]


def _slow_to_the_end(before: PingState, run: PingRun) -> list[PingEvent]:
    """It took longer than usual, and that was not told while it ran."""
    at = _slow_at(before)
    if at is None or run.started_at is None or run.ended_at < at:
        return []
    return [_slow(before, run.ended_at - run.started_at, so_far=False)]


def _slow(state: PingState, run_time: timedelta, *, so_far: bool) -> PingEvent:
    detail = {
        "started_at": state.started_at,
        "run_time": run_time.total_seconds(),
        "usually_below": state.slow_after.total_seconds() if state.slow_after else None,
        "so_far": so_far,
    }
    return PingEvent(EventKind.PING_SLOW, detail)


def _run_time(run: PingRun) -> float | None:
    return (run.ended_at - run.started_at).total_seconds() if run.started_at else None


def _delay(run: PingRun) -> float | None:
    return ((run.started_at or run.ended_at) - run.due_at).total_seconds() if run.due_at else None


def _last_line(log: str | None) -> str | None:
    last = (log or "").rstrip().rpartition("\n")[2]
    return last[-_LONGEST_MESSAGE:] or None
