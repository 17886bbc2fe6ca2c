"""HTTP calls in progress when their server stops: they end in time, or another server makes them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from support.loopback_target import Request, Target, respond, target
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.node import Node

TENANT = 1
SOON = 30.0


class SlowTarget:
    """Answers the calls of the first attempt when it is told to, and all others at once."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.headers["tickwork-attempt"] == "1":
            await self.may_answer.wait()
        await respond()(request, writer)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


async def create(node: Node, url: str, **fields: Any) -> str:
    (job,) = await node.jobs.create(TENANT, [JobRequest(http=HttpTarget(url=url), **fields)])
    return str(job.execution_id)


async def called_more_than(served: Target, times: int) -> None:
    await eventually(lambda: len(served.requests) > times, within=SOON)


async def ended(node: Node, execution: str) -> ExecutionView:
    async def look() -> ExecutionView | None:
        found = await node.history.get(TENANT, *parse_execution_id(execution))
        return found if found.status.ended else None

    return await eventually(look, within=SOON)


async def test_a_call_that_ends_soon_is_waited_for(settings: Settings) -> None:
    slow = SlowTarget()
    async with target(slow) as served:
        async with running(settings) as node:
            execution = await create(node, served.url())
            await eventually(lambda: served.requests, within=SOON)
            stopping = asyncio.create_task(node.stop())
            await asyncio.sleep(0)
            slow.may_answer.set()
            await stopping
        async with running(settings) as other:
            assert (await ended(other, execution)).status is ExecutionStatus.COMPLETED
        assert len(served.requests) == 1


async def test_a_call_that_does_not_end_is_made_by_another_server_at_once(
    settings: Settings, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.builtin_worker._DRAIN_TIMEOUT", 0.2)
    async with target(SlowTarget()) as served:
        async with running(settings) as node:
            execution = await create(node, served.url())
            await eventually(lambda: served.requests, within=SOON)
        status, losses = await connection.fetchrow("SELECT status::text, losses FROM tickwork.execution")
        assert (status, losses) == ("pending", 0)
        assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0
        async with running(settings) as other:
            found = await ended(other, execution)
            attempts = await other.history.attempts(TENANT, *parse_execution_id(execution))
    assert (found.status, found.attempt) == (ExecutionStatus.COMPLETED, 2)
    assert [attempt.outcome for attempt in attempts] == ["lost", "completed"]
    first, second = (request.headers for request in served.requests)
    assert first["webhook-id"] == second["webhook-id"] == execution
    assert [first["tickwork-attempt"], second["tickwork-attempt"]] == ["1", "2"]


async def test_a_job_that_must_not_run_twice_fails_instead(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.builtin_worker._DRAIN_TIMEOUT", 0.2)
    async with target(SlowTarget()) as served:
        async with running(settings) as node:
            execution = await create(node, served.url(), on_worker_lost="fail")
            await eventually(lambda: served.requests, within=SOON)
        async with running(settings) as other:
            found = await ended(other, execution)
    assert (found.status, found.reason) == (ExecutionStatus.FAILED, "worker lost")
    assert len(served.requests) == 1


async def test_many_restarts_do_not_quarantine_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.builtin_worker._DRAIN_TIMEOUT", 0.05)

    async def hang_four_times(request: Request, writer: asyncio.StreamWriter) -> None:
        if int(request.headers["tickwork-attempt"]) < 5:
            await asyncio.Event().wait()
        await respond()(request, writer)

    async with target(hang_four_times) as served:
        execution = ""
        for restart in range(4):
            async with running(settings) as node:
                execution = execution or await create(node, served.url())
                await called_more_than(served, restart)
        async with running(settings) as node:
            assert (await ended(node, execution)).status is ExecutionStatus.COMPLETED
