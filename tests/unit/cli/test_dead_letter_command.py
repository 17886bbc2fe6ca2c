"""`tickwork dead-letter`: what is asked of the server, what is printed, and how it exits."""

import json

import pytest

from support.sample_answers import EXECUTION, JOB, NOON, changed, page
from tickwork.model.dead_letter import DeadLetterView, Discarded, Redriven, Refused
from tickwork.model.execution import AttemptError, Trigger

LETTER = DeadLetterView(
    id="e5-1k0avmtt23w",
    job_id="j5",
    job_name="weekly report",
    job_key=None,
    task="report",
    queue="default",
    trigger=Trigger.SCHEDULE,
    scheduled_for=NOON,
    failed_at=NOON,
    attempts=4,
    reason="attempts used up",
    error=AttemptError("ValueError", "no such day"),
)
REDRIVEN = Redriven(redriven=2, as_of=NOON, last_at=NOON)


def test_lists_what_the_filters_let_through(ask, server):
    server.will_answer(page(LETTER, changed(LETTER, error=None, reason="worker lost")))
    done = ask(
        "dead-letter", "list", "--task", "report", "--error", "ValueError", "--since", "2026-01-01T00:00Z"
    )
    assert server.asked[0].path == "/v1/dead-letters"
    assert server.asked[0].query == {
        "task": ["report"],
        "error": ["ValueError"],
        "since": ["2026-01-01T00:00:00+00:00"],
    }
    head, first, second = done.stdout.splitlines()
    assert head.split() == ["ID", "JOB", "TASK", "SCHEDULED", "FOR", "FAILED", "ATTEMPTS", "WHY"]
    assert first.endswith("ValueError: no such day")
    assert second.endswith("worker lost")


def test_one_id_is_redriven_without_a_question(ask, server):
    server.will_answer(REDRIVEN)
    done = ask("dead-letter", "redrive", "e5-1k0avmtt23w", "-o", "json")
    assert done.exit_code == 0, done.output
    assert server.asked[0].json["ids"] == ["e5-1k0avmtt23w"]
    assert json.loads(done.stdout)["redriven"] == 2


def test_several_are_asked_about_with_their_number(ask, server):
    server.will_answer(page(LETTER, LETTER))
    server.will_answer(REDRIVEN)
    done = ask("dead-letter", "redrive", "--task", "report", "--rate", "100/1m", "--max", "9", stdin="y\n")
    assert "Redrive 2 dead letters? [y/N]" in done.stderr
    assert server.asked[1].path == "/v1/dead-letters/redrive"
    assert server.asked[1].json == {"filter": {"task": "report"}, "rate": "100/1m", "max": 9}
    assert done.stdout.split()[:2] == ["redriven", "2"]


@pytest.mark.parametrize("deed", ["redrive", "discard"])
@pytest.mark.parametrize("stdin", ["n\n", ""])
def test_without_a_yes_nothing_is_done(ask, server, deed, stdin):
    server.will_answer({"items": [LETTER], "next_cursor": "more"})
    done = ask("dead-letter", deed, "--all", stdin=stdin)
    assert done.exit_code == 1
    assert "1 or more dead letters?" in done.stderr
    assert [asked.method for asked in server.asked] == ["GET"]


def test_yes_asks_nothing(ask, server):
    server.will_answer(Discarded(discarded=9))
    done = ask("dead-letter", "discard", "--all", "--yes")
    assert (done.exit_code, done.stdout.split()) == (0, ["discarded", "9"])
    assert [(asked.path, asked.json) for asked in server.asked] == [
        ("/v1/dead-letters/discard", {"filter": {}})
    ]


@pytest.mark.parametrize(
    "arguments", [(), ("e5-1", "--all"), ("e5-1", "--task", "report"), ("--all", "--task", "report")]
)
def test_exactly_one_way_to_choose(ask, arguments):
    done = ask("dead-letter", "redrive", *arguments)
    assert done.exit_code == 2
    assert "ids, or options such as --task, or --all" in done.stderr


def test_what_was_not_redriven_is_named(ask, server):
    refused = [Refused("e5-1", "job j5 is cancelled")]
    server.will_answer(changed(REDRIVEN, refused=refused, not_found=["e6-1"]))
    done = ask("dead-letter", "redrive", "e5-1", "e6-1", "--yes")
    assert done.exit_code == 3
    assert done.stderr.splitlines() == ["e5-1 stays: job j5 is cancelled", "e6-1 is not a dead letter"]


def test_one_that_is_refused_is_a_conflict(ask, server):
    server.will_answer(changed(REDRIVEN, redriven=0, refused=[Refused("e5-1", "job j5 is cancelled")]))
    assert ask("dead-letter", "redrive", "e5-1").exit_code == 4


def test_a_rate_that_is_none_is_refused_before_anything_is_asked(ask, server):
    done = ask("dead-letter", "redrive", "--all", "--rate", "fast")
    assert done.exit_code == 2
    assert "write how many in how long" in done.stderr
    assert server.asked == []


@pytest.mark.parametrize(("kind", "name"), [("execution", EXECUTION.id), ("job", "j5")])
def test_retries_by_hand(ask, server, kind, name):
    server.will_answer(EXECUTION)
    done = ask(kind, "retry", name)
    assert done.exit_code == 0, done.output
    assert (server.asked[0].method, server.asked[0].path) == ("POST", f"/v1/{kind}s/{name}/retry")
    assert EXECUTION.id in done.stdout


def test_a_job_says_after_which_errors_to_try_again(ask, server):
    server.will_answer(changed(JOB, next_run_at=None), 201)
    errors = ("--retry-on", "Http5xx", "--retry-on", "Timeout", "--never-retry-on", "Http501")
    done = ask("job", "create", "--task", "report", *errors)
    assert done.exit_code == 0, done.output
    assert server.asked[0].json["retry"] == {"only_on": ["Http5xx", "Timeout"], "never_on": ["Http501"]}
