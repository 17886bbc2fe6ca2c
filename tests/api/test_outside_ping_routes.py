"""/v1/outside-ping: operators say where the cluster reports itself."""

import httpx2

from api.conftest import MakeTenant


async def test_is_set_shown_and_taken_away(client: httpx2.AsyncClient) -> None:
    nowhere = {"url": None, "called_at": None, "answered_at": None, "error": None}
    assert (await client.get("/v1/outside-ping")).json() == nowhere
    assert (await client.delete("/v1/outside-ping")).status_code == 404
    answer = await client.put("/v1/outside-ping", json={"url": "https://hc.example.com/x"})
    assert answer.json() == {**nowhere, "url": "https://hc.example.com/x"}
    assert (await client.delete("/v1/outside-ping")).json() == nowhere


async def test_refuses_what_is_no_url(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/outside-ping", json={"url": "ftp://example.com"})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "url")


async def test_is_for_operators_only(make_tenant: MakeTenant) -> None:
    bob = await make_tenant("bob")
    for method in ("GET", "PUT", "DELETE"):
        body = {"url": "https://example.com"} if method == "PUT" else None
        assert (await bob.admin.request(method, "/v1/outside-ping", json=body)).status_code == 403
