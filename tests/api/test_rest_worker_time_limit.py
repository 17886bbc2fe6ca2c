"""A REST worker that hangs and still sends heartbeats loses its attempt when the timeout has passed."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from support.rest_worker import RestWorker
from tickwork.node import Node
from tickwork.testing.clock import SettableClock

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("reports_start", [True, False])
async def test_a_hung_rest_worker_that_still_beats_loses_the_attempt(
    clock: SettableClock,
    still_node: Node,
    client: httpx2.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    *,
    reports_start: bool,
) -> None:
    monkeypatch.setattr("tickwork.record.time_limits._GRACE", 0.0)
    worker = await RestWorker.register(client, slots=1)
    await client.post("/v1/jobs", json={"task": "work", "timeout": "1m", "retry": {"initial": "1s"}})
    (run,) = await worker.claim()
    if reports_start:
        await worker.start(run)
    assert (await worker.heartbeat())["stop"] == []
    await clock.advance((75 if reports_start else 135) * SECOND)
    await worker.heartbeat()
    await still_node.step("enforce time limits")
    (stop,) = (await worker.heartbeat())["stop"]
    assert (stop["id"], stop["attempt"], stop["reason"]) == (run["id"], 1, "timed out")
    await clock.advance(2 * SECOND)
    (again,) = await worker.claim()  # its only slot is free
    assert (again["id"], again["attempt"]) == (run["id"], 2)
    late = await worker.report(run, "complete", result="late")
    assert (late.status_code, late.json()["type"]) == (409, "/docs/problems/stale-attempt")
    assert (await worker.heartbeat())["stop"] == []
    await worker.start(again)
    completing = asyncio.create_task(worker.complete(again, "in time"))
    while not completing.done():
        await still_node.step("record")
        await asyncio.sleep(0)
    await completing
    found = (await client.get(f"/v1/executions/{run['id']}")).json()
    assert (found["status"], found["result"]) == ("completed", "in time")
    while await still_node.step("number events"):
        pass
    listed = (await client.get("/v1/executions", params={"timed_out": "true"})).json()
    assert [each["id"] for each in listed["items"]] == [run["id"]]
