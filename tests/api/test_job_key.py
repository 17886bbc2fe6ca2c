"""A key names one job, however many ask for it."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

KEYED = {"task": "work", "key": "nightly", "schedule": "every 1h"}


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await client.post("/v1/jobs", json={**KEYED, **fields})


async def test_a_second_job_of_the_same_key_is_a_conflict_that_says_what_to_do(
    client: httpx2.AsyncClient,
) -> None:
    job = (await create(client)).json()
    answer = await create(client, tags=["other"])
    assert answer.status_code == 409
    assert job["id"] in answer.json()["detail"]
    assert "set if_exists to keep or replace" in answer.json()["detail"]
    assert (await client.get(f"/v1/jobs/{job['id']}")).json() == job


async def test_keep_gives_the_job_as_it_is(client: httpx2.AsyncClient) -> None:
    job = (await create(client)).json()
    kept = await create(client, if_exists="keep", tags=["other"], schedule="every 5m")
    assert kept.status_code == 201
    assert kept.json() == job


async def test_replace_gives_the_job_its_new_definition_and_keeps_its_history(
    client: httpx2.AsyncClient,
) -> None:
    job = (await create(client, tags=["old"], payload={"a": 1})).json()
    execution = (await client.post(f"/v1/jobs/{job['id']}/run")).json()
    replaced = (await create(client, if_exists="replace", tags=["new"], schedule="every 5m")).json()
    assert replaced["id"] == job["id"]
    assert (replaced["version"], replaced["tags"], replaced["payload"]) == (2, ["new"], {})
    assert replaced["schedule"] == {"every": 300}
    (kept,) = (await client.get(f"/v1/jobs/{job['id']}/executions")).json()["items"]
    assert kept["id"] == execution["id"]


async def test_replace_leaves_a_paused_job_paused(client: httpx2.AsyncClient) -> None:
    job = (await create(client)).json()
    await client.post(f"/v1/jobs/{job['id']}/pause")
    replaced = (await create(client, if_exists="replace", schedule="every 5m")).json()
    assert (replaced["status"], replaced["next_run_at"]) == ("paused", None)


@pytest.mark.parametrize(
    ("if_exists", "statuses"), [("error", [201] + [409] * 19), ("keep", [201] * 20), ("replace", [201] * 20)]
)
async def test_twenty_who_ask_at_once_get_one_job(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, if_exists: str, statuses: list[int]
) -> None:
    answers = await asyncio.gather(*(create(client, if_exists=if_exists, name=f"{n}") for n in range(20)))
    assert sorted(answer.status_code for answer in answers) == statuses
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 1


async def test_replace_counts_a_delay_from_now_and_runs_what_is_due_now_again(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    once = {"if_exists": "replace", "schedule": {"in": "10m"}}
    first = (await create(client, **once)).json()
    await clock.advance(timedelta(minutes=5))
    second = (await create(client, **once)).json()
    assert second["id"] == first["id"]
    assert second["next_run_at"] > first["next_run_at"]
    pending = await client.get("/v1/executions", params={"status": "pending"})
    assert [each["scheduled_for"] for each in pending.json()["items"]] == [second["next_run_at"]]
    for _ in range(2):
        await clock.advance(timedelta(seconds=1))
        await worker.beat()
        due = (await create(client, if_exists="replace", schedule=None)).json()
        assert due["status"] == "active"
        await still_node.step("claim")
        (run,) = await worker.runs()
        await worker.complete(run)


async def test_replace_does_not_repeat_what_was_due_at_a_time_that_has_passed(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    at = (await still_node._read.now() + timedelta(seconds=1)).isoformat()
    await create(client, schedule={"at": at})
    await clock.advance(timedelta(seconds=2))
    await worker.beat()
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.complete(run)
    again = (await create(client, schedule={"at": at}, if_exists="replace", tags=["new"])).json()
    assert (again["status"], again["tags"]) == ("completed", ["new"])
    await still_node.step("claim")
    assert await worker.runs() == []
