"""Which jobs and tasks get a row on the time line."""

from tickwork.store.timeline_store import RecentRuns
from tickwork.timeline.choose_rows import Candidate, choose_rows, usual_rows


def ids(candidates: list[Candidate], most: int) -> list[str]:
    return [each.id for each in choose_rows(candidates, most)[0]]


def test_those_that_fail_come_first_then_what_runs_then_what_ran_longest() -> None:
    candidates = [
        Candidate("idle", "t", due=1),
        Candidate("busy", "t", executions=900),
        Candidate("long", "t", executions=2, seconds=6000.0),
        Candidate("failed", "t", failed=1),
        Candidate("failing", "t", failing=True, due=1),
        Candidate("running", "t", running=1),
    ]
    assert ids(candidates, 6) == ["failing", "failed", "running", "long", "busy", "idle"]


def test_what_has_nothing_to_draw_has_no_row() -> None:
    assert choose_rows([Candidate("fails elsewhere", "t", failing=True)], 9) == ([], 0)


def test_equal_ones_keep_their_order_and_the_rest_is_counted() -> None:
    rows, more = choose_rows([Candidate(name, "t", due=1) for name in "abcde"], 3)
    assert ([each.id for each in rows], more) == (["a", "b", "c"], 2)


def test_what_several_sources_know_of_a_job_is_one_row_and_failures_are_not_counted_twice() -> None:
    (row,), more = choose_rows(
        [
            Candidate("a", "t", failing=True),
            Candidate("a", "t", failed=2, executions=5),
            Candidate("a", "t", failed=3),
            Candidate("a", "t", due=4),
        ],
        9,
    )
    assert row == Candidate("a", "t", failing=True, failed=3, executions=5, due=4)
    assert more == 0


def test_rows_are_tasks_where_most_jobs_run_one_time_only() -> None:
    once = [RecentRuns(job, "mail", 1, 0) for job in range(60)]
    often = [RecentRuns(1, "mail", 60, 0)]
    assert usual_rows(once) == "task"
    assert usual_rows(often) == "job"
    assert usual_rows(once[:20]) == "job"
