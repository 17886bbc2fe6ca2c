"""That an execution completes is an event where somebody is told of it, and costs nothing elsewhere."""

import asyncpg
import pytest

from support.node_steps import run_due
from support.sent_statements import watch_statements
from support.told_channel import BROKEN, MINUTE, ONCE, TENANT, ToldChannels, make_channel, request_of
from tickwork.model.backfill import BackfillRequest
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.model.stream_event import EventFilter
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

COMPLETED = [{"on": ["completed"], "to": ["ops"]}]
_EVENTS = "SELECT count(*) FROM tickwork.new_event WHERE kind = 'execution.completed'"


@pytest.fixture
async def told(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> ToldChannels:
    await make_channel(connection)
    return await ToldChannels.of(still_node, clock, worker)


async def set_rule(node: Node, **rule: object) -> None:
    request = {"on": ["completed"], "to": ["ops"], **rule}
    await node.notifications.rules.set(TENANT, "rule", NotificationRuleRequest(**request))  # type: ignore[arg-type]
    await node.step("read completion rules")


async def test_a_job_that_asks_for_it_is_told_of_when_it_completes(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    job = await told.create(notify=COMPLETED, name="export")
    await told.create()
    await told.run()
    (item,) = await told.items()
    assert (item.kind, item.job.id, item.title) == ("execution.completed", job, "export (work) completed")
    assert item.detail["run_time"] == pytest.approx(0.001, abs=0.0005)


async def test_each_job_that_asks_for_it_is_told_of_by_itself(told: ToldChannels) -> None:
    jobs = [await told.create(notify=COMPLETED) for _ in range(3)]
    await told.run()
    assert [item.job.id for item in await told.items()] == jobs


@pytest.mark.parametrize(
    ("scope", "job"),
    [({}, {}), ({"queue": "mail"}, {"queue": "mail"}), ({"tag": "billing"}, {"tags": ["billing"]})],
)
async def test_a_rule_that_asks_for_it_is_told_of_all_together(
    told: ToldChannels, scope: dict[str, str], job: dict[str, object]
) -> None:
    await set_rule(told.node, **scope)
    for _ in range(3):
        await told.create(**job)
    if scope:
        await told.create(queue="other")
    await told.run()
    assert [item.count for item in await told.items()] == [3]


async def test_a_completion_that_is_reported_twice_is_one_event(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    """The answer to the commit was lost: the worker reports it again, to another connection."""
    await told.create(notify=COMPLETED)
    await run_due(told.node)
    (run,) = await told.worker.runs()
    await told.worker.tell(run, AttemptOutcome.COMPLETED)
    await told.worker.runs()  # the session has read it
    back = await told.worker.come_back([run])
    await back.tell(run, AttemptOutcome.COMPLETED)
    await back.runs()
    await told.node.step("record")
    await told.node.step("record")
    assert await connection.fetchval(_EVENTS) == 1


async def test_an_edited_job_is_told_of_from_its_next_execution_on(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await told.create(schedule="every 1m")
    await told.node.jobs.patch(TENANT, 1, {"notify": COMPLETED})
    await told.later(MINUTE)
    await told.run()
    assert len(await told.items()) == 1
    await told.node.jobs.patch(TENANT, 1, {"notify": None})
    await told.later(MINUTE)
    await told.run()
    assert await told.items() == []
    assert await connection.fetchval(_EVENTS) == 0


async def test_the_stream_of_events_shows_it_only_through_the_pulse(told: ToldChannels) -> None:
    await told.create(notify=COMPLETED)
    await told.run()
    await told.gather()
    wanted = EventFilter(frozenset({"execution.completed"}))
    assert (await told.node.event_history.page(TENANT, wanted, 10, None)).items == []


async def test_completing_sends_no_statement_more_while_nobody_is_told(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    names = []
    for _ in range(2):
        await told.node.jobs.create(TENANT, [JobRequest(task="work")] * 5)
        await run_due(told.node)
        runs = await told.worker.runs()
        statements = watch_statements(told.node)
        await told.worker.report_all(runs)
        names = [text.split("*/")[0].strip("/* ") for text in statements]
    assert names == ["BEGIN", "complete", "close_leases", "COMMIT"]


# Backfills and workflows


async def test_a_backfill_that_is_done_is_told_of_with_its_counts(told: ToldChannels) -> None:
    await told.create(
        schedule="every 1m",
        retry=ONCE,
        overlap="allow",
        name="report",
        notify=[{"on": ["backfill_done"], "to": ["ops"]}],
    )
    now = (await told.node.jobs.get(TENANT, 1)).created_at
    request = BackfillRequest(from_=now - 5 * MINUTE, to=now - 3 * MINUTE, max_active=10)
    backfill = await told.node.backfills.start(TENANT, 1, request)
    for failure in (BROKEN, None):
        while await told.node.step("backfill"):
            pass
        await told.run(failure)
    (item,) = await told.items()
    assert (item.kind, item.severity) == ("backfill.ended", "error")
    assert (item.detail["backfill_id"], item.detail["failed"]) == (backfill.id, item.detail["total"])
    assert item.title == f"The backfill of report (work) is completed: {item.detail['total']} failed"


def chain(notified: int | None) -> list[JobRequest]:
    """Three jobs, one after the other; one of them asks to tell of the end."""
    notify = [{"on": ["workflow_done"], "to": ["ops"]}]
    return [
        request_of(
            ref=f"step{number}",
            name=f"step {number}",
            depends_on=[f"@step{number - 1}"] if number else [],
            notify=notify if number == notified else [],
        )
        for number in range(3)
    ]


@pytest.mark.parametrize("notified", [0, 1, 2, None])
async def test_a_workflow_that_is_done_is_told_of_once_whichever_job_asks_for_it(
    told: ToldChannels, notified: int | None
) -> None:
    if notified is None:
        await set_rule(told.node, on=["workflow_done"])
    await told.node.jobs.create(TENANT, chain(notified))
    for _ in range(3):
        assert await told.items() == []
        await told.run()
    items = await told.items() + await told.items()
    assert [(item.kind, item.title) for item in items] == [
        ("workflow.ended", "The workflow of step 0 (work) is done: 3 completed")
    ]
    assert items[0].path == "/workflows/j1"


def branching(later: str | None) -> list[JobRequest]:
    """A job, what runs if it fails, which is due later, and what runs after its success."""
    return [
        request_of(ref="charge", name="charge", notify=[{"on": ["workflow_done"], "to": ["ops"]}]),
        request_of(ref="refund", depends_on=[{"job": "@charge", "on": "failure"}], schedule=later),
        request_of(depends_on=["@refund"]),
        request_of(depends_on=["@charge"]),
    ]


@pytest.mark.parametrize("later", [None, "in 60 days"])
async def test_a_branch_that_was_not_taken_does_not_keep_a_workflow_from_being_done(
    told: ToldChannels, later: str | None
) -> None:
    await told.node.jobs.create(TENANT, branching(later))
    await told.run()
    assert await told.items() == []
    await told.run()
    items = await told.items() + await told.items()
    assert [item.title for item in items] == ["The workflow of charge (work) is done: 2 completed, 2 skipped"]


async def test_a_workflow_that_is_blocked_is_not_done_until_it_went_on(told: ToldChannels) -> None:
    requests = chain(0)
    await told.node.jobs.create(TENANT, requests)
    await told.run()
    await run_due(told.node)
    (run,) = await told.worker.runs()
    await told.worker.fail(run, BROKEN)
    assert await told.items() == []
    for _ in range(6):
        await told.run()
        await told.later(MINUTE)
    items = await told.items() + await told.items()
    assert [item.title for item in items] == ["The workflow of step 0 (work) is done: 3 completed"]
