"""Circuit breakers as users see and reset them."""

from functools import partial

import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.circuit_breaker import BreakerKey, CallResult, CallVerdict, count_calls, tally_of
from tickwork.node import Node

SITE = "https://api.example.com"
DOWN = CallResult(CallVerdict.FAILS, "ConnectError: api.example.com could not be connected to: refused")


async def fail(node: Node, times: int = 5, tenant_id: int = 1, destination: str = SITE) -> None:
    key = BreakerKey(tenant_id, destination)
    await node.breakers._store.change({key: partial(count_calls, tally=tally_of([DOWN] * times))}, make=[key])


async def test_shows_what_fails_open_ones_first(client: httpx2.AsyncClient, still_node: Node) -> None:
    assert (await client.get("/v1/breakers")).json() == {"items": [], "next_cursor": None}
    await fail(still_node)
    await fail(still_node, 2, destination="https://b.example.com")
    opened, counting = (await client.get("/v1/breakers")).json()["items"]
    assert {name: opened[name] for name in opened if not name.endswith("_at") and name != "since"} == {
        "destination": SITE,
        "state": "open",
        "reason": "failed 5 times in a row",
        "failures_in_a_row": 5,
        "calls": 5,
        "failures": 5,
        "last_error": DOWN.error,
        "waiting": 0,
    }
    assert opened["next_probe_at"] > opened["since"]
    assert (counting["state"], counting["failures_in_a_row"], counting["next_probe_at"]) == (
        "closed",
        2,
        None,
    )


async def test_a_reset_closes_it_and_may_be_repeated(client: httpx2.AsyncClient, still_node: Node) -> None:
    await fail(still_node)
    for _ in range(2):
        answer = await client.post("/v1/breakers/reset", json={"destination": f"{SITE}/some/path"})
        assert answer.status_code == 200
        assert (answer.json()["state"], answer.json()["failures_in_a_row"]) == ("closed", 0)


async def test_a_reset_of_a_destination_that_never_failed_is_a_conflict(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/breakers/reset", json={"destination": SITE})
    assert answer.status_code == 409
    assert SITE in answer.json()["detail"]


@pytest.mark.parametrize(
    "destination", ["api.example.com", "ftp://api.example.com", "https://", "http://a:0"]
)
async def test_a_destination_is_a_url(client: httpx2.AsyncClient, destination: str) -> None:
    answer = await client.post("/v1/breakers/reset", json={"destination": destination})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "destination"


async def test_a_tenant_sees_and_resets_only_its_own(
    client: httpx2.AsyncClient, still_node: Node, make_tenant: MakeTenant
) -> None:
    other = await make_tenant("other")
    await fail(still_node)
    assert (await other.admin.get("/v1/breakers")).json()["items"] == []
    answer = await other.admin.post("/v1/breakers/reset", json={"destination": SITE})
    assert answer.status_code == 409
    assert (await client.get("/v1/breakers")).json()["items"][0]["state"] == "open"
