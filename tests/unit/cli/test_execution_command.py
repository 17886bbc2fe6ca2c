"""`tickwork execution`."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from support.sample_answers import COMPLETED, EXECUTION, INPUT, NOON, changed, page
from tickwork.model.checkpoint import EMPTY_CHECKPOINT
from tickwork.model.execution import (
    AttemptError,
    AttemptOutcome,
    AttemptView,
    ExecutionCount,
    ExecutionPage,
    ExecutionStatus,
    WaitingFor,
)
from tickwork.model.job_change_record import ChangeAuthor

ATTEMPT = AttemptView(
    attempt=1,
    outcome=AttemptOutcome.FAILED,
    worker="w1",
    started_at=NOON,
    finished_at=NOON + timedelta(seconds=90),
    error=AttemptError("ValueError", "no good"),
)


def test_lists_with_what_each_waits_for_or_why_it_failed(ask, server):
    failed = changed(EXECUTION, status=ExecutionStatus.FAILED, error=ATTEMPT.error)
    server.will_answer(page(changed(EXECUTION, waiting_for=WaitingFor.WORKER), failed, COMPLETED))
    done = ask("execution", "list")
    head, waiting, failing, completed = done.stdout.splitlines()
    assert head.startswith("ID    TASK    STATUS")
    assert "waits for worker" in waiting
    assert "ValueError: no good" in failing
    assert "1ms" in completed


def test_since_takes_a_time_or_an_age(ask, server):
    server.will_answer(page())
    ask("execution", "list", "--since", "2h")
    ask("execution", "list", "--since", "2026-01-31T09:00Z", "--job", "j5")
    ages, times = (datetime.fromisoformat(asked.query["since"][0]) for asked in server.asked)
    assert timedelta(hours=2) <= datetime.now(UTC) - ages < timedelta(hours=3)
    assert times == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert server.asked[1].query["job"] == ["j5"]


def test_a_time_that_is_none_is_a_usage_error(ask, server):
    done = ask("execution", "list", "--since", "yesterday")
    assert done.exit_code == 2
    assert "nor an age such as 2h" in done.stderr


def test_shows_times_in_full_and_as_seen_from_now(ask, server):
    server.will_answer(COMPLETED)
    server.will_answer(page())
    server.will_answer(EMPTY_CHECKPOINT)
    server.will_answer(INPUT)
    done = ask("execution", "get", "e5-1")
    assert [asked.path for asked in server.asked] == [
        "/v1/executions/e5-1",
        "/v1/executions/e5-1/attempts",
        "/v1/executions/e5-1/checkpoint",
        "/v1/executions/e5-1/input",
    ]
    assert NOON.astimezone().isoformat(" ", "seconds") in done.stdout
    assert '{"sent":1}' in done.stdout
    assert "waiting for" not in done.stdout


def test_lists_attempts(ask, server):
    server.will_answer(page(ATTEMPT))
    done = ask("execution", "attempts", "e5-1")
    assert server.asked[0].path == "/v1/executions/e5-1/attempts"
    assert "1m30s" in done.stdout
    assert "ValueError: no good" in done.stdout


def test_cancels(ask, server):
    server.will_answer(EXECUTION)
    assert ask("execution", "cancel", "e5-1").exit_code == 0
    assert (server.asked[0].method, server.asked[0].path) == ("POST", "/v1/executions/e5-1/cancel")


@pytest.mark.parametrize(
    ("status", "code"),
    [("completed", 0), ("failed", 1), ("cancelled", 1), ("skipped", 1)],
)
def test_waiting_exits_with_the_outcome(ask, server, status, code):
    server.will_answer(changed(EXECUTION, status=ExecutionStatus(status), reason="so it is"))
    done = ask("execution", "wait", "e5-1")
    assert done.exit_code == code
    assert ("so it is" in done.stderr) == (code == 1)


def test_an_error_of_others_cannot_steer_the_terminal(ask, server):
    error = AttemptError("ValueError", "m", "Trace\nback \x1b[2J")
    server.will_answer(changed(EXECUTION, status=ExecutionStatus.FAILED, error=error))
    assert ask("execution", "wait", "e5-1").stderr.endswith("Trace\nback \\x1b[2J\n")


def test_waiting_gives_json_when_asked_for_it(ask, server):
    server.will_answer(COMPLETED)
    assert json.loads(ask("execution", "wait", "e5-1", "-o", "json").stdout)["result"] == {"sent": 1}


def test_waiting_gives_up_with_124(ask, server):
    server.will_answer(EXECUTION)
    done = ask("execution", "wait", "e5-1", "--timeout", "0s")
    assert (done.exit_code, done.stdout) == (124, "")


def test_filters_are_sent_as_the_api_names_them(ask, server):
    server.will_answer(page())
    ask(
        "execution", "list", "--error", "ValueError", "--timed-out", "--waiting-for", "retry", "--tag", "billing",
        "--longer-than", "1h30m", "--later-than", "90s",
    )  # fmt: skip
    (asked,) = server.asked
    assert {name: values[0] for name, values in asked.query.items()} == {
        "error": "ValueError", "timed_out": "true", "waiting_for": "retry", "tag": "billing",
        "longer_than": "5400.000000", "later_than": "90.000000",
    }  # fmt: skip


def test_says_how_many_match_and_how_far_it_has_looked(ask, server):
    found = ExecutionPage([], "next", NOON, ExecutionCount(1200, "estimate"))
    server.will_answer(found)
    done = ask("execution", "list", "--count", "estimate")
    assert "1,200 in total (estimate)" in done.stderr
    assert f"searched back to {NOON.astimezone().isoformat(' ', 'seconds')}" in done.stderr


def test_a_retry_takes_another_payload_also_null(ask, server, tmp_path):
    server.will_answer(EXECUTION)
    (tmp_path / "payload.json").write_text('{"to": "file"}')
    ask("execution", "retry", "e5-1")
    ask("execution", "retry", "e5-1", "--payload", '{"to": "bob"}')
    ask("execution", "retry", "e5-1", "--payload", "null")
    ask("execution", "retry", "e5-1", "--payload", "@payload.json")
    assert [asked.path for asked in server.asked] == ["/v1/executions/e5-1/retry"] * 4
    assert server.asked[0].body == b""
    assert [asked.json["payload"] for asked in server.asked[1:]] == [{"to": "bob"}, None, {"to": "file"}]


def test_a_payload_that_is_not_json_is_a_usage_error(ask, server):
    done = ask("execution", "retry", "e5-1", "--payload", "{to: bob}")
    assert done.exit_code == 2
    assert "not JSON" in done.stderr
    assert server.asked == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "with its job as it is now"),
        (
            {"source": "earlier version", "version": 1},
            "with version 1 of its job, which has version 3 now",
        ),
        (
            {"source": "retry", "given_by": ChangeAuthor("k1", "ann"), "given_at": NOON},
            "with the payload that was given to it by ann (k1)",
        ),
        ({"source": "earlier version", "payload": None, "is_kept": False}, "which is no longer kept"),
    ],
)
def test_shows_what_an_attempt_ran_with(ask, server, fields, said):
    server.will_answer(changed(INPUT, **fields))
    done = ask("execution", "input", "e5-1", "--attempt", "1")
    assert server.asked[0].query == {"attempt": ["1"]}
    assert said in done.stdout
    assert "attempt 1 runs report" in done.stdout
