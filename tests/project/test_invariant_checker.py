"""What the checker must let pass, and what it must not, where the difference is small."""

from datetime import UTC, datetime, timedelta

import pytest

from support.change_log import Change
from support.invariant.attempt import one_holder_at_a_time
from support.invariant.due import no_miss
from support.invariant.steering import overlap_is_kept, stopped_means_stopped
from support.observed_history import Key, ObservedHistory, SeenAttempt

_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_KEY = Key(1, _NOON)
_LEASE = 15.0
_WORKER = 7
_LOST_IN = 3  # transactions
_LATER = 4


def _at(seconds: float) -> datetime:
    return _NOON + timedelta(seconds=seconds)


def _worker(number: int, transaction: int, *, at: float, ended: bool = False) -> Change:
    row = {
        "id": _WORKER,
        "lease_until": _at(_LEASE).isoformat(),
        "ended_at": _at(at).isoformat() if ended else None,
    }
    return Change(number, _at(at), transaction, "worker", None, row)


def _lost(number: int, *, at: float) -> Change:
    row = {
        "job_id": _KEY.job,
        "scheduled_for": _KEY.scheduled_for.isoformat(),
        "attempt": 1,
        "outcome": "lost",
        "worker_id": _WORKER,
        "error": None,
    }
    return Change(number, _at(at), _LOST_IN, "attempt", None, row)


def _alarms(lost_at: float, ended_in: int, *seen_attempts: SeenAttempt) -> int:
    changes = [
        _worker(1, 1, at=0),
        _lost(2, at=lost_at),
        _worker(3, ended_in, at=lost_at, ended=True),
    ]
    observed = ObservedHistory(
        changes,
        seen_attempts=seen_attempts,
        operations=(),
        oracle=lambda *_: [],
        ended_at=_at(60),
        settled=False,
    )
    return len(list(one_holder_at_a_time(observed)))


_THREAD = SeenAttempt(_KEY, 1, None, _at(1), _at(4), "completed")  # was told to stop, and went on to its end
_BROKEN_OFF = SeenAttempt(_KEY, 1, _WORKER, _at(1), _at(4))
_GOES_ON = SeenAttempt(_KEY, 1, _WORKER, _at(1), _at(9))


def test_what_a_dead_worker_leaves_behind_may_be_taken() -> None:
    assert not _alarms(_LEASE + 1, _LOST_IN, _BROKEN_OFF)


@pytest.mark.parametrize(
    "seen_attempts", [(), (_THREAD,), (_BROKEN_OFF,)], ids=["unheard of", "thread", "broken off"]
)
def test_a_worker_that_lives_on_may_have_given_it_up_itself(seen_attempts: tuple[SeenAttempt, ...]) -> None:
    assert not _alarms(5, _LATER, *seen_attempts)


@pytest.mark.parametrize(
    "seen_attempts", [(), (_THREAD,), (_BROKEN_OFF,)], ids=["unheard of", "thread", "broken off"]
)
def test_nothing_is_taken_from_a_worker_by_ending_it_while_its_lease_runs(
    seen_attempts: tuple[SeenAttempt, ...],
) -> None:
    assert _alarms(5, _LOST_IN, *seen_attempts) == 1


def test_a_worker_that_goes_on_with_it_has_not_given_it_up() -> None:
    assert _alarms(5, _LATER, _GOES_ON) == 1


def _job(number: int = 1, overlap: str = "skip", status: str = "active") -> Change:
    row = {
        "id": _KEY.job,
        "status": status,
        "rule_id": 1,
        "scheduled_for": None,
        "active_from": _NOON.isoformat(),
        "deferred": False,
        "overlap": overlap,
        "definition": "\\x" + b"{}".hex(),
        "key": None,
        "element_of": None,
    }
    return Change(number, _at(0), number, "job", None, row)


def _execution(
    number: int,
    due: float,
    before: str | None,
    after: str,
    transaction: int | None = None,
    trigger: str = "schedule",
    **fields: object,
) -> Change:
    def row(status: str) -> dict[str, object]:
        empty = dict.fromkeys(("worker_id", "ready_at", "blocked_by", "reason", "result"))
        counts = {"attempt": 1, "failures": 0, "losses": 0}
        identity = {"job_id": _KEY.job, "scheduled_for": _at(due).isoformat(), "trigger": trigger}
        return {**empty, **counts, **identity, "status": status}

    return Change(
        number,
        _at(due),
        transaction or number,
        "execution",
        row(before) if before else None,
        row(after) | fields,
    )


def _overlaps(*changes: Change) -> int:
    observed = ObservedHistory(
        [_job(), *changes],
        seen_attempts=(),
        operations=(),
        oracle=lambda *_: [],
        ended_at=_at(120),
        settled=False,
    )
    return len(list(overlap_is_kept(observed)))


