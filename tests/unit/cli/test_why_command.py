"""`tickwork execution why`."""

import msgspec

from support.sample_answers import NOON
from tickwork.model.execution import ExecutionStatus
from tickwork.model.why_waiting import Cause, Why

PAUSED = Why(
    status=ExecutionStatus.PENDING,
    summary="Queue mail is paused.",
    causes=[Cause(kind="queue_paused", message="queue mail is paused", name="mail")],
    expected_start=None,
    expected_start_reason="when the queue is resumed",
)
LIMITED = Why(
    status=ExecutionStatus.PENDING,
    summary="Queue mail is paused; 3 run under the key k, and at most 3 may.",
    causes=[
        *PAUSED.causes,
        Cause(
            kind="limit",
            message="3 run under the key k, and at most 3 may",
            name="k",
            count=3,
            max=3,
            executions=["e1-1", "e1-2"],
        ),
        Cause(kind="busy", message="box-1 is full", workers=["w1"]),
    ],
    expected_start=None,
    expected_start_reason="when the queue is resumed",
)


def test_tells_the_one_cause_once_and_when_it_starts(ask, server):
    server.will_answer(PAUSED)
    done = ask("execution", "why", "e5-1")
    assert done.stdout.splitlines() == ["Queue mail is paused.", "It starts when the queue is resumed."]
    assert (server.asked[0].method, server.asked[0].path) == ("GET", "/v1/executions/e5-1/why")


def test_lists_several_causes_with_what_they_name(ask, server):
    server.will_answer(LIMITED)
    assert ask("execution", "why", "e5-1").stdout.splitlines() == [
        "Queue mail is paused; 3 run under the key k, and at most 3 may.",
        "It starts when the queue is resumed.",
        "queue_paused  queue mail is paused",
        "limit         3 run under the key k, and at most 3 may",
        "              executions: e1-1, e1-2",
        "busy          box-1 is full",
        "              workers: w1",
    ]


def test_tells_an_expected_start(ask, server):
    server.will_answer(msgspec.structs.replace(PAUSED, expected_start=NOON, expected_start_reason=None))
    assert "It starts 2026-11-15 " in ask("execution", "why", "e5-1").stdout


def test_of_one_that_ended_it_tells_no_start(ask, server):
    ended = Why(
        status=ExecutionStatus.COMPLETED,
        summary="It completed.",
        causes=[Cause(kind="ended", message="it completed")],
        expected_start=None,
        expected_start_reason="it has ended",
    )
    server.will_answer(ended)
    assert ask("execution", "why", "e5-1").stdout == "It completed.\n"


def test_gives_all_of_it_as_json(ask, server):
    server.will_answer(LIMITED)
    done = ask("execution", "why", "e5-1", "-o", "json")
    assert msgspec.json.decode(done.stdout, type=Why) == LIMITED
