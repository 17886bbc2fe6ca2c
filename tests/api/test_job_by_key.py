"""Wherever the id of a job is taken, key:NAME is taken, too."""

from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


@pytest.fixture
async def job(client: httpx2.AsyncClient, worker: ScriptedWorker) -> dict[str, Any]:
    return await create(client, key="nightly", schedule="every 1h")


async def create(client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_every_route_of_a_job_takes_its_key(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    place = "/v1/jobs/key:nightly"
    assert (await client.get(place)).json() == job
    for route in ("graph", "executions", "missed", "backfills"):
        assert (await client.get(f"{place}/{route}")).status_code == 200
    ran = await client.post(f"{place}/run")
    assert ran.json()["job_id"] == job["id"]
    edited = await client.patch(
        place, json={"tags": ["a"]}, headers={"content-type": "application/merge-patch+json"}
    )
    assert edited.json()["id"] == job["id"]
    for verb in ("pause", "resume"):
        assert (await client.post(f"{place}/{verb}")).json()["id"] == job["id"]
    past = {"from": "2025-12-31T00:00:00Z", "to": "2025-12-31T03:00:00Z", "dry_run": True}
    assert (await client.post(f"{place}/backfill", json=past)).status_code == 200
    assert (await client.post(f"{place}/retry")).status_code == 409  # nothing has failed
    assert (await client.delete(place)).json()["status"] == "cancelled"
    assert (await client.get(place)).status_code == 404


async def test_filters_take_the_key(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    ran = (await client.post(f"/v1/jobs/{job['id']}/run")).json()
    found = await client.get("/v1/executions", params={"job": "key:nightly"})
    assert [each["id"] for each in found.json()["items"]] == [ran["id"]]
    for path in ("/v1/executions", "/v1/dead-letters"):
        unknown = await client.get(path, params={"job": "key:weekly"})
        assert unknown.status_code == 422
        assert unknown.json()["errors"][0]["path"] == "job"
    letters = {"filter": {"job": "key:nightly"}}
    assert (await client.post("/v1/dead-letters/redrive", json=letters)).json()["redriven"] == 0


@pytest.mark.parametrize("sort", ["created_at", "-created_at"])
async def test_jobs_are_listed_by_key(client: httpx2.AsyncClient, job: dict[str, Any], sort: str) -> None:
    await create(client, key="nightly/2")
    for key, found in (("nightly", [job["id"]]), ("night", [])):
        page = (await client.get("/v1/jobs", params={"key": key, "sort": sort})).json()
        assert [each["id"] for each in page["items"]] == found
        assert page["next_cursor"] is None
    paused = {"key": "nightly", "status": "paused", "sort": sort}
    assert (await client.get("/v1/jobs", params=paused)).json()["items"] == []


async def test_a_job_depends_on_one_by_its_key(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    child = await create(client, depends_on=["key:nightly"])
    assert child["depends_on"] == [job["id"]]
    edited = await client.patch(
        f"/v1/jobs/{child['id']}",
        json={"depends_on": [{"job": "key:nightly", "on": "any outcome"}]},
        headers={"content-type": "application/merge-patch+json"},
    )
    assert edited.json()["depends_on"] == [{"job": job["id"], "on": "any outcome"}]


async def test_a_job_of_a_batch_depends_on_another_by_its_key(client: httpx2.AsyncClient) -> None:
    batch = [
        {"task": "work", "key": "load", "depends_on": ["key:extract"]},
        {"task": "work", "key": "extract"},
    ]
    load, extract = (await client.post("/v1/jobs/batch", json=batch)).json()["items"]
    shown = (await client.get(f"/v1/jobs/{load['id']}")).json()
    assert shown["depends_on"] == [extract["id"]]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["key:weekly"], "no job has the key 'weekly'"),
        (["key:"], "no job has the key ''"),
        (["key:" + "x" * 300], f"no job has the key '{'x' * 80}'"),
        (["key:nightly", "key:nightly"], "'key:nightly' appears twice"),
        (["key:mine"], "a job cannot depend on itself"),
    ],
)
async def test_what_cannot_be_depended_on_by_key_is_said(
    client: httpx2.AsyncClient, job: dict[str, Any], entries: list[str], said: str
) -> None:
    answer = await client.post("/v1/jobs", json={"task": "work", "key": "mine", "depends_on": entries})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == said


@pytest.mark.parametrize("key", ["a/b", "50%", "a%2Fb", "a b?c#d", "key:key", "tâche"])
async def test_any_key_can_stand_in_a_path(client: httpx2.AsyncClient, key: str) -> None:
    job = await create(client, key=key, schedule="every 1h")
    place = f"/v1/jobs/key:{quote(key, safe='')}"
    assert (await client.get(place)).json()["id"] == job["id"]
    assert (await client.post(f"{place}/pause")).json()["id"] == job["id"]


@pytest.mark.parametrize("key", ["weekly", "", "%00", "x" * 300])
async def test_a_key_that_no_job_has_is_not_found(client: httpx2.AsyncClient, key: str) -> None:
    assert (await client.get(f"/v1/jobs/key:{key}")).status_code == 404


async def test_another_tenants_key_is_not_found(
    client: httpx2.AsyncClient, job: dict[str, Any], make_tenant: MakeTenant
) -> None:
    other = await make_tenant("other")
    assert (await other.admin.get("/v1/jobs/key:nightly")).status_code == 404
    assert (await other.admin.get("/v1/jobs", params={"key": "nightly"})).json()["items"] == []
