"""`tickwork status` and `tickwork task list`."""

import json

import pytest

from support.sample_answers import (
    CLUSTER,
    IDLE_QUEUE,
    JOB,
    MAIL_QUEUE,
    NODE,
    NOON,
    OPEN_BREAKER,
    WORKER,
    changed,
    page,
)
from tickwork.model.circuit_breaker import BreakerState
from tickwork.model.task import TaskView

QUIET = changed(MAIL_QUEUE, depth=0, oldest_age=None)
BUILT_IN = changed(WORKER, id="w2", name="built-in", tasks=["http"], slots=1000, holding=3)


@pytest.fixture
def stand(server):
    def is_so(*, queues=(QUIET,), breakers=(), nodes=(NODE,)):
        server.will_always_answer("/v1/cluster", changed(CLUSTER, nodes=list(nodes)))
        server.will_always_answer("/v1/workers", page(WORKER, BUILT_IN, changed(WORKER, status="offline")))
        server.will_always_answer("/v1/queues", page(*queues))
        server.will_always_answer("/v1/dead-letters", page())
        server.will_always_answer("/v1/breakers", page(*breakers))
        server.will_always_answer("/v1/jobs", page(changed(JOB, name="weekly", next_run_at=NOON)))

    return is_so


def test_shows_how_things_stand(ask, stand, server):
    stand(queues=[QUIET, IDLE_QUEUE])
    done = ask("status")
    assert done.exit_code == 0
    told = dict(line.split("  ", 1) for line in done.stdout.splitlines()[:7])
    assert told["nodes"].strip() == "box-1:100 ready"
    assert told["workers"].strip() == "1 online; 2 of 10 slots in use"
    assert told["http jobs"].strip() == "3 of 1000 slots in use"
    assert told["dead letters"].strip() == "0 in the last 24 hours"
    assert "weekly" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["mail", "idle"]
    assert len(server.asked) == 6


def test_exits_with_1_when_work_waits_for_long(ask, stand):
    stand(queues=[MAIL_QUEUE])
    done = ask("status")
    assert done.exit_code == 1
    assert "problem: queue mail: the oldest has waited for 75 s" in done.stderr


def test_exits_with_1_when_a_node_is_not_well(ask, stand):
    unwell = changed(NODE, status="unwell", problems=["loop fire failed 9 times in a row"])
    stand(nodes=[NODE, changed(NODE, pid=101, status="silent"), changed(unwell, pid=102)])
    done = ask("status")
    assert done.exit_code == 1
    assert "problem: node box-1 (101) was last seen" in done.stderr
    assert "problem: node box-1 (102): loop fire failed 9 times in a row" in done.stderr


def test_a_paused_queue_waits_because_somebody_wants_it_to(ask, stand):
    stand(queues=[changed(MAIL_QUEUE, paused=True)])
    assert ask("status").exit_code == 0


def test_exits_with_1_when_a_destination_fails(ask, stand):
    stand(
        breakers=[
            OPEN_BREAKER,
            changed(OPEN_BREAKER, destination="https://b.example.com", state=BreakerState.CLOSED),
        ]
    )
    done = ask("status", "-o", "json")
    assert done.exit_code == 1
    picture = json.loads(done.stdout)
    assert [breaker["destination"] for breaker in picture["breakers"]] == ["https://api.example.com"]
    assert len(picture["problems"]) == 1


def test_exits_with_1_when_nothing_answers(ask, server):
    server.will_refuse(503, "the database is away")
    done = ask("status")
    assert done.exit_code == 1
    assert "the database is away" in done.stderr


def test_lists_tasks_with_what_they_take(ask, server):
    parameters = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "default": 3},
            "unit": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["city"],
    }
    weather = TaskView(name="weather", parameters=parameters, description="Ask a station.", workers=["w1"])
    server.will_answer(page(weather, TaskView(name="old", parameters={}, description=None, workers=[])))
    head, first, second = ask("task", "list").stdout.splitlines()
    assert " ".join(head.split()) == "TASK STATE PARAMETERS WORKERS DESCRIPTION"
    assert "city: string, days: integer = 3, unit: string | null = null" in first
    assert second.split() == ["old", "active", "none"]


def test_recurring_jobs_are_asked_for_by_their_next_run(ask, server):
    server.will_answer(page(JOB))
    assert ask("job", "list", "--recurring").exit_code == 0
    assert server.asked[0].query == {"sort": ["next_run_at"], "recurring": ["true"]}
