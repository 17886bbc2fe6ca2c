"""Limits by key and by queue: how many at once, how many in a time, on all nodes together."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import from_micros
from tickwork.model.requires_limits_fair_share import Limit
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
THREE = [Limit("customer-42", max_running=3)]


async def _submit(node: Node, count: int, limits: list[Limit], **options: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", limits=limits, **options)] * count)


async def test_no_more_run_at_once_than_the_limit_says(still_node: Node, worker: ScriptedWorker) -> None:
    await _submit(still_node, 10, THREE)
    for _ in range(3):
        await run_due(still_node)
    runs = await worker.runs()
    assert len(runs) == 3
    await worker.report_all(runs[:2])
    await run_due(still_node)
    assert len(await worker.runs()) == 2


async def test_a_limit_holds_on_three_nodes_together(nodes: list[Node]) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes]
    await _submit(nodes[0], 20, THREE)
    done = 0
    for _ in range(20):
        for node in nodes:
            await run_due(node)
        held = [(worker, run) for worker in workers for run in await worker.runs()]
        assert len(held) <= 3
        for worker, run in held:
            await worker.complete(run)
        done += len(held)
    assert done == 20


async def test_others_do_not_wait_for_a_limit(still_node: Node, worker: ScriptedWorker) -> None:
    await _submit(still_node, 10, THREE, priority="critical")
    await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 10)
    await run_due(still_node)
    assert len(await worker.runs()) == 13


async def test_what_is_fired_is_limited_too(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await _submit(still_node, 10, THREE, schedule="every 1m", overlap="allow")
    await later(clock, worker, timedelta(minutes=1))
    await run_due(still_node)
    runs = await worker.runs()
    assert len(runs) == 3
    await worker.report_all(runs)
    await run_due(still_node)
    assert len(await worker.runs()) == 3


@pytest.mark.parametrize("kind", [AttemptOutcome.FAILED, AttemptOutcome.SNOOZED, AttemptOutcome.RETURNED])
async def test_an_attempt_that_did_not_complete_frees_its_slot(
    still_node: Node, worker: ScriptedWorker, kind: AttemptOutcome
) -> None:
    await _submit(still_node, 4, THREE)
    await run_due(still_node)
    runs = await worker.runs()
    await worker.report(runs[0], kind, **({"snooze": 60.0} if kind is AttemptOutcome.SNOOZED else {}))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_cancelled_one_frees_its_slot(still_node: Node, worker: ScriptedWorker) -> None:
    await _submit(still_node, 4, [Limit("one", max_running=1)])
    await run_due(still_node)
    (run,) = await worker.runs()
    await still_node.history.cancel(TENANT, run.job, from_micros(run.at))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_dead_worker_frees_its_slots(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)
    await _submit(still_node, 6, THREE)
    await run_due(still_node)
    assert len(await worker.runs()) == 3
    await worker.leave_silently()
    other = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    assert await other.runs() == []
    await later(clock, other, timedelta(seconds=10))
    await later(clock, other, timedelta(seconds=10))
    await still_node.step("rescue")
    await run_due(still_node)
    assert len(await other.runs()) == 3


async def test_a_worker_that_comes_back_still_uses_its_slots(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await _submit(still_node, 6, THREE)
    await run_due(still_node)
    runs = await worker.runs()
    back = await worker.come_back(runs)
    await run_due(still_node)
    assert await back.runs() == []


async def test_a_rate_lets_its_amount_through_at_once_and_then_evenly(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await _submit(still_node, 10, [Limit("api", rate="3/1m")])
    await run_due(still_node)
    started = [len(await worker.runs())]
    for _ in range(6):
        await later(clock, worker, timedelta(seconds=10))
        await run_due(still_node)
        started.append(len(await worker.runs()))
    assert started == [3, 0, 1, 0, 1, 0, 1]


async def test_a_rate_is_shared_by_nodes(nodes: list[Node]) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes]
    await _submit(nodes[0], 10, [Limit("api", rate="4/1m")])
    for node in nodes:
        await run_due(node)
    assert sum([len(await worker.runs()) for worker in workers]) == 4


async def test_the_tightest_of_several_limits_counts(still_node: Node, worker: ScriptedWorker) -> None:
    both = [Limit("customer", max_running=5), Limit("region", max_running=2)]
    await _submit(still_node, 4, both)
    await _submit(still_node, 4, [Limit("customer", max_running=5)])
    await run_due(still_node)
    assert len(await worker.runs()) == 5


async def test_limits_of_other_tenants_are_others(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    other = await connection.fetchval(
        "INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('other', 'x') RETURNING id"
    )
    workers = [
        await ScriptedWorker.connect(still_node, ["work"], tenant_id=tenant) for tenant in (TENANT, other)
    ]
    for tenant in (TENANT, other):
        await still_node.jobs.create(tenant, [JobRequest(task="work", limits=THREE)] * 5)
    await run_due(still_node)
    assert [len(await worker.runs()) for worker in workers] == [3, 3]


async def test_slots_of_closed_leases_are_cleared_away(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _submit(still_node, 3, THREE)
    await run_due(still_node)
    await worker.report_all(await worker.runs())
    await still_node.step("clean up slots")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.slot") == 0
