"""The story of an execution, word for word."""

import time
from datetime import timedelta

import pytest

from support.sample_answers import EXECUTION, INPUT, NOON, changed, page
from tickwork.cli.describe_execution import (
    describe_execution,
    next_steps,
    ordinal,
    summary_line,
)
from tickwork.cli.format_elapsed import format_elapsed
from tickwork.model.checkpoint import EMPTY_CHECKPOINT
from tickwork.model.execution import (
    AttemptError,
    AttemptOutcome,
    AttemptView,
    ExecutionStatus,
    Progress,
    Trigger,
    WaitingFor,
)

SCHEDULED = changed(EXECUTION, trigger=Trigger.SCHEDULE)


@pytest.fixture(autouse=True)
def in_paris(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def later(seconds):
    return NOON + timedelta(seconds=seconds)


def attempt(number, outcome, begin, end, worker="w1", name="box-1", **details):
    return AttemptView(
        attempt=number,
        outcome=outcome,
        worker=worker,
        started_at=None if begin is None else later(begin),
        finished_at=None if end is None else later(end),
        worker_name=name,
        **{"error": None, **details},
    )


FAILED_TWICE = [
    attempt(1, AttemptOutcome.FAILED, 0, 0.12, error=AttemptError("ValueError", "no rows")),
    attempt(2, AttemptOutcome.FAILED, 2.12, 2.24, error=AttemptError("OSError", "gone\naway")),
]


def test_failed_twice_lost_its_worker_and_then_succeeded():
    execution = changed(
        SCHEDULED, status=ExecutionStatus.COMPLETED, attempt=4, finished_at=later(31), result={"sent": 1}
    )
    attempts = [
        *FAILED_TWICE,
        attempt(3, AttemptOutcome.LOST, 6.3, 27, "w3", "box-2", silent_for=17.4, log_tail="reading\nsorting"),
        attempt(4, AttemptOutcome.COMPLETED, 28, 31),
    ]
    assert (
        describe_execution(execution, attempts, later(7200))
        == """\
report completed at its 4th attempt

execution  e5-1
job        j5
due        2026-11-15 13:00:00+01:00 (2h ago), by its schedule
ended      2026-11-15 13:00:31+01:00, 31s after it first began

Attempt 1 began on 2026-11-15 at 13:00:00 on worker w1 (box-1) and failed after 120ms:
    ValueError: no rows
It was tried again 2s later.

Attempt 2 began at 13:00:02 on worker w1 (box-1) and failed after 120ms:
    OSError: gone
    away
It was tried again 4.1s later.

Attempt 3 began at 13:00:06 on worker w3 (box-2). Its worker stopped answering; found after 17s.
The last line that it logged:
    sorting
It went to another worker 1s later.

Attempt 4 began at 13:00:28 on worker w1 (box-1) and completed after 3s.

Result: {"sent":1}"""
    )


def test_failed_for_good_shows_the_error_the_log_and_what_to_do():
    error = AttemptError("OSError", "gone", "Traceback (most recent call last):\nOSError: gone\n")
    execution = changed(
        SCHEDULED,
        status=ExecutionStatus.FAILED,
        attempt=1,
        finished_at=later(1),
        reason="attempts used up",
        error=error,
    )
    only = attempt(1, AttemptOutcome.FAILED, 0, 1, error=error, log_tail="opening\nreading")
    assert (
        describe_execution(execution, [only], later(60))
        == """\
report failed: attempts used up

execution  e5-1
job        j5
due        2026-11-15 13:00:00+01:00 (1m ago), by its schedule
ended      2026-11-15 13:00:01+01:00, 1s after it first began

Attempt 1 began on 2026-11-15 at 13:00:00 on worker w1 (box-1) and failed after 1s:
    OSError: gone
It was not tried again: attempts used up.

The last error in full:
    Traceback (most recent call last):
    OSError: gone

The last lines that attempt 1 logged:
    opening
    reading

What you can do:
    tickwork execution logs e5-1       read its log
    tickwork execution retry e5-1      run it again
    tickwork dead-letter discard e5-1  discard it"""
    )


def chapter(execution, *attempts, now=60):
    """What is told between the facts and what can be done."""
    return describe_execution(execution, attempts, later(now)).split("\n\n")[2]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            attempt(1, AttemptOutcome.SNOOZED, 0, 0.01, name="box"),
            "Attempt 1 began on 2026-11-15 at 13:00:00 on worker w1 (box) and asked after 10ms to run again later.",
        ),
        (
            attempt(1, AttemptOutcome.RETURNED, None, 3),
            "Attempt 1 was returned on 2026-11-15 at 13:00:03 by worker w1 (box-1), which was stopping.",
        ),
        (
            attempt(1, AttemptOutcome.HELD, None, 3),
            "Attempt 1 was held on 2026-11-15 at 13:00:03 by the circuit breaker of its destination.",
        ),
    ],
)
def test_what_uses_no_attempt_is_said_so_with_what_comes_next(told, expected):
    waiting = changed(EXECUTION, waiting_for=WaitingFor.RETRY, due_at=later(90))
    assert chapter(waiting, told) == f"{expected} That uses no attempt.\nThe next attempt is in 30s."


