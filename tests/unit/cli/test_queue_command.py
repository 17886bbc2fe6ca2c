"""`tickwork queue`."""

import pytest

from support.sample_answers import IDLE_QUEUE, MAIL_QUEUE, changed, page
from tickwork.cli.exit_codes import FAILED, NOT_FOUND, USAGE

LIMITS = {"max_running": 10, "rate": "100/1m", "max_backlog": 1000}


def test_lists_what_waits_and_the_limits(ask, server):
    server.will_answer(page(IDLE_QUEUE, MAIL_QUEUE))
    head, idle, mail = [line.split() for line in ask("queue", "list").stdout.splitlines()]
    assert " ".join(head) == "QUEUE STATE WAITING BY PRIORITY OLDEST RUNNING MAX RUNNING RATE MAX BACKLOG"
    assert idle == ["idle", "paused", "0", "0"]
    assert " ".join(mail) == "mail active 42 2 high, 40 normal 1m15s 10 10 100/1m 1000"


def test_shows_one_and_says_when_there_are_more_than_were_counted(ask, server):
    server.will_answer(changed(MAIL_QUEUE, depth=10_000, depth_is_exact=False))
    assert "10000+" in ask("queue", "get", "mail").stdout
    assert server.asked[0].path == "/v1/queues/mail"


def test_set_changes_only_what_is_named(ask, server):
    server.will_answer(MAIL_QUEUE)
    server.will_answer(changed(MAIL_QUEUE, rate="5/s", max_backlog=None))
    done = ask("queue", "set", "mail", "--rate", "5/s", "--no-max-backlog")
    assert done.exit_code == 0
    looked, put = server.asked
    assert (looked.method, put.method, put.path) == ("GET", "PUT", "/v1/queues/mail")
    assert put.json == {"max_running": 10, "rate": "5/s"}


def test_set_makes_a_queue_that_nobody_has_named_yet(ask, server):
    server.will_refuse(404, "there is no queue mail")
    server.will_answer(MAIL_QUEUE)
    ask("queue", "set", "mail", "--max-running", "10", "--rate", "100/1m", "--max-backlog", "1000")
    assert server.asked[1].json == LIMITS


def test_set_refuses_a_limit_that_is_given_and_removed(ask, server):
    server.will_answer(MAIL_QUEUE)
    done = ask("queue", "set", "mail", "--rate", "5/s", "--no-rate")
    assert (done.exit_code, len(server.asked)) == (USAGE, 1)
    assert "give --rate or --no-rate, not both" in done.stderr


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_pauses_and_resumes(ask, server, action):
    server.will_answer(changed(MAIL_QUEUE, paused=action == "pause"))
    assert ("paused" if action == "pause" else "active") in ask("queue", action, "mail").stdout
    assert (server.asked[0].method, server.asked[0].path) == ("POST", f"/v1/queues/mail/{action}")


def test_says_when_there_is_no_such_queue(ask, server):
    server.will_refuse(404, "there is no queue nail")
    done = ask("queue", "get", "nail")
    assert done.exit_code == NOT_FOUND
    assert "there is no queue nail" in done.stderr


def test_a_job_for_a_full_queue_fails_and_says_why(ask, server):
    detail = "queue mail is full: 2 executions wait in it, and 2 may"
    server.will_answer({"type": "/docs/problems/queue-full", "title": "", "detail": detail}, 429)
    done = ask("job", "create", "--task", "work", "--queue", "mail")
    assert (done.exit_code, detail in done.stderr) == (FAILED, True)
