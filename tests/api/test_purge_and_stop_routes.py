"""DELETE /v1/jobs/{id}: cancel, stop what runs, or delete for good."""

from typing import Any

import httpx2
import pytest

from api.conftest import ConnectWith, MakeTenant
from support.node_steps import run_due
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture
async def worker(still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_cancel_stops_what_runs_if_asked_to(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client)
    await run_due(still_node)
    left = await client.delete(f"/v1/jobs/{job}")
    assert left.json()["status"] == "cancelled"
    (execution,) = (await client.get(f"/v1/jobs/{job}/executions")).json()["items"]
    assert execution["status"] == "running"
    stopped = await client.delete(f"/v1/jobs/{job}", params={"running": "cancel"})
    assert stopped.status_code == 200
    (execution,) = (await client.get(f"/v1/jobs/{job}/executions")).json()["items"]
    assert (execution["status"], execution["reason"]) == ("cancelled", "job cancelled")


async def test_many_jobs_are_stopped_together(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    jobs = [await create(client, tags=["night"]) for _ in range(3)]
    await run_due(still_node)
    body = {"action": "cancel", "filter": {"tag": "night"}, "running": "cancel"}
    done = await client.post("/v1/jobs/bulk", json=body)
    assert done.json()["done"] == 3, done.text
    for job in jobs:
        (execution,) = (await client.get(f"/v1/jobs/{job}/executions")).json()["items"]
        assert execution["status"] == "cancelled"


@pytest.mark.parametrize(
    ("query", "field"),
    [({"running": "maybe"}, "running"), ({"purge": "yes"}, "purge"), ({"stop": "1"}, "stop")],
)
async def test_names_a_parameter_that_is_wrong(
    client: httpx2.AsyncClient, worker: ScriptedWorker, query: dict[str, str], field: str
) -> None:
    job = await create(client)
    refused = await client.delete(f"/v1/jobs/{job}", params=query)
    assert refused.status_code == 422
    assert [error["path"] for error in refused.json()["errors"]] == [field]


async def test_bulk_refuses_to_stop_what_it_does_not_cancel(client: httpx2.AsyncClient) -> None:
    refused = await client.post("/v1/jobs/bulk", json={"action": "pause", "filter": {}, "running": "cancel"})
    assert [error["path"] for error in refused.json()["errors"]] == ["running"]


async def test_a_purge_says_what_it_deleted_and_can_be_repeated(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client, key="mine")
    await run_due(still_node)
    await worker.report_all(await worker.runs())
    purged = await client.delete("/v1/jobs/key:mine", params={"purge": "true"})
    assert purged.status_code == 200, purged.text
    assert purged.headers["location"] == f"/v1/jobs/{job}/purge"
    body = purged.json()
    assert (body["job_id"], body["status"], body["removed"]["executions"]) == (job, "completed", 1)
    assert body["requested_by"]["name"] == "first"
    assert (await client.get(f"/v1/jobs/{job}")).status_code == 404
    assert (await client.get(f"/v1/jobs/{job}/purge")).json() == body
    assert (await client.delete(f"/v1/jobs/{job}", params={"purge": "true"})).json() == body
    assert (await client.delete("/v1/jobs/key:mine", params={"purge": "true"})).status_code == 404


async def test_a_long_purge_goes_on_after_its_answer(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.define.purge_jobs._AT_ONCE", 0.0)
    job = await create(client)
    begun = await client.delete(f"/v1/jobs/{job}", params={"purge": "true"})
    assert (begun.status_code, begun.json()["status"]) == (202, "running")
    while await still_node.step("number events") or await still_node.step("delete purged jobs"):
        pass
    assert (await client.get(begun.headers["location"])).json()["status"] == "completed"


async def test_a_purge_is_refused_while_it_runs_and_says_the_way_out(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(client)
    await run_due(still_node)
    refused = await client.delete(f"/v1/jobs/{job}", params={"purge": "true"})
    assert refused.status_code == 409
    assert "running=cancel" in refused.json()["detail"]
    stale = {"if-match": '"7"'}
    both = {"purge": "true", "running": "cancel"}
    assert (await client.delete(f"/v1/jobs/{job}", params=both, headers=stale)).status_code == 412
    assert (await client.delete(f"/v1/jobs/{job}", params=both)).status_code == 200


async def test_a_purge_needs_the_scope_admin(
    client: httpx2.AsyncClient, connect_with: ConnectWith, worker: ScriptedWorker
) -> None:
    job = await create(client)
    writer = await connect_with(Scope.WRITE)
    refused = await writer.delete(f"/v1/jobs/{job}", params={"purge": "true"})
    assert refused.status_code == 403
    assert "admin" in refused.json()["detail"]
    assert (await client.get(f"/v1/jobs/{job}")).json()["status"] == "active"


async def test_nobody_purges_or_sees_the_jobs_of_others(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, worker: ScriptedWorker
) -> None:
    job = await create(client)
    other = (await make_tenant("other")).admin
    assert (await other.delete(f"/v1/jobs/{job}", params={"purge": "true"})).status_code == 404
    assert (await client.delete(f"/v1/jobs/{job}", params={"purge": "true"})).status_code == 200
    assert (await other.get(f"/v1/jobs/{job}/purge")).status_code == 404
