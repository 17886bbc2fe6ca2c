"""/v1/pings: define, look at and report for what runs elsewhere, with an API key."""

from typing import Any

import httpx2
import pytest

from api.conftest import ConnectWith, MakeTenant
from tickwork.model.access import Scope
from tickwork.node import Node

NIGHTLY = {"schedule": "0 2 * * *", "timezone": "Europe/Paris", "grace": "30m"}


async def put(client: httpx2.AsyncClient, name: str = "backup", **fields: Any) -> dict[str, Any]:
    answer = await client.put(f"/v1/pings/{name}", json={**NIGHTLY, **fields})
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def test_creates_a_ping_and_shows_its_url_once(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/pings/backup", json=NIGHTLY)
    ping = answer.json()
    assert (answer.status_code, ping["status"], ping["grace"]) == (201, "new", 1800.0)
    assert ping["schedule_words"] == "every day at 02:00 (Europe/Paris)"
    assert ping["url"].startswith("http://test/ping/twp_")
    assert ping["token_begins"] in ping["url"]
    again = await client.put("/v1/pings/backup", json=NIGHTLY)
    assert (again.status_code, again.json()["url"]) == (200, None)
    assert (await client.get("/v1/pings/backup")).json()["url"] is None


async def test_the_url_has_the_address_that_the_client_knows(client: httpx2.AsyncClient) -> None:
    forwarded = {
        "x-forwarded-proto": "https",
        "x-forwarded-host": "tick.example.com",
        "x-forwarded-prefix": "/t",
    }
    answer = await client.put("/v1/pings/backup", json=NIGHTLY, headers=forwarded)
    assert answer.json()["url"].startswith("https://tick.example.com/t/ping/twp_")


async def test_reports_with_a_key(client: httpx2.AsyncClient) -> None:
    await put(client)
    started = await client.post("/v1/pings/backup/start")
    assert started.json()["started_at"]
    await client.post("/v1/pings/backup/log", json={"log": "half way\n"})
    assert (await client.get("/v1/pings/backup")).json()["log"] == "half way\n"
    failed = await client.post("/v1/pings/backup/fail", json={"log": "disk full", "exit_code": 28})
    assert (failed.json()["status"], failed.json()["failures_in_a_row"]) == ("failed", 1)
    assert (await client.post("/v1/pings/backup/success")).json()["status"] == "ok"
    success, failure = (await client.get("/v1/pings/backup/history")).json()["items"]
    assert (success["outcome"], success["log"]) == ("success", None)
    assert (failure["outcome"], failure["exit_code"], failure["log"]) == ("failed", 28, "half way\ndisk full")


async def test_a_report_that_is_repeated_with_its_key_counts_once(client: httpx2.AsyncClient) -> None:
    await put(client)
    for _ in range(3):
        await client.post("/v1/pings/backup/fail", headers={"idempotency-key": "one"})
    assert (await client.get("/v1/pings/backup")).json()["failures_in_a_row"] == 1


async def test_lists_by_name_and_status_page_by_page(client: httpx2.AsyncClient) -> None:
    for name in ("c", "a", "b"):
        await put(client, name)
    await client.post("/v1/pings/b/success")
    first = (await client.get("/v1/pings?limit=2")).json()
    second = (await client.get("/v1/pings", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [ping["name"] for ping in first["items"] + second["items"]] == ["a", "b", "c"]
    well = (await client.get("/v1/pings?status=ok")).json()["items"]
    assert [(ping["name"], len(ping["recent_runs"])) for ping in well] == [("b", 1)]
    await put(client, "Nightly-Backup")
    found = (await client.get("/v1/pings?q=BACK")).json()["items"]
    assert [ping["name"] for ping in found] == ["Nightly-Backup"]


async def test_another_token_replaces_the_one_before(client: httpx2.AsyncClient) -> None:
    before = (await put(client))["url"]
    answer = await client.post("/v1/pings/backup/token")
    assert (answer.status_code, answer.json()["url"] != before) == (201, True)
    assert (await client.get(before)).status_code == 404
    assert (await client.get(answer.json()["url"])).status_code == 200


async def test_deletes_a_ping_with_its_url(client: httpx2.AsyncClient) -> None:
    url = (await put(client))["url"]
    assert (await client.delete("/v1/pings/backup")).json() == {"name": "backup"}
    for answer in (
        await client.get(url),
        await client.get("/v1/pings/backup"),
        await client.delete("/v1/pings/backup"),
        await client.post("/v1/pings/backup/success"),
        await client.post("/v1/pings/backup/token"),
        await client.get("/v1/pings/backup/history"),
    ):
        assert answer.status_code == 404


async def test_names_every_bad_field(client: httpx2.AsyncClient) -> None:
    answer = await client.put(
        "/v1/pings/backup", json={"schedule": "every blue moon", "grace": "soon", "notify": []}
    )
    assert answer.status_code == 422
    assert {error["path"] for error in answer.json()["errors"]} == {"schedule", "grace"}
    answer = await client.put(
        "/v1/pings/backup", json={**NIGHTLY, "notify": [{"on": ["exploded"], "to": ["ops"]}]}
    )
    assert answer.status_code == 422
    assert "notify" in answer.json()["errors"][0]["path"]


async def test_keeps_who_is_told(client: httpx2.AsyncClient) -> None:
    notify = [{"on": ["missing", "recovered"], "to": ["ops"]}]
    assert (await put(client, notify=notify))["notify"] == notify


@pytest.mark.parametrize("name", ["a b", "%2e%2e", "x" * 101])
async def test_a_name_that_cannot_be_is_refused(client: httpx2.AsyncClient, name: str) -> None:
    assert (await client.put(f"/v1/pings/{name}", json=NIGHTLY)).status_code in (404, 422)
    assert (await client.get(f"/v1/pings/{name}")).status_code == 404


async def test_tenants_do_not_see_each_other(client: httpx2.AsyncClient, make_tenant: MakeTenant) -> None:
    bob = await make_tenant("bob")
    await put(client)
    assert (await bob.admin.get("/v1/pings")).json()["items"] == []
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/success"),
        ("POST", "/token"),
        ("GET", "/history"),
    ):
        assert (await bob.admin.request(method, f"/v1/pings/backup{path}")).status_code == 404
    assert (await put(bob.admin))["status"] == "new"
    assert (await client.post("/v1/pings/backup/fail")).status_code == 200
    assert (await bob.admin.get("/v1/pings/backup")).json()["status"] == "new"


async def test_a_key_that_only_reads_reports_nothing(
    client: httpx2.AsyncClient, connect_with: ConnectWith
) -> None:
    await put(client)
    reader = await connect_with(Scope.READ)
    assert (await reader.post("/v1/pings/backup/success")).status_code == 403
    assert (await reader.get("/v1/pings/backup")).status_code == 200


async def test_only_the_digest_of_a_token_is_stored(client: httpx2.AsyncClient, still_node: Node) -> None:
    token = (await put(client))["url"].rpartition("/")[2]
    (row,) = await still_node._database.fetch("SELECT ping::text AS all FROM tickwork.ping")
    assert token not in row["all"]
    assert len(token) >= 32