@pytest.mark.parametrize(("ended_as", "alarms"), [("failed", 0), ("running", 1)], ids=["redriven", "retried"])
def test_only_what_was_redriven_may_run_beside_the_next_one(ended_as: str, alarms: int) -> None:
    seen = _overlaps(
        _execution(2, 0, None, "running"),
        _execution(3, 0, "running", ended_as),
        _execution(4, 0, ended_as, "pending"),
        _execution(5, 60, None, "running"),
    )
    assert seen == alarms


@pytest.mark.parametrize(("fired_in", "alarms"), [(2, 0), (4, 1)], ids=["begun before", "begun after"])
@pytest.mark.parametrize(("trigger", "counts"), [("manual", True), ("schedule", False)])
def test_only_a_run_by_hand_may_come_while_something_is_being_fired(
    fired_in: int, alarms: int, trigger: str, counts: bool
) -> None:
    seen = _overlaps(
        _execution(2, 30, None, "pending", transaction=3, trigger=trigger),
        _execution(3, 0, None, "running", transaction=fired_in),
    )
    assert seen == (alarms if counts else 1)


@pytest.mark.parametrize(("queued_in", "alarms"), [(3, 0), (4, 1)], ids=["at once", "later"])
def test_what_is_fired_must_wait_from_the_commit_on(queued_in: int, alarms: int) -> None:
    seen = _overlaps(
        _execution(2, 0, None, "running"),
        _execution(3, 60, None, "pending", transaction=3),
        _execution(4, 60, "pending", "pending", transaction=queued_in, blocked_by=_at(0).isoformat()),
    )
    assert seen == alarms


@pytest.mark.parametrize(("before", "alarms"), [("allow", 0), ("queue", 2)])
def test_what_was_fired_while_it_might_overlap_may_still_do_so(before: str, alarms: int) -> None:
    seen = _overlaps(
        _job(2, before),
        _execution(3, 0, None, "pending"),
        _execution(4, 60, None, "pending"),
        _job(5, "queue"),
        _execution(6, 0, "pending", "running"),
        _execution(7, 60, "pending", "running"),
    )
    assert seen == alarms


def _handed_out_while_paused(*changes: Change) -> int:
    observed = ObservedHistory(
        [_job(), *changes],
        seen_attempts=(),
        operations=(),
        oracle=lambda *_: [],
        ended_at=_at(120),
        settled=False,
    )
    return len(list(stopped_means_stopped(observed)))


@pytest.mark.parametrize("trigger", ["schedule", "manual", "backfill"])
def test_what_waited_may_be_handed_out_before_a_pause_and_not_after_it(trigger: str) -> None:
    waits = _execution(2, 0, None, "pending", trigger=trigger)
    before = _execution(3, 0, "pending", "running", trigger=trigger)
    after = _execution(5, 0, "pending", "running", trigger=trigger)
    assert _handed_out_while_paused(waits, before, _job(4, status="paused")) == 0
    assert _handed_out_while_paused(waits, _job(4, status="paused"), after) == 1


@pytest.mark.parametrize(("trigger", "alarms"), [("schedule", 1), ("manual", 0), ("backfill", 0)])
def test_what_ran_when_its_job_was_paused_goes_on_only_if_its_schedule_has_no_part_in_it(
    trigger: str, alarms: int
) -> None:
    seen = _handed_out_while_paused(
        _execution(2, 0, None, "running", trigger=trigger),
        _job(3, status="paused"),
        _execution(4, 0, "running", "pending", trigger=trigger),
        _execution(5, 0, "pending", "running", trigger=trigger),
    )
    assert seen == alarms


def test_what_is_run_by_hand_while_its_job_is_paused_runs() -> None:
    seen = _handed_out_while_paused(
        _job(2, status="paused"),
        _execution(3, 0, None, "pending", trigger="manual"),
        _execution(4, 0, "pending", "running", trigger="manual"),
    )
    assert seen == 0


def test_what_waited_for_the_resumption_is_handed_out_after_it() -> None:
    seen = _handed_out_while_paused(
        _execution(2, 0, None, "pending"),
        _job(3, status="paused"),
        _job(4, status="active"),
        _execution(5, 0, "pending", "running"),
    )
    assert seen == 0


@pytest.mark.parametrize(("reason", "alarms"), [("rescheduled", 0), ("overlap", 1)])
def test_a_due_time_of_a_timing_that_was_left_may_be_missed_under_the_next_one(
    reason: str, alarms: int
) -> None:
    missed = {
        "rule_id": 1,
        "missed": 1,
        "scheduled_for": _at(0).isoformat(),
        "missed_until": _at(0).isoformat(),
    }
    observed = ObservedHistory(
        [
            _job(),
            _execution(2, 0, None, "skipped", reason=reason),
            Change(3, _at(60), 3, "round", None, missed),
        ],
        seen_attempts=(),
        operations=(),
        oracle=lambda *_: [_at(0)],
        ended_at=_at(120),
    )
    assert len(list(no_miss(observed))) == alarms
