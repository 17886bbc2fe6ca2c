"""Why an execution does not run, as the API tells it."""

import httpx2

from api.conftest import MakeTenant
from tickwork.model.public_ids import execution_id
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


async def test_tells_all_that_holds_an_execution(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node
) -> None:
    await ScriptedWorker.connect(still_node, ["work"], name="box-1", resources={"gpu": 1})
    await client.post("/v1/queues/mail/pause")
    job = {"task": "work", "queue": "mail", "requires": {"gpu": 2}}
    await client.post("/v1/jobs", json=job)
    (execution,) = (await client.get("/v1/executions")).json()["items"]
    assert execution["waiting_for"] == "worker"
    why = (await client.get(f"/v1/executions/{execution['id']}/why")).json()
    assert [cause["kind"] for cause in why["causes"]] == ["queue_paused", "resource"]
    assert (why["status"], why["expected_start"], why["expected_start_reason"]) == (
        "pending",
        None,
        "when the queue is resumed",
    )
    assert why["summary"] == (
        "Queue mail is paused; no live worker has 2 gpu: it could never run with the workers that are connected; "
        "the largest, box-1, has 1 gpu."
    )


async def test_a_cause_has_every_field(
    clock: SettableClock, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    await client.post("/v1/jobs", json={"task": "work", "schedule": {"in": "1h"}})
    (execution,) = (await client.get("/v1/executions")).json()["items"]
    why = (await client.get(f"/v1/executions/{execution['id']}/why")).json()
    assert why["causes"][0] == {
        "kind": "due",
        "message": f"it is due in 1h, at {execution['due_at'][:10]} 13:00:00 UTC",
        "name": None,
        "count": None,
        "max": None,
        "at": execution["due_at"],
        "executions": [],
        "workers": [],
    }


async def test_is_for_the_tenant_alone(
    clock: SettableClock, client: httpx2.AsyncClient, worker: ScriptedWorker, make_tenant: MakeTenant
) -> None:
    other = await make_tenant("other")
    await client.post("/v1/jobs", json={"task": "work"})
    (execution,) = (await client.get("/v1/executions")).json()["items"]
    assert (await client.get(f"/v1/executions/{execution['id']}/why")).status_code == 200
    assert (await other.admin.get(f"/v1/executions/{execution['id']}/why")).status_code == 404


async def test_an_execution_that_is_not_there_is_not_found(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node
) -> None:
    missing = execution_id(7, await still_node._read.now())
    for name in (missing, "e1", "nonsense"):
        assert (await client.get(f"/v1/executions/{name}/why")).status_code == 404
