"""`tickwork cluster`."""

from support.sample_answers import CLUSTER, NOON, changed
from tickwork.model.cluster import PauseView, RestoreView
from tickwork.model.resume_cluster import (
    InterruptedExecution,
    MissedJob,
    OverdueExecution,
    Resumed,
    ResumeReport,
)

PAUSED = PauseView(at=NOON, by="API key k1", reason="moving")
RESTORED = RestoreView(at=NOON, data_until=NOON)
REPORT = ResumeReport(
    at=NOON,
    paused=PAUSED,
    restored=RESTORED,
    missed_jobs=12_000,
    missed=[
        MissedJob(tenant="default", job_id="j5", name="weekly", key=None, task="report", first_at=NOON,
                  last_at=NOON, due=1000, due_is_exact=False, runs=1, catch_up="latest")
    ],
    interrupted_executions=1,
    interrupted=[
        InterruptedExecution(tenant="default", id="e5-1", job_id="j5", name=None, task="mail",
                             scheduled_for=NOON, attempt=2, started_at=None, worker=None, on_worker_lost="fail")
    ],
    overdue_executions=0,
    overdue=[],
)  # fmt: skip
OVERDUE = OverdueExecution(
    tenant="default",
    id="e6-1",
    job_id="j6",
    name="once",
    task="t",
    scheduled_for=NOON,
    attempt=1,
    one_time=True,
)


def test_shows_the_nodes_and_whether_it_is_paused(ask, server):
    server.will_answer(changed(CLUSTER, paused=PAUSED, restored=RESTORED))
    shown = ask("cluster", "show").stdout
    assert "paused since 2026-11-15 12:00:00 UTC by API key k1: moving" in shown
    assert "with data until 2026-11-15 12:00:00 UTC" in shown
    assert "box-1:100" in shown


def test_pauses_with_a_reason(ask, server):
    server.will_answer(PAUSED)
    assert "moving" in ask("cluster", "pause", "--reason", "moving").stdout
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.json) == ("POST", "/v1/cluster/pause", {"reason": "moving"})


def test_reports_what_there_is_to_decide(ask, server):
    server.will_answer(changed(REPORT, overdue_executions=1, overdue=[OVERDUE]))
    done = ask("cluster", "report")
    for words in (
        "12,000 or more jobs were due (resume with --missed)",
        "weekly",
        "1000+",
        "1 executions were interrupted (resume with --running)",
        "(its HTTP target)",
        "1 executions are overdue (resume with --overdue)",
        "once",
    ):
        assert words in done.stdout
    assert "is not known here" in done.stderr


def test_resumes_and_repeats_until_all_is_done(ask, server):
    server.will_answer(Resumed(resumed=False, skipped_rules=100, retried=1, cancelled=2))
    server.will_answer(Resumed(resumed=True, skipped_rules=20, retried=0, cancelled=3))
    done = ask("cluster", "resume", "--missed", "skip", "--running", "cancel", "--overdue", "cancel")
    assert "so far: 100 schedules skipped" in done.stderr
    assert "120 schedules skipped what they missed, 1 executions run again, 5 are cancelled" in done.stderr
    assert {each.path for each in server.asked} == {"/v1/cluster/resume"}
    assert server.asked[1].json == {"missed": "skip", "running": "cancel", "overdue": "cancel"}


def test_a_choice_that_does_not_exist_is_refused(ask):
    assert ask("cluster", "resume", "--missed", "maybe").exit_code == 2
