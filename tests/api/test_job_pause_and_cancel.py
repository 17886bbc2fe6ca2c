"""Running, pausing, resuming and cancelling jobs."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return f"/v1/jobs/{answer.json()['id']}"


async def test_a_job_runs_now_besides_its_schedule(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, schedule="every 1h")
    before = (await client.get(job)).json()
    first = await client.post(f"{job}/run")
    second = await client.post(f"{job}/run")
    assert first.status_code == second.status_code == 201
    assert first.json()["id"] != second.json()["id"]
    assert (first.json()["trigger"], first.json()["status"], first.json()["waiting_for"]) == (
        "manual", "pending", "worker",
    )  # fmt: skip
    assert (await client.get(first.headers["location"])).json() == first.json()
    await still_node.step("claim")
    assert len(await worker.runs()) == 2
    assert (await client.get(job)).json() == before | {"running": 1}


async def test_a_paused_job_has_no_next_time_until_it_is_resumed(
    client: httpx2.AsyncClient, clock: SettableClock
) -> None:
    job = await create(client, schedule="every 1h")
    active = (await client.get(job)).json()
    paused = await client.post(f"{job}/pause")
    assert (paused.json()["status"], paused.json()["next_run_at"]) == ("paused", None)
    assert paused.headers["etag"] == '"2"'
    assert (await client.post(f"{job}/pause")).json() == paused.json()
    resumed = (await client.post(f"{job}/resume")).json()
    assert resumed == {**active, "version": 3}
    assert (await client.post(f"{job}/resume")).json() == resumed


@pytest.mark.parametrize("schedule", [None, {"in": "1s"}])
async def test_a_paused_job_starts_nothing_not_even_what_a_worker_holds_ahead_of_its_time(
    client: httpx2.AsyncClient,
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    schedule: object,
) -> None:
    job = await create(client, schedule=schedule)
    if schedule:
        await clock.advance(timedelta(seconds=0.9))
        await worker.beat()
        await still_node.step("claim")
        (ahead,) = await worker.runs()
    await client.post(f"{job}/pause")
    await clock.advance(timedelta(minutes=1))
    await worker.beat()
    await still_node.step("claim")
    assert await worker.runs() == []
    (execution,) = (await client.get(f"{job}/executions")).json()["items"]
    assert (execution["status"], execution["waiting_for"]) == ("pending", "paused")
    if schedule:
        await still_node.step("revoke")
        (revoke,) = await worker.revokes()
        assert (revoke.items[0].job, revoke.items[0].attempt) == (ahead.job, ahead.attempt)
    await client.post(f"{job}/resume")
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.complete(run)
    assert (await client.get(job)).json()["status"] == "completed"


@pytest.mark.parametrize(("days", "waiting_for"), [(15, "due"), (90, "worker")])
async def test_a_far_job_that_was_paused_while_its_time_came_near_or_passed_still_runs(
    client: httpx2.AsyncClient, clock: SettableClock, still_node: Node, days: int, waiting_for: str
) -> None:
    job = await create(client, schedule={"in": "20d"})
    await client.post(f"{job}/pause")
    await clock.advance(timedelta(days=days))
    await still_node.step("maintain partitions")
    await still_node.step("create deferred")
    await client.post(f"{job}/resume")
    await still_node.step("create deferred")
    assert (await client.get(job)).json()["status"] == "active"
    (execution,) = (await client.get(f"{job}/executions")).json()["items"]
    assert (execution["status"], execution["waiting_for"]) == ("pending", waiting_for)


async def test_what_has_ended_cannot_be_paused(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client)
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.complete(run)
    answer = await client.post(f"{job}/pause")
    assert answer.status_code == 409
    assert "completed" in answer.json()["detail"]
    assert (await client.get(job)).json()["status"] == "completed"


async def test_a_cancelled_job_is_still_there_and_does_nothing_more(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, key="once")
    cancelled = (await client.delete(job)).json()
    assert (cancelled["status"], cancelled["next_run_at"]) == ("cancelled", None)
    assert (await client.delete(job)).json() == cancelled
    await still_node.step("claim")
    assert await worker.runs() == []
    for action in ("run", "pause", "resume"):
        answer = await client.post(f"{job}/{action}")
        assert answer.status_code == 409
        assert "is cancelled" in answer.json()["detail"]
    assert (await client.get(job)).json() == cancelled
    (execution,) = (await client.get(f"{job}/executions")).json()["items"]
    assert (execution["status"], execution["reason"]) == ("cancelled", "job cancelled")
    assert await create(client, key="once") != job


async def test_steering_one_job_from_all_sides_at_once_never_fails(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    job = await create(client, key="busy", schedule="every 1h")
    replacement = {"task": "work", "key": "busy", "if_exists": "replace", "schedule": "every 5m"}
    requests = [
        request
        for n in range(5)
        for request in (
            client.post(f"{job}/pause"),
            client.post(f"{job}/resume"),
            client.post(f"{job}/run"),
            client.patch(job, json={"schedule": f"every {n + 1}h"}),
            client.post("/v1/jobs", json=replacement),
        )
    ]
    answers = await asyncio.gather(*requests)
    assert {answer.status_code for answer in answers} == {200, 201}
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 1
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE trigger = 'manual'") == 5
