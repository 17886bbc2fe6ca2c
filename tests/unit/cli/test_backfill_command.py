"""`tickwork job backfill`: what is asked of the server, what is printed, and how it exits."""

import json

import pytest

from support.sample_answers import BACKFILL, EXECUTION, NOON, changed, page
from tickwork.model.backfill import BackfillPlan, BackfillStatus

RANGE = ("--from", "2026-01-01T00:00Z", "--to", "2026-02-01T00:00Z")
COMPLETED = changed(BACKFILL, status=BackfillStatus.COMPLETED, made=4, active=0, completed=4, ended_at=NOON)


def test_starts_a_backfill(ask, server):
    server.will_answer(BACKFILL, 201)
    done = ask(
        "job", "backfill", "j5", *RANGE, "--order", "newest", "--max-active", "5", "--policy", "failed"
    )
    assert done.exit_code == 0, done.output
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/jobs/j5/backfill")
    assert asked.json == {
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-02-01T00:00:00Z",
        "order": "newest",
        "max_active": 5,
        "policy": "failed",
        "dry_run": False,
    }
    assert "3 of 4" in done.stdout


def test_a_dry_run_says_how_many(ask, server):
    server.will_answer(BackfillPlan(31, NOON, NOON))
    done = ask("job", "backfill", "j5", *RANGE, "--dry-run")
    assert server.asked[0].json["dry_run"] is True
    assert done.stdout.splitlines()[0].split() == ["would", "run", "31"]


def test_waiting_follows_it_to_the_end(ask, server):
    for answer in (BACKFILL, BACKFILL, COMPLETED):
        server.will_answer(answer)
    done = ask("job", "backfill", "j5", *RANGE, "--wait")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "b1 completed: 4 of 4 completed, 0 failed\n")
    assert [asked.path for asked in server.asked[1:]] == ["/v1/backfills/b1"] * 2


@pytest.mark.parametrize("ended", [{"failed": 1}, {"status": BackfillStatus.CANCELLED}])
def test_one_that_did_not_go_well_exits_with_1(ask, server, ended):
    server.will_answer(changed(COMPLETED, **ended))
    done = ask("job", "backfill", "j5", *RANGE, "--wait", "-o", "json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["id"] == "b1"


def test_a_wait_that_is_over_exits_with_124(ask, server):
    server.will_answer(BACKFILL)
    assert ask("job", "backfill", "j5", *RANGE, "--wait", "--wait-timeout", "0s").exit_code == 124


def test_needs_a_range(ask, server):
    done = ask("job", "backfill", "j5", "--from", "7d")
    assert done.exit_code == 2
    assert "'--to'" in done.stderr
    assert server.asked == []


def test_lists_and_cancels_backfills(ask, server):
    server.will_answer(page(BACKFILL))
    row = ask("job", "backfills", "j5", "--limit", "1").stdout.splitlines()[1]
    assert row.startswith("b1  running")
    assert "3/4" in row
    server.will_answer(changed(BACKFILL, status=BackfillStatus.CANCELLED))
    ask("job", "backfills", "j5")
    assert "cancelled" in ask("job", "cancel-backfill", "b1").stdout
    assert (server.asked[-1].method, server.asked[-1].path) == ("POST", "/v1/backfills/b1/cancel")


@pytest.mark.parametrize(("options", "body"), [((), b""), (("--overlap", "queue"), b'{"overlap":"queue"}')])
def test_run_now_says_what_becomes_of_an_overlap(ask, server, options, body):
    server.will_answer(EXECUTION, 201)
    assert ask("job", "run", "j5", *options).exit_code == 0
    assert server.asked[0].body == body