def test_a_worker_that_was_lost_before_it_said_that_it_began():
    waiting = changed(EXECUTION, waiting_for=WaitingFor.WORKER)
    assert chapter(waiting, attempt(1, AttemptOutcome.LOST, None, 20, silent_for=16)) == (
        "Attempt 1 was given to worker w1 (box-1). Its worker stopped answering; found after 16s.\n"
        "It will be tried again."
    )


def test_a_drain_that_hands_it_to_another_worker():
    execution = changed(EXECUTION, status=ExecutionStatus.RUNNING)
    returned = attempt(1, AttemptOutcome.RETURNED, None, 3)
    again = attempt(2, None, 4, None, "w2", None)
    first, second = describe_execution(execution, [returned, again], later(64)).split("\n\n")[2:4]
    assert first.endswith("It went to another worker 1s later.")
    assert second == "Attempt 2 began at 13:00:04 on worker w2 and has been running for 1m00s."


def test_one_that_was_handed_out_and_has_not_begun():
    execution = changed(EXECUTION, status=ExecutionStatus.RUNNING)
    assert chapter(execution, attempt(1, None, None, None)) == (
        "Attempt 1 was given to worker w1 (box-1), which has not reported a start yet."
    )


def test_one_that_speaks_has_begun():
    execution = changed(EXECUTION, status=ExecutionStatus.RUNNING)
    assert chapter(execution, attempt(1, None, None, None, log_tail="reading")) == (
        "Attempt 1 was given to worker w1 (box-1) and is running."
    )


def test_a_rescue_or_a_retry_does_not_move_when_it_was_due():
    waiting = changed(SCHEDULED, waiting_for=WaitingFor.WORKER, attempt=2, due_at=later(20))
    told = describe_execution(waiting, [attempt(1, AttemptOutcome.LOST, 0, 20)], later(60))
    assert "due        2026-11-15 13:00:00+01:00 (1m ago), by its schedule" in told


def test_quarantined_after_it_took_down_its_workers():
    execution = changed(
        EXECUTION,
        status=ExecutionStatus.FAILED,
        reason="quarantined: it lost 3 workers",
        finished_at=later(90),
    )
    lost = attempt(3, AttemptOutcome.LOST, 60, 80, silent_for=15.2)
    assert summary_line(execution) == "report failed: quarantined: it lost 3 workers"
    assert chapter(execution, lost).endswith(
        "Its worker stopped answering; found after 15s.\n"
        "It was not tried again: quarantined: it lost 3 workers."
    )


def test_cancelled_while_it_ran():
    execution = changed(
        EXECUTION, status=ExecutionStatus.CANCELLED, reason="cancelled by request", finished_at=later(3)
    )
    assert summary_line(execution) == "report was cancelled: cancelled by request"
    assert chapter(execution, attempt(1, AttemptOutcome.CANCELLED, 0, 3)).endswith(
        "and was cancelled after 3s."
    )
    assert "tickwork execution retry e5-1" in next_steps(execution)


