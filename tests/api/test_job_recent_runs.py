"""GET /v1/jobs?recent=N: the strip of the latest outcomes of each job."""

from datetime import timedelta

import httpx2

from support.node_steps import later, run_due
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


async def test_each_job_shows_its_latest_runs_latest_first(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    body = {"task": "work", "schedule": "every 10m", "retry": {"max_attempts": 1}}
    hourly = (await client.post("/v1/jobs", json=body)).json()["id"]
    idle = (await client.post("/v1/jobs", json={**body, "schedule": {"in": "1d"}})).json()["id"]
    for number in range(4):
        await later(clock, worker, timedelta(minutes=10))
        await run_due(still_node)
        for run in await worker.runs():
            if number == 2:
                await worker.fail(run, Failure("ValueError", "no", None))
            else:
                await worker.complete(run, b"1")
        await still_node.step("record")
    items = (await client.get("/v1/jobs", params={"recent": 3})).json()["items"]
    runs = {item["id"]: item["recent_runs"] for item in items}
    assert [run["status"] for run in runs[hourly]] == ["completed", "failed", "completed"]
    assert all(run["duration"] is not None and run["id"].startswith("e") for run in runs[hourly])
    assert runs[hourly] == sorted(runs[hourly], key=lambda run: run["scheduled_for"], reverse=True)
    assert runs[idle] == []
    plain = (await client.get("/v1/jobs")).json()["items"]
    assert {item["recent_runs"] for item in plain} == {None}


async def test_a_page_with_runs_is_short(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/v1/jobs", params={"recent": 3, "limit": 101})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "limit"
