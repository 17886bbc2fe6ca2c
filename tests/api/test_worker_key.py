"""A worker belongs to the key that registered it: other keys of the same tenant cannot speak for it."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest

from api.conftest import Connect
from support.rest_worker import RestWorker
from tickwork.model.public_ids import worker_id
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

MakeKey = Callable[..., Awaitable[httpx2.AsyncClient]]


@pytest.fixture
async def make_key(still_node: Node, client: httpx2.AsyncClient, connect: Connect) -> MakeKey:
    async def make(*scopes: str) -> httpx2.AsyncClient:
        answer = await client.post("/v1/keys", json={"name": "key", "scopes": scopes})
        return await connect(still_node, answer.json()["secret"])

    return make


async def test_another_key_can_neither_claim_nor_beat_nor_report_nor_drain_for_a_worker(
    client: httpx2.AsyncClient, make_key: MakeKey
) -> None:
    owner, other = await make_key("worker"), await make_key("worker")
    worker = await RestWorker.register(owner, tasks=["work"])
    await client.post("/v1/jobs", json={"task": "work"})
    (run,) = await worker.claim()
    for word in ("heartbeat", "claim", "drain"):
        refused = await other.post(f"/v1/workers/{worker.id}/{word}")
        assert (refused.status_code, "another key" in refused.json()["detail"]) == (403, True), word
    stranger = worker.on(other)
    for word, fields in (
        ("start", {}),
        ("progress", {"fraction": 0.5}),
        ("complete", {"result": 1}),
        ("fail", {"error": {"type": "E", "message": "no"}}),
    ):
        refused = await stranger.report(run, word, **fields)
        assert (refused.status_code, "another key" in refused.json()["detail"]) == (409, True), word
    assert (await worker.heartbeat())["drain"] is False
    assert (await worker.report(run, "start")).status_code == 200


async def test_another_key_cannot_make_the_server_forget_what_a_worker_is_to_stop(
    client: httpx2.AsyncClient, make_key: MakeKey
) -> None:
    owner, other = await make_key("worker"), await make_key("worker")
    worker = await RestWorker.register(owner, tasks=["work"])
    await client.post("/v1/jobs", json={"task": "work"})
    (run,) = await worker.claim()
    await client.post(f"/v1/executions/{run['id']}/cancel")
    assert (await worker.on(other).report(run, "complete")).status_code == 409
    assert [stop["id"] for stop in (await worker.heartbeat())["stop"]] == [run["id"]]


async def test_an_admin_drains_any_worker_and_a_key_its_own(
    still_node: Node, client: httpx2.AsyncClient, make_key: MakeKey
) -> None:
    owner, other = await make_key("worker"), await make_key("worker")
    mine = await RestWorker.register(owner, tasks=["work"])
    also_mine = await RestWorker.register(
        owner, tasks=["work"]
    )  # registering again goes on as another worker
    connected = await ScriptedWorker.connect(still_node, ["work"])  # with the key of the admin
    assert (await owner.post(f"/v1/workers/{mine.id}/drain")).json()["status"] == "draining"
    assert (await client.post(f"/v1/workers/{also_mine.id}/drain")).json()["status"] == "draining"
    drain = f"/v1/workers/{worker_id(connected.welcome.worker)}/drain"
    assert (await other.post(drain)).status_code == 403
    assert (await client.post(drain)).status_code == 200
