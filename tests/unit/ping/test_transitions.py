"""What becomes of a ping when it is heard of, and when time passes."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.model.ping import MOST_LOG, PingOutcome, PingState, PingStatus, Signal
from tickwork.ping.transitions import expectation_of, heard, look, new_ping, rescheduled
from tickwork.schedule.parse import parse_schedule
from tickwork.store.port.ping import LockedPing, PastRun, PingChange

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
GRACE = 10 * MINUTE
START, SUCCESS, FAIL = Signal("start"), Signal("success"), Signal("fail")
REGULAR = [PastRun(5.0, 60.0)] * 10


def timing_text(schedule: str) -> str:
    parsed = parse_schedule(schedule, None, now=NOON)
    assert isinstance(parsed, Recurring)
    return parsed.text


class Ping:
    """One that a test takes through time. It is expected every full hour."""

    def __init__(self, schedule: str = "0 * * * *", state: PingState | None = None) -> None:
        timing = timing_text(schedule)
        self.ping = LockedPing(1, 1, "backup", timing, GRACE, NOON, PingState())
        self.check_at: datetime | None = None
        self._take(new_ping(expectation_of(self.ping), NOON))
        if state:
            self.ping = self.ping._replace(state=state)

    @property
    def state(self) -> PingState:
        return self.ping.state

    def at(self, now: datetime) -> "Ping":
        self.ping = self.ping._replace(now=now)
        return self

    def hear(self, signal: Signal, past: list[PastRun] | None = None) -> PingChange:
        return self._take(heard(signal, self.ping, past or []))

    def look(self) -> PingChange:
        return self._take(look(self.ping))

    def reschedule(self, schedule: str) -> PingChange:
        timing = timing_text(schedule)
        self.ping = self.ping._replace(timing=timing)
        return self._take(rescheduled(self.ping))

    def _take(self, change: PingChange) -> PingChange:
        self.ping = self.ping._replace(state=change.state)
        self.check_at = change.check_at
        return change


def kinds(change: PingChange) -> list[str]:
    return [event.kind for event in change.events]


def test_a_new_ping_awaits_its_first_due_time() -> None:
    ping = Ping()
    assert (ping.state.status, ping.state.expected_at) == (PingStatus.NEW, NOON + HOUR)
    assert ping.check_at == NOON + HOUR + GRACE


def test_nothing_is_told_of_a_run_that_comes_in_time() -> None:
    ping = Ping()
    change = ping.at(NOON + HOUR + MINUTE).hear(SUCCESS)
    assert kinds(change) == []
    assert (ping.state.status, ping.state.expected_at) == (PingStatus.OK, NOON + 2 * HOUR)
    (run,) = change.runs
    assert (run.outcome, run.due_at, run.ended_at) == (PingOutcome.SUCCESS, NOON + HOUR, NOON + HOUR + MINUTE)


def test_a_due_time_is_missed_when_its_grace_is_over_and_not_before() -> None:
    ping = Ping()
    assert kinds(ping.at(NOON + HOUR + GRACE - SECOND).look()) == []
    change = ping.at(NOON + HOUR + GRACE).look()
    assert kinds(change) == ["ping.missing"]
    assert change.events[0].detail["due_at"] == NOON + HOUR
    assert (ping.state.status, ping.state.expected_at) == (PingStatus.MISSING, NOON + 2 * HOUR)
    assert ping.state.failures_in_a_row == 1
    assert kinds(ping.look()) == []


def test_each_due_time_that_is_missed_is_told_of() -> None:
    ping = Ping()
    for hour in (1, 2, 3):
        assert kinds(ping.at(NOON + hour * HOUR + GRACE).look()) == ["ping.missing"]
    assert ping.state.failures_in_a_row == 3
    assert ping.state.failing_since == NOON + HOUR + GRACE


def test_due_times_that_passed_while_nobody_looked_are_told_of_together() -> None:
    change = Ping().at(NOON + 5 * HOUR + 30 * MINUTE).look()
    (event,) = change.events
    assert (event.detail["missed"], event.detail["until"]) == (5, NOON + 5 * HOUR)
    (run,) = change.runs
    assert (run.outcome, run.missed) == (PingOutcome.MISSING, 5)


def test_due_times_in_quick_succession_are_told_of_once_a_minute() -> None:
    ping = Ping("every 10s")
    ping.at(NOON + 10 * SECOND + GRACE).look()
    assert ping.check_at == NOON + 10 * SECOND + GRACE + MINUTE
    change = ping.at(ping.check_at).look()
    assert change.events[0].detail["missed"] == 6


@pytest.mark.parametrize("came_back", [NOON + HOUR + GRACE + MINUTE, NOON + 2 * HOUR + MINUTE])
def test_it_recovers_with_the_first_success(came_back: datetime) -> None:
    ping = Ping()
    ping.at(NOON + HOUR + GRACE).look()
    change = ping.at(came_back).hear(SUCCESS)
    assert kinds(change) == ["ping.recovered"]
    assert change.events[0].detail["was"] == "missing"
    assert (ping.state.status, ping.state.failures_in_a_row, ping.state.failing_since) == ("ok", 0, None)
    assert kinds(ping.hear(SUCCESS)) == []


def test_a_run_that_comes_after_its_grace_does_not_answer_the_due_time_after() -> None:
    ping = Ping()
    ping.at(NOON + HOUR + GRACE).look()
    ping.at(NOON + HOUR + 40 * MINUTE).hear(SUCCESS)
    assert ping.state.expected_at == NOON + 2 * HOUR
    assert kinds(ping.at(NOON + 2 * HOUR + GRACE).look()) == ["ping.missing"]


def test_every_failure_is_told_of_with_what_the_program_said_last() -> None:
    ping = Ping()
    change = ping.at(NOON + HOUR).hear(Signal("fail", "copying\ndisk full\n", 28))
    assert kinds(change) == ["ping.failed"]
    detail = change.events[0].detail
    assert (detail["message"], detail["exit_code"], detail["failures_in_a_row"]) == ("disk full", 28, 1)
    assert (ping.state.status, ping.state.expected_at) == (PingStatus.FAILED, NOON + 2 * HOUR)
    assert kinds(ping.at(NOON + 2 * HOUR).hear(FAIL)) == ["ping.failed"]
    change = ping.at(NOON + 3 * HOUR).hear(SUCCESS)
    assert kinds(change) == ["ping.recovered"]
    assert change.events[0].detail["failures_in_a_row"] == 2


def test_the_run_time_is_known_if_the_start_was_reported() -> None:
    ping = Ping()
    ping.at(NOON + HOUR).hear(START)
    assert ping.state.started_at == NOON + HOUR
    change = ping.at(NOON + HOUR + 3 * MINUTE).hear(SUCCESS)
    assert (change.runs[0].started_at, ping.state.started_at) == (NOON + HOUR, None)


def test_a_run_that_started_and_does_not_end_is_missing_with_its_log() -> None:
    ping = Ping()
    ping.at(NOON + HOUR).hear(START)
    ping.hear(Signal("log", "half way\n"))
    change = ping.at(NOON + HOUR + GRACE).look()
    assert kinds(change) == ["ping.missing"]
    assert change.events[0].detail["started_at"] == NOON + HOUR
    assert change.runs[0].log == "half way\n"


def test_what_takes_longer_than_usual_is_told_of_while_it_runs_and_only_once() -> None:
    ping = Ping()
    ping.hear(SUCCESS, REGULAR)
    ping.at(NOON + HOUR).hear(START)
    assert ping.check_at == NOON + HOUR + 2 * MINUTE
    change = ping.at(NOON + HOUR + 2 * MINUTE).look()
    assert kinds(change) == ["ping.slow"]
    assert (change.events[0].detail["so_far"], change.events[0].detail["run_time"]) == (True, 120.0)
    assert kinds(ping.at(NOON + HOUR + 5 * MINUTE).hear(SUCCESS, REGULAR)) == []


def test_what_took_longer_than_usual_while_nobody_looked_is_told_of_at_its_end() -> None:
    ping = Ping()
    ping.hear(SUCCESS, REGULAR)
    ping.at(NOON + HOUR).hear(START)
    change = ping.at(NOON + HOUR + 5 * MINUTE).hear(SUCCESS, REGULAR)
    assert kinds(change) == ["ping.slow"]
    assert change.events[0].detail["so_far"] is False


def test_what_comes_later_than_usual_is_told_of_before_it_is_missing() -> None:
    ping = Ping()
    ping.hear(SUCCESS, REGULAR)
    assert ping.check_at == NOON + HOUR + MINUTE
    assert kinds(ping.at(NOON + HOUR + MINUTE).look()) == ["ping.late"]
    assert ping.state.status is PingStatus.LATE
    assert kinds(ping.at(NOON + HOUR + 2 * MINUTE).look()) == []
    assert kinds(ping.at(NOON + HOUR + GRACE).look()) == ["ping.missing"]
    assert kinds(ping.at(NOON + 2 * HOUR + MINUTE).look()) == []  # nothing was heard in between


def test_a_run_that_has_started_is_not_late() -> None:
    ping = Ping()
    ping.hear(SUCCESS, REGULAR)
    ping.at(NOON + HOUR).hear(START)
    ping.at(NOON + HOUR + MINUTE)
    assert kinds(ping.look()) == []


def test_a_late_run_that_comes_within_its_grace_is_fine() -> None:
    ping = Ping()
    ping.hear(SUCCESS, REGULAR)
    ping.at(NOON + HOUR + MINUTE).look()
    assert kinds(ping.at(NOON + HOUR + 5 * MINUTE).hear(SUCCESS, REGULAR)) == []
    assert ping.state.status is PingStatus.OK


def test_a_run_that_nobody_expected_changes_nothing_about_the_next_due_time() -> None:
    ping = Ping("0 2 * * *")
    change = ping.at(NOON + 3 * HOUR).hear(SUCCESS)
    assert (ping.state.expected_at, change.runs[0].due_at) == (NOON.replace(day=16, hour=2), None)


def test_what_is_expected_in_a_period_is_on_time_whenever_it_comes() -> None:
    ping = Ping("every 1h")
    (run,) = ping.at(NOON + 20 * MINUTE).hear(SUCCESS).runs
    assert (run.due_at, ping.state.expected_at) == (NOON + 20 * MINUTE, NOON + 80 * MINUTE)
    (run,) = ping.at(NOON + 85 * MINUTE).hear(SUCCESS).runs
    assert run.due_at == NOON + 80 * MINUTE


def test_another_schedule_is_awaited_from_now_on_and_failures_stay() -> None:
    ping = Ping()
    ping.at(NOON + HOUR).hear(FAIL)
    ping.at(NOON + HOUR + MINUTE).reschedule("30 * * * *")
    assert (ping.state.expected_at, ping.state.status) == (NOON + HOUR + 30 * MINUTE, PingStatus.FAILED)


def test_only_the_end_of_a_log_is_kept() -> None:
    ping = Ping()
    ping.hear(START)
    ping.hear(Signal("log", "a" * MOST_LOG))
    change = ping.hear(Signal("success", "the end"))
    assert len(change.runs[0].log) == MOST_LOG
    assert change.runs[0].log.endswith("the end")
    assert ping.state.log == ""
