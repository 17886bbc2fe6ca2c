"""Nobody can shut himself out by revoking keys."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from tickwork.model.access import KeyView, Scope
from tickwork.model.errors import Conflict
from tickwork.model.public_ids import parse_key_id
from tickwork.node import Node

LATER = (datetime.now(UTC) + timedelta(days=90)).isoformat()


async def admin_keys(client: httpx2.AsyncClient) -> list[str]:
    keys = (await client.get("/v1/keys")).json()["items"]
    return [key["id"] for key in keys if Scope.ADMIN in key["scopes"] and not key["revoked_at"]]


async def make(client: httpx2.AsyncClient, scope: str = "admin", **fields: str) -> str:
    answer = await client.post("/v1/keys", json={"name": "another", "scopes": [scope], **fields})
    assert answer.status_code == 201
    return answer.json()["id"]


async def test_the_last_admin_key_cannot_be_revoked(client: httpx2.AsyncClient) -> None:
    (first,) = await admin_keys(client)
    await make(client, "write")
    answer = await client.delete(f"/v1/keys/{first}")
    assert answer.status_code == 409
    assert "last admin key of the tenant default" in answer.json()["detail"]
    assert "make another one first" in answer.json()["detail"]
    second = await make(client)
    assert (await client.delete(f"/v1/keys/{second}")).status_code == 200
    assert (await client.delete(f"/v1/keys/{second}")).status_code == 200
    assert (await client.delete(f"/v1/keys/{first}")).status_code == 409
    assert await admin_keys(client) == [first]


async def test_a_key_that_expires_does_not_stand_in_for_one_that_does_not(client: httpx2.AsyncClient) -> None:
    (first,) = await admin_keys(client)
    expiring = await make(client, expires_at=LATER)
    assert (await client.delete(f"/v1/keys/{first}")).status_code == 409
    assert (await client.delete(f"/v1/keys/{expiring}")).status_code == 200


async def test_where_all_expire_the_last_that_is_valid_stays(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    (first,) = await admin_keys(client)
    second = await make(client, expires_at=LATER)
    await connection.execute("UPDATE tickwork.api_key SET expires_at = now() + interval '1 day'")
    assert (await client.delete(f"/v1/keys/{second}")).status_code == 200
    assert (await client.delete(f"/v1/keys/{first}")).status_code == 409
    third = await make(client, expires_at=LATER)
    await connection.execute("UPDATE tickwork.api_key SET expires_at = now() WHERE id = 3")
    assert (await client.delete(f"/v1/keys/{third}")).status_code == 200  # of no use any more
    assert (await client.delete(f"/v1/keys/{first}")).status_code == 409


@pytest.mark.parametrize("count", [2, 6])
async def test_of_many_who_revoke_the_last_ones_at_once_one_is_refused(
    client: httpx2.AsyncClient, still_node: Node, count: int
) -> None:
    for _ in range(count - 1):
        await make(client)
    keys = [parse_key_id(key) for key in await admin_keys(client)]
    caller = await still_node.keys.authenticate(still_node.first_key)
    revoking = (still_node.keys.revoke(caller, key) for key in keys)
    ends = await asyncio.gather(*revoking, return_exceptions=True)
    assert [type(end) for end in ends].count(KeyView) == count - 1
    assert [type(end) for end in ends].count(Conflict) == 1


async def test_another_tenant_keeps_its_own_last_one_unless_it_is_shut_out(
    client: httpx2.AsyncClient, make_tenant: MakeTenant
) -> None:
    ann = await make_tenant("ann")
    (own,) = await admin_keys(ann.admin)
    answer = await ann.admin.delete(f"/v1/keys/{own}")
    assert answer.status_code == 409
    assert "of the tenant ann" in answer.json()["detail"]
    assert (await client.delete(f"/v1/keys/{own}")).status_code == 200
    assert (await ann.admin.get("/v1/jobs")).status_code == 401