def test_cancelled_while_it_waited_for_another_attempt():
    execution = changed(
        EXECUTION, status=ExecutionStatus.CANCELLED, reason="cancelled by request", finished_at=later(3)
    )
    assert chapter(execution, FAILED_TWICE[0]).endswith("Then it was cancelled: cancelled by request.")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"waiting_for": WaitingFor.WORKER}, "report waits for a worker that can run it"),
        ({"waiting_for": WaitingFor.DUE}, "report waits until it is due"),
        ({"waiting_for": WaitingFor.PAUSED}, "report waits because its job is paused"),
        (
            {"waiting_for": WaitingFor.LIMIT, "reason": "the circuit breaker of http://x is open"},
            "report waits for a limit: the circuit breaker of http://x is open",
        ),
        (
            {"status": ExecutionStatus.RUNNING, "progress": Progress(0.4, "reading")},
            "report is running: 40% reading",
        ),
        ({"status": ExecutionStatus.RUNNING}, "report is running"),
        ({"status": ExecutionStatus.COMPLETED}, "report completed"),
        ({"status": ExecutionStatus.SKIPPED, "reason": "still running"}, "report was skipped: still running"),
    ],
)
def test_the_headline_says_how_it_stands(fields, expected):
    assert summary_line(changed(EXECUTION, **fields)) == expected


def test_the_date_is_told_where_it_changes():
    night = 11 * 3600 - 1
    attempts = [
        attempt(1, AttemptOutcome.FAILED, night, night, error=AttemptError("E", "no")),
        attempt(2, AttemptOutcome.COMPLETED, night + 2, night + 3),
    ]
    execution = changed(EXECUTION, status=ExecutionStatus.COMPLETED, finished_at=later(night + 3))
    first, second = describe_execution(execution, attempts, later(night + 60)).split("\n\n")[2:4]
    assert first.startswith("Attempt 1 began on 2026-11-15 at 23:59:59 on")
    assert second.startswith("Attempt 2 began on 2026-11-16 at 00:00:01 on")


def test_words_of_others_cannot_steer_the_terminal():
    told = attempt(1, AttemptOutcome.FAILED, 0, 1, name="\x1b[2J", error=AttemptError("E", "\x1b[31m"))
    assert "\x1b" not in describe_execution(changed(EXECUTION, reason="\x1b"), [told], later(60))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "1ms"),
        (0.0004, "1ms"),
        (0.25, "250ms"),
        (1, "1s"),
        (2.54, "2.5s"),
        (41.4, "41s"),
        (59.6, "1m00s"),
        (200, "3m20s"),
        (7500, "2h05m"),
    ],
)
def test_durations_are_as_exact_as_is_worth_reading(seconds, expected):
    assert format_elapsed(timedelta(seconds=seconds)) == expected


def test_ordinals():
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip


def test_json_is_the_plain_answer_of_the_api(ask, server):
    server.will_answer(EXECUTION)
    assert '"id":"e5-1"' in ask("execution", "get", "e5-1", "-o", "jsonl").stdout
    assert len(server.asked) == 1


def test_the_command_tells_the_story(ask, server):
    server.will_answer(changed(EXECUTION, status=ExecutionStatus.COMPLETED, finished_at=later(1)))
    server.will_answer(page(attempt(1, AttemptOutcome.COMPLETED, 0, 1)))
    server.will_answer(EMPTY_CHECKPOINT)
    server.will_answer(INPUT)
    done = ask("execution", "get", "e5-1")
    assert done.stdout.startswith("report completed\n\nexecution  e5-1\n")
    assert done.stdout.endswith("on worker w1 (box-1) and completed after 1s.\n")


def test_the_story_says_what_it_ran_with_if_the_job_was_edited_since(ask, server):
    server.will_answer(changed(EXECUTION, status=ExecutionStatus.COMPLETED, finished_at=later(1)))
    server.will_answer(page(attempt(1, AttemptOutcome.COMPLETED, 0, 1)))
    server.will_answer(EMPTY_CHECKPOINT)
    server.will_answer(changed(INPUT, source="earlier version", version=2))
    done = ask("execution", "get", "e5-1")
    assert 'with version 2 of its job, which has version 3 now\n    {"to":"a@b.c"}' in done.stdout
