"""The causes that are named for an execution that waits, given all the facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickwork.dispatch.why_waiting import explain
from tickwork.model.execution import ExecutionStatus
from tickwork.model.quantities import parse_rate
from tickwork.model.requires_limits_fair_share import Placement
from tickwork.model.why_waiting import (
    AHEAD_LIMIT,
    Cause,
    FailingDestination,
    LimitInForce,
    LiveWorker,
    OtherExecution,
    WaitingFacts,
    Why,
)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
IDLE = LiveWorker("w1", "box-1", True, [], {}, {}, {}, slots=2, holding=0, draining=False)
FULL = IDLE._replace(holding=2)
WAITING = WaitingFacts(
    now=NOON,
    status=ExecutionStatus.PENDING,
    due_at=NOON,
    attempt=1,
    started_at=None,
    finished_at=None,
    reason=None,
    worker=None,
    task="report",
    queue="mail",
    placement=Placement(),
    job="j5",
    job_paused=False,
    queue_paused=False,
    is_suspended=False,
    workers=[IDLE],
)
LIMIT = LimitInForce("key", "customer-42", 3, None, running=3, holders=["e1-1", "e1-2"], used_until=NOON)
RATE = LimitInForce(
    "queue", "mail", None, parse_rate("60/1m"), running=0, holders=[], used_until=NOON + timedelta(minutes=1)
)


def why(**facts: Any) -> Why:
    return explain(WAITING._replace(**facts))


def only_cause(**facts: Any) -> Cause:
    (cause,) = why(**facts).causes
    return cause


def later(**by: float) -> datetime:
    return NOON + timedelta(**by)


def test_says_that_nothing_blocks_it():
    reasons = why()
    assert (reasons.causes, reasons.expected_start) == ([], NOON)
    assert reasons.summary == "Nothing blocks it: it is handed to a worker within a moment."


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        ("completed", None, "it completed at 2026-01-31 12:00:00 UTC"),
        ("failed", None, "it failed at 2026-01-31 12:00:00 UTC"),
        ("skipped", "overlap", "it was skipped at 2026-01-31 12:00:00 UTC: overlap"),
        ("cancelled", "by request", "it was cancelled at 2026-01-31 12:00:00 UTC: by request"),
    ],
)
def test_ended(status, reason, message):
    reasons = why(status=ExecutionStatus(status), finished_at=NOON, reason=reason, workers=[])
    assert [(cause.kind, cause.message) for cause in reasons.causes] == [("ended", message)]
    assert (reasons.expected_start, reasons.expected_start_reason) == (None, "it has ended")


def test_running():
    reasons = why(status=ExecutionStatus.RUNNING, worker="box-1", started_at=NOON)
    assert reasons.summary == "Worker box-1 started it at 2026-01-31 12:00:00 UTC."
    assert (reasons.expected_start, reasons.expected_start_reason) == (None, "it has started")


def test_handed_over_ahead_of_its_time():
    reasons = why(worker="box-1", due_at=later(milliseconds=200))
    assert reasons.causes[0].kind == "due"
    assert reasons.summary == "Worker box-1 has it and starts it in 200ms, at 2026-01-31 12:00:00 UTC."
    assert reasons.expected_start == later(milliseconds=200)


def test_due():
    reasons = why(due_at=later(minutes=5))
    assert reasons.summary == "It is due in 5m, at 2026-01-31 12:05:00 UTC."
    assert (reasons.causes[0].kind, reasons.expected_start) == ("due", later(minutes=5))


def test_retry():
    reasons = why(due_at=later(seconds=4), attempt=2)
    assert reasons.summary == "Attempt 2 is to start in 4s, at 2026-01-31 12:00:04 UTC."
    assert (reasons.causes[0].kind, reasons.expected_start) == ("retry", later(seconds=4))


def test_paused():
    reasons = why(is_suspended=True, job_paused=True)
    assert [(cause.kind, cause.name) for cause in reasons.causes] == [("paused", "j5")]
    assert (reasons.summary, reasons.expected_start_reason) == (
        "Its job j5 is paused.",
        "when its job is resumed",
    )


def test_a_suspended_execution_is_also_not_due_before_its_time():
    kinds = [cause.kind for cause in why(is_suspended=True, job_paused=True, due_at=later(hours=1)).causes]
    assert kinds == ["paused", "due"]


def test_a_paused_job_does_not_block_a_manual_run():
    assert why(job_paused=True).causes == []


def test_queue_paused():
    reasons = why(queue_paused=True)
    assert [(cause.kind, cause.name) for cause in reasons.causes] == [("queue_paused", "mail")]
    assert reasons.expected_start is None


def test_dependency():
    running = OtherExecution("e1-1", "running")
    cause = only_cause(is_suspended=True, parents=[running])
    assert (cause.kind, cause.count, cause.executions) == ("dependency", 1, ["e1-1"])
    assert cause.message == "it depends on execution e1-1, which has not completed (running)"
    cause = only_cause(is_suspended=True, parents=[running] * 7)
    assert cause.message == "it depends on 7 executions that have not completed"
    assert (cause.count, len(cause.executions)) == (7, 5)


@pytest.mark.parametrize(("status", "word"), [("failed", "failed"), ("cancelled", "was cancelled")])
def test_dependency_names_the_root_that_ended_badly(status, word):
    parent, root = OtherExecution("e2-1", "pending"), OtherExecution("e1-1", status)
    cause = only_cause(is_suspended=True, parents=[parent], roots=[root, root])
    assert cause.executions == ["e1-1", "e1-1"]
    assert f"it depends on execution e1-1, which {word}, and on 1 more that did not complete" in cause.message


def test_overlap():
    cause = only_cause(is_suspended=True, blocker=OtherExecution("e5-1", "running"))
    assert (cause.kind, cause.executions) == ("overlap", ["e5-1"])
    assert "e5-1 of the same job has not ended (running)" in cause.message


def test_breaker():
    broken = FailingDestination(
        "https://a.example", "failed 5 times in a row", "Http503: no", later(seconds=8)
    )
    reasons = why(is_suspended=True, breaker=broken)
    assert reasons.summary == (
        "Circuit breaker open: https://a.example failed 5 times in a row (Http503: no); "
        "tried again in 8s, at 2026-01-31 12:00:08 UTC."
    )
    (cause,) = reasons.causes
    assert (cause.kind, cause.name, cause.at) == ("breaker", "https://a.example", later(seconds=8))
    assert reasons.expected_start_reason == "when the destination works again"
    assert "being tried just now" in why(is_suspended=True, breaker=broken._replace(probe_at=None)).summary


def test_limit():
    cause = only_cause(limits=[LIMIT])
    assert cause == Cause(
        kind="limit",
        message="3 run under the key customer-42, and at most 3 may",
        name="customer-42",
        count=3,
        max=3,
        executions=["e1-1", "e1-2"],
    )


def test_a_limit_that_does_not_bind_is_no_cause():
    assert why(limits=[LIMIT._replace(running=2), RATE._replace(used_until=NOON)]).causes == []


def test_rate():
    reasons = why(limits=[RATE])
    assert reasons.causes[0].kind == "rate"
    assert reasons.summary == (
        "The rate of queue mail, 60 in 1m, is used up: it can start in 1s, at 2026-01-31 12:00:01 UTC."
    )
    assert reasons.expected_start == later(seconds=1)


def test_a_rate_lets_those_ahead_go_first():
    reasons = why(limits=[RATE], ahead=9)
    assert "9 are ahead of it in the backlog, and it can start in 10s" in reasons.summary
    assert reasons.causes[0].at == later(seconds=10)
    too_many = why(limits=[RATE], ahead=AHEAD_LIMIT + 1)
    assert (too_many.causes[0].at, too_many.expected_start) == (None, None)
    assert f"more than {AHEAD_LIMIT:,} are ahead" in too_many.summary


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ([], "no worker is connected, so nobody offers the task report"),
        (
            [IDLE._replace(offers_task=False)],
            "no live worker offers the task report: it could never run with the workers that are connected",
        ),
        ([IDLE._replace(draining=True)], "the only workers that offer the task report are draining"),
    ],
)
def test_no_task(workers, message):
    cause = only_cause(workers=workers)
    assert (cause.kind, cause.name, cause.message) == ("no_task", "report", message)


def test_no_worker():
    cause = only_cause(workers=[IDLE._replace(queues=["other", "more"])])
    assert (cause.kind, cause.name, cause.workers) == ("no_worker", "mail", ["w1"])
    assert cause.message.endswith("; box-1 serves only other, more")


def test_label_names_the_nearest_worker_and_what_it_lacks():
    wanted = Placement(labels={"region": "eu", "disk": "ssd"})
    near = IDLE._replace(id="w2", name="box-2", labels={"disk": "ssd", "region": "us"})
    cause = only_cause(placement=wanted, workers=[IDLE, near])
    assert (cause.kind, cause.name, cause.workers) == ("label", "region=eu", ["w2"])
    assert cause.message == (
        "no live worker has region=eu, disk=ssd: it could never run with the workers that are connected; "
        "the nearest, box-2, has region=us"
    )
    assert "the nearest, box-1, has no region" in only_cause(placement=wanted, workers=[IDLE]).message


def test_resource_names_the_largest_that_is_to_be_had():
    workers = [
        IDLE._replace(resources={"gpu": 0.5}),
        IDLE._replace(id="w2", name="box-2", resources={"gpu": 1}),
    ]
    cause = only_cause(placement=Placement(resources={"gpu": 2}), workers=workers)
    assert (cause.kind, cause.name, cause.count, cause.max, cause.workers) == (
        "resource",
        "gpu",
        2,
        1,
        ["w2"],
    )
    assert cause.message == (
        "no live worker has 2 gpu: it could never run with the workers that are connected; "
        "the largest, box-2, has 1 gpu"
    )


def test_resource_that_nobody_has_or_nobody_has_together():
    placement = Placement(resources={"memory": 512 * 1024**2, "cpu": 4})
    assert "no live worker has 512Mi memory" in only_cause(placement=placement).message
    assert only_cause(placement=placement).message.endswith("none has any")
    apart = [IDLE._replace(resources={"memory": 1e12, "cpu": 1}), IDLE._replace(resources={"cpu": 8})]
    assert (
        "no live worker has 512Mi memory and 4 cpu together"
        in only_cause(placement=placement, workers=apart).message
    )


def test_busy_when_all_who_could_run_it_are_full():
    cause = only_cause(workers=[FULL, IDLE._replace(offers_task=False)], ahead=12)
    assert (cause.kind, cause.count, cause.max, cause.workers) == ("busy", 12, 2, ["w1"])
    assert cause.message == (
        "the only worker that could run it, box-1, is full: 2 executions in 2 slots; 12 are ahead of it in the backlog"
    )
    cause = only_cause(workers=[FULL, FULL])
    assert cause.message == "all 2 workers that could run it are full: 4 executions in 4 slots"


def test_busy_when_its_resources_are_in_use():
    worker = IDLE._replace(resources={"gpu": 2}, used={"gpu": 1}, holding=1)
    cause = only_cause(placement=Placement(resources={"gpu": 2}), workers=[worker])
    assert (cause.kind, cause.message) == ("busy", "no worker has 2 gpu free just now")


def test_busy_when_others_are_ahead():
    cause = only_cause(ahead=1)
    assert (cause.kind, cause.message) == (
        "busy",
        "1 is ahead of it in the backlog, and they start first",
    )


def test_says_at_once_that_no_worker_could_run_what_is_due_later():
    reasons = why(due_at=later(hours=1), workers=[])
    assert [cause.kind for cause in reasons.causes] == ["due", "no_task"]
    assert reasons.expected_start_reason == "when a worker that offers the task connects"
    assert reasons.summary.startswith("It is due in 1h, at 2026-01-31 13:00:00 UTC; no worker is connected")


def test_limits_and_full_workers_say_nothing_before_it_is_due():
    assert [cause.kind for cause in why(due_at=later(hours=1), limits=[LIMIT], workers=[FULL]).causes] == [
        "due"
    ]


def test_the_summary_names_two_causes_and_counts_the_rest():
    reasons = why(queue_paused=True, limits=[LIMIT, RATE], workers=[FULL])
    assert [cause.kind for cause in reasons.causes] == ["queue_paused", "limit", "rate", "busy"]
    assert reasons.summary == (
        "Queue mail is paused; 3 run under the key customer-42, and at most 3 may; and 2 more."
    )


def test_starts_when_the_last_of_what_ends_by_itself_is_over():
    slow = RATE._replace(kind="key", name="k", rate=parse_rate("1/1h"), used_until=later(hours=1))
    assert why(limits=[RATE, slow]).expected_start == later(hours=1)
