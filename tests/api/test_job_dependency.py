"""Jobs that depend on others, as the API takes and shows them."""

import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

ANY = "any outcome"


async def batch(client: httpx2.AsyncClient, *jobs: dict[str, object]) -> httpx2.Response:
    return await client.post("/v1/jobs/batch", json=[{"task": "work"} | job for job in jobs])


async def test_a_batch_with_local_names_is_stored_with_ids(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    answer = await batch(
        client,
        {"ref": "a", "name": "extract"},
        {"ref": "b", "depends_on": ["@a"]},
        {"depends_on": [{"job": "@b", "on": ANY}, {"job": "@a"}]},
    )
    assert answer.status_code == 201
    a, b, c = (item["id"] for item in answer.json()["items"])
    shown = (await client.get(f"/v1/jobs/{c}")).json()
    assert shown["depends_on"] == [{"job": b, "on": ANY}, {"job": a, "on": "success"}]
    assert "ref" not in shown


async def test_the_graph_is_the_same_from_every_job_of_it(
    client: httpx2.AsyncClient, worker: ScriptedWorker, still_node: Node
) -> None:
    answer = await batch(client, {"ref": "a"}, {"ref": "b", "depends_on": ["@a"]}, {"depends_on": ["@b"]}, {})
    ids = [item["id"] for item in answer.json()["items"]]
    await still_node.step("claim")
    for run in await worker.runs():
        await worker.fail(run, Failure("Broken", "it broke", retry=False))
    for job in ids[:3]:
        graph = (await client.get(f"/v1/jobs/{job}/graph")).json()
        assert not graph["truncated"]
        assert graph["items"][0]["job_id"] == job
        states = {each["job_id"]: (each["status"], each["depends_on"]) for each in graph["items"]}
        assert states == {
            ids[0]: ("failed", []),
            ids[1]: ("pending", [ids[0]]),
            ids[2]: ("pending", [ids[1]]),
        }
    last = graph["items"][0]["execution_id"]
    shown = (await client.get(f"/v1/executions/{last}")).json()
    assert shown["waiting_for"] == "dependency"
    assert (shown["blocked_by"]["job_id"], shown["blocked_by"]["status"]) == (ids[0], "failed")


async def test_a_graph_can_be_cut_short(client: httpx2.AsyncClient, worker: ScriptedWorker) -> None:
    answer = await batch(client, {"ref": "a"}, {"ref": "b", "depends_on": ["@a"]}, {"depends_on": ["@b"]})
    first = answer.json()["items"][0]["id"]
    graph = (await client.get(f"/v1/jobs/{first}/graph", params={"limit": 2})).json()
    assert (len(graph["items"]), graph["truncated"]) == (2, True)
    assert (await client.get(f"/v1/jobs/{first}/graph", params={"limit": 10_001})).status_code == 422


async def test_a_workflow_is_listed_once_by_its_oldest_first_job(
    client: httpx2.AsyncClient, worker: ScriptedWorker, still_node: Node
) -> None:
    answer = await batch(
        client,
        {"ref": "a", "name": "extract"},
        {"ref": "b", "name": "check"},
        {"ref": "c", "depends_on": ["@a", "@b"]},
        {"ref": "d", "name": "later"},
        {"depends_on": ["@d"]},
        {"name": "alone"},
    )
    ids = [item["id"] for item in answer.json()["items"]]
    await still_node.step("claim")
    for run in await worker.runs():
        await worker.fail(run, Failure("Broken", "it broke", retry=False))
    page = (await client.get("/v1/workflows")).json()
    assert [(each["job_id"], each["name"], each["jobs"]) for each in page["items"]] == [
        (ids[3], "later", 2),
        (ids[0], "extract", 3),
    ]
    assert page["next_cursor"] is None
    states = page["items"][1]["states"]
    assert (states["failed"], states["pending"], states["none"]) == (2, 1, 0)
    assert not page["items"][1]["truncated"]
    assert page["items"][1]["finished_at"] is None


async def test_workflows_come_page_by_page(client: httpx2.AsyncClient, worker: ScriptedWorker) -> None:
    for _ in range(5):
        await batch(client, {"ref": "a"}, {"depends_on": ["@a"]})
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get("/v1/workflows", params={"limit": 2, **cursor})).json()
        found += [each["job_id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(found) == len(set(found)) == 5


async def test_a_workflow_of_another_tenant_is_not_listed(
    client: httpx2.AsyncClient, worker: ScriptedWorker, make_tenant: MakeTenant
) -> None:
    await batch(client, {"ref": "a"}, {"depends_on": ["@a"]})
    bob = await make_tenant("bob")
    assert (await bob.admin.get("/v1/workflows")).json()["items"] == []


@pytest.mark.parametrize(
    ("depends_on", "path"),
    [
        ("j1", "depends_on"),
        ([5], "depends_on[0]"),
        ([{"jbo": "j1"}], "depends_on[0].jbo"),
        (["j1", "nothing"], "depends_on[0]"),
        ([{"job": "j1", "on": "sometimes"}], "depends_on[0].on"),
        ([{"job": "j1", "when": {"path": "a"}}], "depends_on[0].when"),
        ([{"job": "j1", "when": {"all": [{"equals": []}]}}], "depends_on[0].when.all[0].equals"),
        ([{"job": "j1", "on": "failure", "when": {"exists": True}}], "depends_on[0].when"),
    ],
)
async def test_a_dependency_that_is_none_is_refused_where_it_stands(
    client: httpx2.AsyncClient, worker: ScriptedWorker, depends_on: object, path: str
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", "depends_on": depends_on})
    assert answer.status_code == 422
    assert path in [error["path"] for error in answer.json()["errors"]]


async def test_a_local_name_means_nothing_outside_of_a_batch(
    client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    job = (await client.post("/v1/jobs", json={"task": "work", "schedule": "in 1h"})).json()["id"]
    answer = await client.patch(f"/v1/jobs/{job}", json={"ref": "a"})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "ref")
    answer = await client.patch(f"/v1/jobs/{job}", json={"depends_on": [job]})
    assert answer.json()["errors"][0]["message"] == "a job cannot depend on itself"


async def test_nobody_depends_on_another_tenants_job(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, worker: ScriptedWorker, still_node: Node
) -> None:
    job = (await client.post("/v1/jobs", json={"task": "work"})).json()["id"]
    bob = await make_tenant("bob")
    await ScriptedWorker.offer_only(still_node, tasks=["work"], tenant_id=bob.id)
    answer = await bob.admin.post("/v1/jobs", json={"task": "work", "depends_on": [job]})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == f"there is no job {job}"
    assert (await bob.admin.get(f"/v1/jobs/{job}/graph")).status_code == 404
