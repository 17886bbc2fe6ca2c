"""`tickwork job tree`: jobs that depend on each other, drawn."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from support.sample_answers import JOB, NOON
from tickwork.model.execution import ExecutionStatus, WaitingFor
from tickwork.model.job import NeededOutcome
from tickwork.model.job_graph import GraphJob, GraphParent, JobGraph

DONE = ExecutionStatus.COMPLETED


def job(
    number: int,
    name: str,
    *parents: int,
    status: ExecutionStatus = DONE,
    waiting_for: WaitingFor | None = None,
    reason: str | None = None,
    on: NeededOutcome = "success",
    when: bool = False,
) -> GraphJob:
    began = status in (DONE, ExecutionStatus.FAILED)
    return GraphJob(
        job_id=f"j{number}",
        name=name,
        key=None,
        task="work",
        depends_on=[f"j{parent}" for parent in parents],
        element_of=None,
        parents=[GraphParent(f"j{parent}", on, when) for parent in parents],
        execution_id=f"e{number}-1",
        scheduled_for=NOON,
        status=status,
        waiting_for=waiting_for,
        reason=reason,
        started_at=NOON if began else None,
        finished_at=NOON + timedelta(seconds=2) if began else None,
    )


PENDING: dict[str, Any] = {"status": ExecutionStatus.PENDING, "waiting_for": WaitingFor.DEPENDENCY}
DIAMOND = JobGraph(
    [
        job(4, "report", 2, 3, **PENDING),
        job(2, "clean", 1),
        job(3, "enrich", 1, status=ExecutionStatus.FAILED),
        job(1, "extract"),
    ],
    truncated=False,
)


def test_draws_a_diamond_with_the_state_of_each(ask, server):
    server.will_answer(DIAMOND)
    done = ask("job", "tree", "j4")
    assert done.exit_code == 0, done.output
    assert server.asked[0].path == "/v1/jobs/j4/graph"
    assert done.stdout.splitlines() == [
        "extract  j1  completed, 2s",
        "├─ clean  j2  completed, 2s",
        "└─ enrich  j3  failed, 2s",
        "   └─ report  j4  pending, waits for dependency  after j2, j3",
    ]


def test_counts_what_is_too_much_to_draw(ask, server):
    parents = range(2, 52)
    items = [job(1, "split"), *(job(number, "part", 1) for number in parents), job(60, "join", *parents)]
    server.will_answer(JobGraph(items, truncated=True))
    done = ask("job", "tree", "j1")
    lines = done.stdout.splitlines()
    assert lines[-1] == "└─ and 29 more: 29 completed"
    assert [line for line in lines if "join" in line] == ["│  └─ join  j60  completed, 2s  after 50 jobs"]
    assert "only the nearest 52 are shown" in done.stderr


def test_follows_it_until_only_blocked_jobs_are_left(ask, server, monkeypatch):
    monkeypatch.setattr("tickwork.cli.job_tree.sleep", lambda _: None)
    running = job(3, "enrich", 1, status=ExecutionStatus.RUNNING)
    server.will_answer(
        msgspec.structs.replace(DIAMOND, items=[*DIAMOND.items[:2], running, DIAMOND.items[3]])
    )
    server.will_answer(DIAMOND)
    done = ask("job", "tree", "j4", "--watch")
    assert done.exit_code == 0, done.output
    assert "enrich  j3  failed, 2s" in done.stdout
    assert len(server.asked) == 2


def test_tells_branches_that_were_not_taken_from_those_that_wait(ask, server):
    skipped: dict[str, Any] = {
        "status": ExecutionStatus.SKIPPED,
        "reason": "not taken: parent j1 did not fail",
    }
    items = [
        job(1, "pay"),
        job(2, "refund", 1, on="failure", **skipped),
        job(3, "audit", 1, when=True),
        job(4, "tidy", 2, 3, on="any outcome", **PENDING),
    ]
    server.will_answer(JobGraph(items, truncated=False))
    assert ask("job", "tree", "j1").stdout.splitlines() == [
        "pay  j1  completed, 2s",
        "├─ refund  j2  skipped, not taken: parent j1 did not fail  on failure",
        "└─ audit  j3  completed, 2s  if its condition is true",
        "   └─ tidy  j4  pending, waits for dependency  after j2 on any outcome, j3 on any outcome",
    ]


def test_gives_the_graph_as_data(ask, server):
    server.will_answer(DIAMOND)
    done = ask("job", "tree", "j4", "-o", "json")
    assert msgspec.json.decode(done.stdout, type=JobGraph) == DIAMOND


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (["j1", "j2"], ["j1", "j2"]),
        (["j1:any"], [{"job": "j1", "on": "any outcome"}]),
        (["j1:failure"], [{"job": "j1", "on": "failure"}]),
        (['{"job": "j1", "when": {"exists": true}}'], [{"job": "j1", "when": {"exists": True}}]),
        (["key:a:b", "key:c:any"], ["key:a:b", {"job": "key:c", "on": "any outcome"}]),
    ],
)
def test_creates_a_job_that_depends_on_others(ask, server, given, sent):
    server.will_answer(msgspec.structs.replace(JOB, next_run_at=None), 201)
    options = [word for each in given for word in ("--depends-on", each)]
    done = ask("job", "create", "--task", "report", *options)
    assert done.exit_code == 0, done.output
    assert server.asked[0].json == {"task": "report", "depends_on": sent}


def test_an_outcome_that_is_none_is_refused(ask):
    done = ask("job", "create", "--task", "report", "--depends-on", "j1:never")
    assert done.exit_code == 2
    assert "write JOB, JOB:failure, JOB:any" in done.stderr
