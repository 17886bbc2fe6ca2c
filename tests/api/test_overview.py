"""GET /v1/overview: how things stand, in one answer."""

from datetime import timedelta

import httpx2

from api.conftest import MakeTenant
from support.node_steps import later, run_due
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


async def test_an_empty_system_has_an_overview(client: httpx2.AsyncClient) -> None:
    overview = (await client.get("/v1/overview")).json()
    assert overview["last_24_hours"]["fired"] == 0
    assert overview["last_24_hours"]["success_share"] is None
    assert (overview["failing_jobs"], overview["dead_letters"], overview["next_runs"]) == (0, 0, [])
    assert overview["backlog"]["waiting"] == 0
    assert overview["capacity"]["slots"] == 0


async def test_says_what_failed_what_waits_and_what_comes_next(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    body = {"task": "work", "name": "nightly", "schedule": "every 10m", "retry": {"max_attempts": 1}}
    job = (await client.post("/v1/jobs", json=body)).json()["id"]
    await client.post("/v1/jobs", json={"task": "work"})
    await client.post(f"/v1/jobs/{job}/run")
    await run_due(still_node)
    runs = await worker.runs()
    failing = [run for run in runs if run.job == 1]
    for run in failing:
        await worker.fail(run, Failure("ValueError", "no", None))
    await worker.report_all([run for run in runs if run.job != 1])
    for loop in ("record", "number events", "write statistics"):
        await still_node.step(loop)
    await later(clock, worker, timedelta(seconds=5))
    await client.post("/v1/jobs", json={"task": "work", "queue": "stuck", "requires": {"cpu": 99}})
    await later(clock, worker, timedelta(minutes=2))
    overview = (await client.get("/v1/overview")).json()
    counts = overview["last_24_hours"]
    assert (counts["completed"], counts["failed"], counts["success_share"]) == (1, 1, 0.5)
    assert (overview["failing_jobs"], overview["failing_jobs_exact"], overview["dead_letters"]) == (
        1,
        True,
        1,
    )
    (worst,) = overview["worst"]
    assert (worst["job_id"], worst["name"], worst["failures_in_a_row"]) == (job, "nightly", 1)
    assert overview["backlog"]["stuck_queues"] == ["stuck"]
    assert overview["backlog"]["oldest_queue"] == "stuck"
    assert overview["capacity"]["workers"] == 1
    assert overview["next_runs"][0]["name"] == "nightly"
    bob = await make_tenant("bob")
    foreign = (await bob.admin.get("/v1/overview")).json()
    assert (foreign["failing_jobs"], foreign["worst"], foreign["next_runs"]) == (0, [], [])
