"""Actions on everything that a filter finds: counted first, then chunk by chunk, and one bad row stops no other."""

from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker


async def create(client: httpx2.AsyncClient, count: int, **fields: object) -> list[str]:
    jobs = [{"task": "work", "schedule": "every 1h", **fields} for _ in range(count)]
    answer = await client.post("/v1/jobs/batch", json=jobs)
    assert answer.status_code == 201, answer.text
    return [job["id"] for job in answer.json()["items"]]


async def bulk(client: httpx2.AsyncClient, what: str = "jobs", **body: object) -> dict[str, Any]:
    answer = await client.post(f"/v1/{what}/bulk", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def all_chunks(
    client: httpx2.AsyncClient, what: str = "jobs", **body: object
) -> tuple[int, list[dict[str, Any]]]:
    done, failed, cursor = 0, [], None
    while True:
        part = await bulk(client, what, **body, cursor=cursor)
        done, failed, cursor = done + part["done"], failed + part["failed"], part["next_cursor"]
        if cursor is None:
            return done, failed


async def statuses(client: httpx2.AsyncClient) -> dict[str, str]:
    return {job["id"]: job["status"] for job in (await client.get("/v1/jobs?limit=500")).json()["items"]}


async def test_a_dry_run_counts_and_changes_nothing(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    await create(client, 7, tags=["billing"])
    await create(client, 3)
    plan = await bulk(client, action="pause", filter={"tag": "billing"}, dry_run=True)
    assert plan == {"matched": 7, "exact": True}
    assert set((await statuses(client)).values()) == {"active"}


async def test_chunk_after_chunk_changes_all_that_match_and_nothing_else(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    billing = await create(client, 7, tags=["billing"])
    others = await create(client, 3)
    done, failed = await all_chunks(client, action="pause", filter={"tag": "billing"}, limit=3)
    assert (done, failed) == (7, [])
    after = await statuses(client)
    assert {after[job] for job in billing} == {"paused"}
    assert {after[job] for job in others} == {"active"}
    assert (await all_chunks(client, action="resume", filter={"status": "paused"}, limit=2))[0] == 7
    assert (await all_chunks(client, action="delete", filter={"tag": "billing"}))[0] == 7
    assert set((await statuses(client)).values()) == {"active", "cancelled"}


async def test_a_job_that_cannot_be_changed_is_named_and_does_not_stop_the_others(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    first, cancelled, last = await create(client, 3)
    await client.delete(f"/v1/jobs/{cancelled}")
    ids = [first, cancelled, "j0", "nonsense", "key:missing", last]
    result = await bulk(client, action="pause", ids=ids)
    assert result["done"] == 2
    assert {each["job_id"]: each["title"] for each in result["failed"]} == {
        cancelled: "The current state does not allow this",
        "j0": "Not found",
        "nonsense": "The request is not valid",
        "key:missing": "Not found",
    }
    assert "is cancelled" in next(each for each in result["failed"] if each["job_id"] == cancelled)["detail"]
    assert (await bulk(client, action="pause", ids=ids, dry_run=True)) == {"matched": 3, "exact": True}


async def test_running_twice_with_the_same_idempotency_key_runs_once(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    await create(client, 4, key=None)
    body = {"action": "run", "filter": {"task": "work"}, "limit": 2}
    for _ in range(2):
        answer = await client.post("/v1/jobs/bulk", json=body, headers={"idempotency-key": "once"})
        assert answer.json()["done"] == 2
    following = {**body, "cursor": answer.json()["next_cursor"]}
    await client.post("/v1/jobs/bulk", json=following, headers={"idempotency-key": "once"})
    assert len((await client.get("/v1/executions")).json()["items"]) == 4


async def test_tags_are_added_and_removed_and_repeating_changes_nothing(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    (job,) = await create(client, 1, tags=["a", "b"])
    for _ in range(2):
        assert (await bulk(client, action="tag", tags=["b", "c"], ids=[job]))["done"] == 1
        shown = (await client.get(f"/v1/jobs/{job}")).json()
        assert (shown["tags"], shown["version"]) == (["a", "b", "c"], 2)
    assert (await bulk(client, action="untag", tags=["a", "x"], filter={}))["done"] == 1
    assert (await client.get(f"/v1/jobs/{job}")).json()["tags"] == ["b", "c"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"action": "pause"}, "exactly one of filter and ids"),
        ({"action": "pause", "filter": {}, "ids": ["j1"]}, "exactly one of filter and ids"),
        ({"action": "tag", "filter": {}}, "at least one tag"),
        ({"action": "pause", "filter": {}, "tags": ["a"]}, "mean nothing to pause"),
        ({"action": "pause", "filter": {"taks": "a"}}, "filter.taks"),
        ({"action": "pause", "filter": {"limit": 3}}, "filter.limit"),
        ({"action": "paus", "filter": {}}, "action"),
        ({"action": "pause", "ids": ["j1"] * 501}, "ids"),
        ({"action": "pause", "filter": {}, "limit": 501}, "limit"),
        ({"action": "pause", "filter": {}, "cursor": "x"}, "cursor"),
    ],
)
async def test_nonsense_is_refused_by_name(
    client: httpx2.AsyncClient, body: dict[str, object], said: str
) -> None:
    answer = await client.post("/v1/jobs/bulk", json=body)
    assert answer.status_code == 422
    assert said in answer.text


async def test_nobody_acts_on_the_jobs_of_another_tenant(
    client: httpx2.AsyncClient, worker: ScriptedWorker, make_tenant: MakeTenant
) -> None:
    (job,) = await create(client, 1)
    bob = await make_tenant("bob")
    assert (await bulk(bob.admin, action="cancel", ids=[job]))["done"] == 0
    assert (await bulk(bob.admin, action="cancel", filter={}))["done"] == 0
    assert await statuses(client) == {job: "active"}


async def test_executions_are_retried_and_cancelled_by_filter(
    client: httpx2.AsyncClient, worker: ScriptedWorker, still_node: Node, connection: asyncpg.Connection
) -> None:
    await create(client, 5, schedule={"at": datetime.now(UTC).isoformat()}, retry={"max_attempts": 1})
    await still_node.step("claim")
    for claim in await worker.runs():
        await worker.fail(claim, Failure("ValueError", "no", None))
    await still_node.step("record")
    failed = {"status": "failed"}
    plan = await bulk(client, "executions", action="retry", filter=failed, dry_run=True)
    assert plan == {"matched": 5, "exact": True}
    done, refused = await all_chunks(client, "executions", action="retry", filter=failed, limit=2)
    assert (done, refused) == (5, [])
    waiting = [each["id"] for each in (await client.get("/v1/executions")).json()["items"]]
    again = await bulk(client, "executions", action="retry", ids=[*waiting[:2], "e0-0"])
    assert again["done"] == 0
    assert {each["execution_id"] for each in again["failed"]} == {*waiting[:2], "e0-0"}
    assert (await all_chunks(client, "executions", action="cancel", filter={"task": "work"}))[0] == 5
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE status = 'cancelled'") == 5
    )
