"""Backfills over HTTP, with a real node behind it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


@pytest.fixture
async def job(client: httpx2.AsyncClient) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", "schedule": "every 1h"})
    return f"/v1/jobs/{answer.json()['id']}"


def since(hours: int, **options: Any) -> dict[str, Any]:
    return {"from": (NOON - timedelta(hours=hours)).isoformat(), "to": NOON.isoformat(), **options}


async def test_a_backfill_from_its_start_to_its_end(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, job: str
) -> None:
    planned = await client.post(f"{job}/backfill", json=since(2, dry_run=True))
    assert (planned.status_code, planned.json()["total"]) == (200, 3)
    started = await client.post(f"{job}/backfill", json=since(2, max_active=2))
    assert (started.status_code, started.json()["status"]) == (201, "running")
    for _ in range(3):
        while await still_node.step("backfill") or await still_node.step("claim"):
            pass
        for run in await worker.runs():
            await worker.complete(run)
    ended = (await client.get(started.headers["location"])).json()
    assert (ended["status"], ended["total"], ended["made"], ended["completed"]) == ("completed", 3, 3, 3)
    history = (await client.get(f"{job}/executions")).json()["items"]
    assert [each["trigger"] for each in history] == ["backfill"] * 3
    refused = await client.post(f"{started.headers['location']}/cancel")
    assert (refused.status_code, "completed" in refused.json()["detail"]) == (409, True)


async def test_a_backfill_that_is_asked_for_twice_with_one_key_is_started_once(
    client: httpx2.AsyncClient, job: str
) -> None:
    answers = [
        await client.post(f"{job}/backfill", json=since(2), headers={"idempotency-key": "once"})
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert len((await client.get(f"{job}/backfills")).json()["items"]) == 1


async def test_the_list_goes_on_page_by_page(client: httpx2.AsyncClient, job: str) -> None:
    made = [(await client.post(f"{job}/backfill", json=since(hours))).json()["id"] for hours in (3, 4, 5)]
    first = (await client.get(f"{job}/backfills?limit=2")).json()
    second = (await client.get(f"{job}/backfills?limit=2&cursor={first['next_cursor']}")).json()
    assert [item["id"] for item in first["items"] + second["items"]] == made[::-1]
    assert second["next_cursor"] is None
    answer = await client.get(f"/v1/workers?cursor={first['next_cursor']}")
    assert answer.json()["errors"][0]["path"] == "cursor"


async def test_another_tenant_sees_and_stops_nothing(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, job: str
) -> None:
    backfill = (await client.post(f"{job}/backfill", json=since(2))).headers["location"]
    other = (await make_tenant("other")).admin
    assert (await other.get(backfill)).status_code == 404
    assert (await other.post(f"{backfill}/cancel")).status_code == 404
    assert (await other.get(f"{job}/backfills")).status_code == 404
    assert (await other.post(f"{job}/backfill", json=since(2))).status_code == 404
    assert (await client.get(backfill)).json()["status"] == "running"


async def test_what_cannot_be_filled_is_said(client: httpx2.AsyncClient, job: str) -> None:
    ahead = since(1) | {"to": (NOON + timedelta(days=1)).isoformat()}
    answer = await client.post(f"{job}/backfill", json=ahead)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "to")
    strange = {"from": "0001-01-01T00:00:00+23:59", "to": "9999-12-31T23:59:59-23:59"}
    answer = await client.post(f"{job}/backfill", json=strange)
    assert {error["path"] for error in answer.json()["errors"]} == {"from", "to"}
    once = (await client.post("/v1/jobs", json={"task": "work"})).headers["location"]
    assert (await client.post(f"{once}/backfill", json=since(1))).status_code == 409
    await client.delete(job)
    answer = await client.post(f"{job}/backfill", json=since(1))
    assert (answer.status_code, "is cancelled" in answer.json()["detail"]) == (409, True)


async def test_a_run_that_would_overlap_is_refused_when_asked_to(
    client: httpx2.AsyncClient, job: str
) -> None:
    first = (await client.post(f"{job}/run", json={"overlap": "skip"})).json()
    refused = await client.post(f"{job}/run", json={"overlap": "skip"})
    assert (refused.status_code, first["id"] in refused.json()["detail"]) == (409, True)
    queued = await client.post(f"{job}/run", json={"overlap": "queue"})
    assert (queued.status_code, queued.json()["waiting_for"]) == (201, "limit")
