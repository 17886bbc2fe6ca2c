"""One who floods delays only himself: tenants, keys and queues take turns."""

from collections import Counter
from typing import Any

import asyncpg
import pytest

from support.node_steps import run_due
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest
from tickwork.model.requires_limits_fair_share import FairShare, Limit
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


async def _in_turns(node: Node, worker: ScriptedWorker, count: int) -> list[Run]:
    """The next ones, each completed before the next is handed out."""
    runs: list[Run] = []
    while len(runs) < count:
        await run_due(node)
        (run,) = await worker.runs()
        await worker.complete(run)
        runs.append(run)
    return runs


def _whose(runs: list[Run]) -> Counter[bytes]:
    return Counter(run.payload for run in runs)


def _job(who: str, **options: Any) -> JobRequest:
    return JobRequest(task="work", payload={"who": who}, **options)


A, B = b'{"who":"a"}', b'{"who":"b"}'


async def test_a_flooding_key_delays_only_itself(clock: SettableClock, still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    flood = [_job("a", fair_share=FairShare("a"))] * 100
    await still_node.jobs.create(TENANT, [*flood, *[_job("b", fair_share=FairShare("b"))] * 5])
    assert _whose(await _in_turns(still_node, worker, 10)) == {A: 5, B: 5}


async def test_a_flood_over_many_keys_is_one_share(clock: SettableClock, still_node: Node) -> None:
    """The case in which limits by key do not help: whoever floods uses ever new keys."""
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    flood = [
        _job("a", limits=[Limit(f"a-{number}", max_running=5)], fair_share=FairShare("a"))
        for number in range(50)
    ]
    await still_node.jobs.create(TENANT, [*flood, *[_job("b", fair_share=FairShare("b"))] * 5])
    assert _whose(await _in_turns(still_node, worker, 10)) == {A: 5, B: 5}


async def test_the_keys_of_limits_are_shares_when_nothing_else_is_said(
    clock: SettableClock, still_node: Node
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    a, b = ([Limit(name, max_running=9)] for name in "ab")
    await still_node.jobs.create(TENANT, [*[_job("a", limits=a)] * 50, *[_job("b", limits=b)] * 5])
    assert _whose(await _in_turns(still_node, worker, 10)) == {A: 5, B: 5}


async def test_shares_are_by_weight(clock: SettableClock, still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    heavy, light = FairShare("a", weight=3), FairShare("b")
    jobs = [*[_job("a", fair_share=heavy)] * 40, *[_job("b", fair_share=light)] * 40]
    await still_node.jobs.create(TENANT, jobs)
    counts = _whose(await _in_turns(still_node, worker, 40))
    assert 28 <= counts[A] <= 32


async def test_a_worker_weighs_its_queues(clock: SettableClock, still_node: Node) -> None:
    worker = await ScriptedWorker.connect(
        still_node, ["work"], credit=1, queues=["a", "b"], weights={"a": 4.0}
    )
    jobs = [*[_job("a", queue="a")] * 50, *[_job("b", queue="b")] * 50]
    await still_node.jobs.create(TENANT, jobs)
    counts = _whose(await _in_turns(still_node, worker, 50))
    assert 38 <= counts[A] <= 42


async def test_many_places_are_shared_as_fairly_as_one(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    flood = [_job("a", fair_share=FairShare("a"))] * 900
    await still_node.jobs.create(TENANT, [*flood, *[_job("b", fair_share=FairShare("b"))] * 40])
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=100)
    await run_due(still_node)
    counts = _whose(await worker.runs())
    assert counts[B] == 40
    assert counts[A] == 60


async def test_a_flooding_tenant_delays_only_itself(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    other = await connection.fetchval(
        "INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('other', 'x') RETURNING id"
    )
    call = JobRequest(http=HttpTarget("http://127.0.0.1:9/"))
    urgent = JobRequest(http=HttpTarget("http://127.0.0.1:9/"), priority="critical")
    await still_node.jobs.create(TENANT, [urgent] * 100)
    await still_node.jobs.create(other, [call] * 10)
    worker = await ScriptedWorker.connect(still_node, ["http"], tenant_id=None, credit=1)
    first = await worker.runs()
    await worker.report_all(first)
    runs = [*first, *await _in_turns(still_node, worker, 19)]
    assert Counter(run.tenant for run in runs) == {TENANT: 10, other: 10}


async def test_who_was_away_goes_ahead_with_a_few_and_then_takes_turns(
    clock: SettableClock, still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.claim_order.CREDIT", 5)
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    await still_node.jobs.create(TENANT, [_job("a", fair_share=FairShare("a"))] * 60)
    await _in_turns(still_node, worker, 20)
    await still_node.jobs.create(TENANT, [_job("b", fair_share=FairShare("b"))] * 40)
    assert _whose(await _in_turns(still_node, worker, 5)) == {B: 5}
    assert _whose(await _in_turns(still_node, worker, 20)) == {A: 10, B: 10}
