"""Who goes first when three nodes with few places hand out the same backlog, counted."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from tickwork.dispatch.claim_order import AGED
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import PRIORITIES, JobRequest
from tickwork.model.requires_limits_fair_share import FairShare, Limit
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_PLACES = 2  # of each worker, one worker on each node


@pytest.fixture
async def workers(nodes: list[Node]) -> list[ScriptedWorker]:
    return [await ScriptedWorker.connect(node, ["work"], credit=_PLACES) for node in nodes]


async def _rounds(nodes: Sequence[Node], workers: Sequence[ScriptedWorker], count: int) -> list[Run]:
    """What is handed out when every node fills its places so many times, and all ends in between."""
    handed_out: list[Run] = []
    for _ in range(count):
        for node, worker in zip(nodes, workers, strict=True):
            while await node.step("claim"):
                pass
            runs = await worker.runs()
            await worker.report_all(runs)
            handed_out += runs
    return handed_out


async def test_urgent_ones_are_not_behind_a_long_line_of_others(
    nodes: list[Node], workers: list[ScriptedWorker]
) -> None:
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work", priority="low")] * 300)
    await _rounds(nodes, workers, 1)
    await nodes[1].jobs.create(TENANT, [JobRequest(task="work", priority="critical")] * 12)
    runs = await _rounds(nodes, workers, 2)
    assert Counter(PRIORITIES[run.priority] for run in runs) == {"critical": 12}


async def test_an_endless_stream_of_urgent_ones_starves_nobody(
    nodes: list[Node], workers: list[ScriptedWorker], clock: SettableClock
) -> None:
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work", priority="low")] * 30)
    await clock.advance(timedelta(seconds=AGED + 1))
    for worker in workers:
        await worker.beat()
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work", priority="critical")] * 500)
    counts = Counter(PRIORITIES[run.priority] for run in await _rounds(nodes, workers, 40))
    assert sum(counts.values()) == 240
    assert 18 <= counts["low"] <= 30  # one in ten


async def test_a_flooding_tenant_delays_only_itself(
    nodes: list[Node], connection: asyncpg.Connection
) -> None:
    other = await connection.fetchval(
        "INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('other', 'x') RETURNING id"
    )
    await nodes[0].jobs.create(TENANT, [_call(priority="critical")] * 600)
    builtin = [await ScriptedWorker.connect(node, ["http"], tenant_id=None, credit=_PLACES) for node in nodes]
    await _rounds(nodes, builtin, 5)
    await nodes[0].jobs.create(other, [_call(priority="low")] * 18)
    counts = Counter(run.tenant for run in await _rounds(nodes, builtin, 6))
    assert counts == {TENANT: 18, other: 18}


async def test_a_flood_over_ever_new_keys_delays_only_itself(
    nodes: list[Node], workers: list[ScriptedWorker]
) -> None:
    """Limits by key do not help against it: no key reaches its limit."""
    flood = [
        _of("flood", limits=[Limit(f"shard-{number}", max_running=2)], fair_share=FairShare("flood"))
        for number in range(200)
    ]
    await nodes[0].jobs.create(TENANT, flood)
    await _rounds(nodes, workers, 5)
    await nodes[0].jobs.create(TENANT, [_of("quiet", fair_share=FairShare("quiet"))] * 18)
    counts = Counter(run.payload for run in await _rounds(nodes, workers, 6))
    assert counts == {b'{"who":"flood"}': 18, b'{"who":"quiet"}': 18}


def _of(who: str, **options: Any) -> JobRequest:
    return JobRequest(task="work", payload={"who": who}, **options)


def _call(**options: Any) -> JobRequest:
    return JobRequest(http=HttpTarget("http://127.0.0.1:9/"), **options)
