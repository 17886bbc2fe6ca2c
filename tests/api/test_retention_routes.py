"""How much is kept, as users set and see it."""

import httpx2
import pytest

from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

WEEK = 7 * 86_400.0


@pytest.fixture
async def offered(still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])


async def test_a_job_says_how_much_is_kept_of_it(offered: None, client: httpx2.AsyncClient) -> None:
    kept = {"age": "7d", "last": 100}
    created = (
        await client.post("/v1/jobs", json={"task": "work", "schedule": "every 1h", "retention": kept})
    ).json()
    assert created["retention"] == {"age": WEEK, "last": 100}
    path = f"/v1/jobs/{created['id']}"
    edited = await client.patch(path, json={"retention": {"age": None, "last": 5}})
    assert edited.json()["retention"] == {"age": None, "last": 5}
    changes = (await client.get(f"{path}/changes")).json()["items"]
    assert {field["field"] for field in changes[0]["fields"]} == {"retention.age", "retention.last"}
    assert (await client.patch(path, json={"retention": None})).json()["retention"] is None


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({}, "retention"),
        ({"age": "1m"}, "retention.age"),
        ({"age": "soon"}, "retention.age"),
        ({"age": "4000d"}, "retention.age"),
        ({"last": 0}, "retention.last"),
        ({"last": 10_001}, "retention.last"),
        ({"first": 1}, "retention.first"),
    ],
)
async def test_what_means_nothing_is_refused(
    offered: None, client: httpx2.AsyncClient, wrong: object, path: str
) -> None:
    for answer in (
        await client.post("/v1/jobs", json={"task": "work", "retention": wrong}),
        await client.put("/v1/queues/mail", json={"retention": wrong}),
    ):
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, path)


async def test_a_queue_keeps_less_until_it_is_set_otherwise(client: httpx2.AsyncClient) -> None:
    told = (await client.put("/v1/queues/mail", json={"retention": {"age": "7d"}})).json()
    assert told["retention"] == {"age": WEEK, "last": None}
    listed = (await client.get("/v1/queues")).json()["items"]
    assert [queue["name"] for queue in listed] == ["mail"]
    assert (await client.put("/v1/queues/mail", json={})).json()["retention"] is None


async def test_a_tenant_keeps_less_until_it_is_set_otherwise(client: httpx2.AsyncClient) -> None:
    nothing = {"age": None, "last": None, "history_days": 30}
    assert (await client.get("/v1/retention")).json() == nothing
    assert (await client.put("/v1/retention", json={"last": 9})).json() == nothing | {"last": 9}
    assert (await client.get("/v1/queues")).json()["items"] == []
    refused = await client.put("/v1/retention", json={"age": "1s"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "age")
    assert (await client.put("/v1/retention", json={})).json() == nothing
