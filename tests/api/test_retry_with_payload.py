"""POST /v1/executions/{id}/retry with a payload, and GET /v1/executions/{id}/input."""

from typing import Any

import httpx2
import msgspec
import pytest

from api.conftest import MakeTenant
from support.node_steps import run_due
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


@pytest.fixture
async def worker(still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, {"work": SCHEMA})


@pytest.fixture
async def failed(client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker) -> str:
    """The path of an execution whose only attempt failed."""
    body = {"task": "work", "payload": {"to": "ann"}, "retry": {"max_attempts": 1}}
    job = (await client.post("/v1/jobs", json=body)).json()
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    return f"/v1/executions/{job['execution_id']}"


async def seen(client: httpx2.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    answer = await client.get(f"{path}/input", params=query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_the_new_attempt_runs_with_it_and_the_event_says_who_changed_what(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, failed: str
) -> None:
    retried = await client.post(f"{failed}/retry", json={"payload": {"to": "bob"}})
    assert (retried.status_code, retried.json()["status"]) == (200, "pending"), retried.text
    await run_due(still_node)
    (run,) = await worker.runs()
    assert msgspec.json.decode(run.payload) == {"to": "bob"}
    now = await seen(client, failed)
    assert (now["payload"], now["source"], now["attempt"]) == ({"to": "bob"}, "retry", 2)
    assert now["given_by"]["name"] == "first"
    assert (await seen(client, failed, attempt=1))["payload"] == {"to": "ann"}
    await still_node.step("number events")
    (event,) = (await client.get("/v1/events", params={"kind": "execution.edited"})).json()["items"]
    assert event["detail"]["by"]["name"] == "first"
    assert event["detail"]["fields"] == [{"field": "payload.to", "old": "ann", "new": "bob"}]
    assert (event["attempt"], event["execution_id"]) == (2, failed.rpartition("/")[2])
    job = (await client.get("/v1/jobs")).json()["items"][0]
    assert job["payload"] == {"to": "ann"}


@pytest.mark.parametrize("body", [None, {}])
async def test_without_one_the_job_says_what_it_runs_with(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker, failed: str, body: Any
) -> None:
    assert (await client.post(f"{failed}/retry", json=body)).status_code == 200
    await run_due(still_node)
    (run,) = await worker.runs()
    assert msgspec.json.decode(run.payload) == {"to": "ann"}


@pytest.mark.parametrize("payload", [{"to": 5}, {"to": "bob", "copy": "carl"}, {}, "bob", None])
async def test_a_payload_that_the_task_does_not_take_is_refused_with_its_field(
    client: httpx2.AsyncClient, failed: str, payload: object
) -> None:
    refused = await client.post(f"{failed}/retry", json={"payload": payload})
    assert refused.status_code == 422, refused.text
    assert all(error["path"].startswith("payload") for error in refused.json()["errors"])
    assert (await client.get(failed)).json()["status"] == "failed"


async def test_what_has_not_ended_is_not_retried_with_another_payload(
    client: httpx2.AsyncClient, failed: str
) -> None:
    await client.post(f"{failed}/retry")
    refused = await client.post(f"{failed}/retry", json={"payload": {"to": "bob"}})
    assert refused.status_code == 409
    assert (await seen(client, failed))["source"] == "job"


async def test_a_repeated_request_takes_effect_once(client: httpx2.AsyncClient, failed: str) -> None:
    key = {"idempotency-key": "again"}
    body = {"payload": {"to": "bob"}}
    first, second = [await client.post(f"{failed}/retry", json=body, headers=key) for _ in range(2)]
    assert first.json() == second.json()
    assert (await seen(client, failed))["attempt"] == 2


async def test_an_attempt_that_there_was_not_is_not_found(client: httpx2.AsyncClient, failed: str) -> None:
    assert (await client.get(f"{failed}/input", params={"attempt": 9})).status_code == 404
    assert (await client.get(f"{failed}/input", params={"attempt": 0})).status_code == 422


async def test_others_do_not_see_it(client: httpx2.AsyncClient, make_tenant: MakeTenant, failed: str) -> None:
    other = (await make_tenant("other")).admin
    assert (await other.get(f"{failed}/input")).status_code == 404
    assert (await other.post(f"{failed}/retry", json={"payload": {"to": "x"}})).status_code == 404
