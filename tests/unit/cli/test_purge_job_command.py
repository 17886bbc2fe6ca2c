"""`tickwork job purge`, and `tickwork job cancel --stop-running`."""

import pytest

from support.sample_answers import JOB, NOON, changed
from tickwork.client.deprecation_warning import _warned
from tickwork.model.job import JobStatus
from tickwork.model.job_change_record import ChangeAuthor
from tickwork.model.purge_progress import PurgeView

PURGE = PurgeView(
    job_id="j5",
    status="completed",
    requested_at=NOON,
    requested_by=ChangeAuthor("k1", "ann"),
    ended_at=NOON,
    removed={"executions": 1200, "log_chunks": 3, "events": 0},
)


@pytest.fixture
def _no_pause(monkeypatch):
    monkeypatch.setattr("tickwork.cli.purge_job_command._PAUSE", 0.0)


def test_asks_first_and_names_the_effect(ask, server):
    done = ask("job", "purge", "j5", stdin="n\n")
    assert done.exit_code == 1
    assert "Delete job j5 with all executions, logs and events? Nothing of it can be restored." in done.stderr
    assert server.asked == []


def test_says_what_was_deleted(ask, server):
    server.will_answer(PURGE)
    done = ask("job", "purge", "key:mine", "--yes")
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("DELETE", "/v1/jobs/key%3Amine")
    assert asked.query == {"purge": ["true"], "running": ["leave"]}
    assert "1,200 executions, 3 log chunks deleted" in done.stdout
    assert "ann (k1)" in done.stdout


def test_stops_what_runs_if_told_to(ask, server):
    server.will_answer(PURGE)
    ask("job", "purge", "j5", "--yes", "--stop-running")
    assert server.asked[0].query["running"] == ["cancel"]


@pytest.mark.usefixtures("_no_pause")
def test_waits_until_everything_is_gone(ask, server):
    going_on = changed(PURGE, status="running", ended_at=None)
    server.will_answer(going_on, 202)
    server.will_answer(going_on)
    server.will_answer(PURGE)
    done = ask("job", "purge", "key:mine", "--yes")
    assert [asked.path for asked in server.asked[1:]] == ["/v1/jobs/j5/purge"] * 2
    assert "completed" in done.stdout


def test_does_not_wait_if_told_so(ask, server):
    server.will_answer(changed(PURGE, status="running", ended_at=None, removed={}), 202)
    done = ask("job", "purge", "j5", "--yes", "--no-wait")
    assert len(server.asked) == 1
    assert "nothing deleted yet" in done.stdout


def test_says_why_it_is_refused(ask, server):
    server.will_refuse(
        409, "2 executions of job j5 run: wait for their end, or stop them with running=cancel"
    )
    done = ask("job", "purge", "j5", "--yes")
    assert done.exit_code != 0
    assert "running=cancel" in done.stderr


def test_cancel_stops_what_runs_if_told_to(ask, server):
    server.will_answer(changed(JOB, status=JobStatus.CANCELLED))
    ask("job", "cancel", "j5")
    ask("job", "cancel", "j5", "--stop-running")
    assert [asked.query for asked in server.asked] == [{}, {"running": ["cancel"]}]


def test_cancel_stops_what_runs_of_many(ask, server):
    server.will_answer({"matched": 2, "exact": True})
    server.will_answer({"done": 2, "failed": [], "next_cursor": None})
    ask("job", "cancel", "--tag", "night", "--yes", "--stop-running")
    assert server.asked[1].json["running"] == "cancel"


def test_a_deprecated_part_of_the_api_is_told_on_stderr(ask, server):
    _warned.clear()
    server.will_answer(JOB, Deprecation="@1767312000", Link='</docs>; rel="deprecation"')
    done = ask("job", "cancel", "j5")
    assert done.exit_code == 0
    assert (
        f"warning: DELETE /v1/jobs/j5 uses a part of the API that is deprecated: see {server.url}/docs"
        in done.stderr
    )
