"""GET /v1/jobs/{id}/changes: who changed a job, when and what."""

from typing import Any

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def tasks(still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", "schedule": "every 1h", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def changes(client: httpx2.AsyncClient, job: str, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"/v1/jobs/{job}/changes", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def key_named(client: httpx2.AsyncClient, name: str) -> tuple[str, dict[str, str]]:
    """The id of a new key, and the header that uses it."""
    made = (await client.post("/v1/keys", json={"name": name, "scopes": ["write"]})).json()
    return made["id"], {"authorization": f"Bearer {made['secret']}"}


async def test_says_who_created_and_who_changed_what(client: httpx2.AsyncClient) -> None:
    job = await create(client, name="nightly")
    key, deploy = await key_named(client, "deploy")
    await client.patch(f"/v1/jobs/{job}", json={"schedule": "every 5m", "owner": "ann"}, headers=deploy)
    await client.post(f"/v1/jobs/{job}/pause", headers=deploy)
    await client.post(f"/v1/jobs/{job}/resume")
    await client.delete(f"/v1/jobs/{job}", headers=deploy)
    cancelled, resumed, paused, edited, created = await changes(client, job)
    assert [each["kind"] for each in (cancelled, resumed, paused)] == ["cancelled", "resumed", "paused"]
    assert [each["version"] for each in (cancelled, resumed, paused, edited, created)] == [5, 4, 3, 2, 1]
    assert edited["by"] == {"key": key, "name": "deploy", "session": False}
    assert edited["fields"] == [
        {"field": "schedule", "old": "every 1h", "new": "every 5m"},
        {"field": "owner", "old": None, "new": "ann"},
    ]
    assert (paused["by"]["name"], resumed["by"]["name"], created["by"]["name"]) == (
        "deploy",
        "first",
        "first",
    )
    assert paused["fields"] == []


async def test_tells_a_browser_from_the_key_it_signed_in_with(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    job = await create(client)
    own_page = {"tickwork-csrf": "1"}
    signed_in = await client.post("/v1/session", json={"key": still_node.first_key}, headers=own_page)
    cookie = signed_in.headers["set-cookie"].partition(";")[0]
    headers = {**own_page, "cookie": cookie}
    request = client.build_request("POST", f"/v1/jobs/{job}/pause", headers=headers)
    del request.headers["authorization"]
    assert (await client.send(request)).status_code == 200
    paused, _ = await changes(client, job)
    assert paused["by"]["session"] is True


async def test_a_replaced_job_says_what_the_replacement_changed(client: httpx2.AsyncClient) -> None:
    job = await create(client, key="weekly", payload={"to": "ann", "copies": 1})
    again = {"task": "work", "schedule": "every 1h", "key": "weekly", "if_exists": "replace"}
    await client.post("/v1/jobs", json={**again, "payload": {"to": "bob", "copies": 1}})
    await client.post("/v1/jobs/batch", json=[{**again, "payload": {"to": "bob", "copies": 1}}])
    same, replaced, _ = await changes(client, job)
    assert replaced["fields"] == [{"field": "payload.to", "old": "ann", "new": "bob"}]
    assert same["fields"] == []


async def test_a_change_of_many_jobs_is_told_of_each(client: httpx2.AsyncClient) -> None:
    jobs = [await create(client, tags=["old"]) for _ in range(3)]
    _, tidy = await key_named(client, "tidy")
    body = {"action": "tag", "ids": jobs, "tags": ["new"]}
    assert (await client.post("/v1/jobs/bulk", json=body, headers=tidy)).json()["done"] == 3
    for job in jobs:
        tagged, _ = await changes(client, job)
        assert tagged["by"]["name"] == "tidy"
        assert tagged["fields"] == [{"field": "tags", "old": ["old"], "new": ["old", "new"]}]


async def test_jobs_that_were_created_together_have_their_author(client: httpx2.AsyncClient) -> None:
    batch = [{"task": "work", "schedule": "every 1h"} for _ in range(3)]
    made = (await client.post("/v1/jobs/batch", json=batch)).json()["items"]
    for job in made:
        (created,) = await changes(client, job["id"])
        assert (created["kind"], created["by"]["name"]) == ("created", "first")


async def test_secrets_are_neither_shown_nor_stored(
    client: httpx2.AsyncClient, still_node: Node, connection: asyncpg.Connection
) -> None:
    headers = {"Authorization": "Bearer first-secret", "X-Plain": "a"}
    body = {"http": {"url": "https://example.com/", "headers": headers}, "schedule": "every 1h"}
    job = (await client.post("/v1/jobs", json=body)).json()["id"]
    patch = {"http": {"headers": {"Authorization": "Bearer second-secret", "X-Plain": "b"}}}
    assert (await client.patch(f"/v1/jobs/{job}", json=patch)).status_code == 200
    edited, _ = await changes(client, job)
    assert {each["field"]: (each["old"], each["new"]) for each in edited["fields"]} == {
        "http.headers.Authorization": ("***", "***"),
        "http.headers.X-Plain": ("a", "b"),
    }
    while await still_node.step("number events"):
        pass
    details = await connection.fetch(
        "SELECT detail FROM tickwork.event UNION ALL SELECT detail FROM tickwork.new_event"
    )
    assert "secret" not in repr(details)


async def test_pages_follow_each_other_whether_or_not_events_are_numbered(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    job = await create(client)
    for number in range(4):
        await client.patch(f"/v1/jobs/{job}", json={"name": f"name {number}"})
    assert [each["version"] for each in await changes(client, job)] == [5, 4, 3, 2, 1]
    while await still_node.step("number events"):
        pass
    await client.patch(f"/v1/jobs/{job}", json={"name": "the last"})
    versions, cursor = [], None
    while True:
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await client.get(f"/v1/jobs/{job}/changes", params=query)).json()
        versions += [each["version"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert versions == [6, 5, 4, 3, 2, 1]


async def test_the_stream_of_events_says_the_same(client: httpx2.AsyncClient, still_node: Node) -> None:
    job = await create(client)
    await client.patch(f"/v1/jobs/{job}", json={"name": "nightly"})
    while await still_node.step("number events"):
        pass
    changed, created = (await client.get("/v1/events", params={"job": job})).json()["items"]
    assert changed["detail"]["fields"] == [{"field": "name", "old": None, "new": "nightly"}]
    assert (changed["detail"]["by"]["name"], created["detail"]["by"]["name"]) == ("first", "first")


async def test_a_job_of_another_tenant_has_no_changes_to_see(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    job = await create(client)
    bob = await make_tenant("bob")
    assert (await bob.admin.get(f"/v1/jobs/{job}/changes")).status_code == 404


async def test_a_key_that_may_only_read_sees_them(client: httpx2.AsyncClient, connect_with: Any) -> None:
    job = await create(client)
    reader = await connect_with(Scope.READ)
    assert len(await changes(reader, job)) == 1
