"""`tickwork job pause|resume|run|cancel` on several jobs: counted, confirmed, chunk by chunk."""

import pytest

PLAN = {"matched": 3, "exact": True}


def test_counts_and_asks_before_it_changes_anything(ask, server):
    server.will_answer(PLAN)
    done = ask("job", "pause", "--tag", "billing", stdin="n\n")
    assert done.exit_code == 1
    assert "Pause 3 jobs?" in done.stderr
    assert [asked.json for asked in server.asked] == [
        {"action": "pause", "filter": {"tag": "billing"}, "dry_run": True}
    ]


def test_goes_on_until_there_is_no_more_and_names_what_failed(ask, server):
    failure = {"job_id": "j2", "title": "Conflict", "detail": "job j2 is cancelled"}
    server.will_answer({"matched": 3, "exact": False})
    server.will_answer({"done": 1, "failed": [failure], "next_cursor": "abc"})
    server.will_answer({"done": 1, "failed": [], "next_cursor": None})
    done = ask("job", "cancel", "--all", stdin="y\n")
    assert done.exit_code == 4
    assert "Cancel 3 or more jobs?" in done.stderr
    assert "j2: job j2 is cancelled" in done.stderr
    assert "cancel: 2 done, 1 failed" in done.stderr
    assert server.asked[2].json["cursor"] == "abc"


def test_several_jobs_can_be_named(ask, server):
    server.will_answer({"matched": 2, "exact": True})
    server.will_answer({"done": 2, "failed": [], "next_cursor": None})
    assert ask("job", "run", "j1", "key:weekly", "--yes").exit_code == 0
    assert server.asked[1].json["ids"] == ["j1", "key:weekly"]


def test_says_so_when_nothing_matches(ask, server):
    server.will_answer({"matched": 0, "exact": True})
    assert "no job matches" in ask("job", "resume", "--task", "none").stderr


@pytest.mark.parametrize("words", [(), ("j1", "--all"), ("--all", "--tag", "a")])
def test_wants_to_know_exactly_what(ask, words):
    done = ask("job", "pause", *words)
    assert done.exit_code == 2
    assert "choose what to pause" in done.stderr


def test_waiting_goes_with_one_job(ask):
    assert "go with one JOB" in ask("job", "run", "--all", "--wait").stderr
