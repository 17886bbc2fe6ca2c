"""A tenant is deleted with everything that it has, and nothing of another tenant."""

import re
from datetime import timedelta
from importlib.resources import files
from typing import Any

import asyncpg
import httpx2
import pytest

from api.conftest import Connect, MakeTenant, Tenant
from support.left_behind import left_of_tenant
from support.told_channel import make_channel
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

_QUERIES = [
    files("tickwork.store") / "queries" / f"{name}.sql"
    for name in ("purge_tenant", "delete_given_executions")
]
_TABLES = """
SELECT DISTINCT table_name FROM information_schema.columns
WHERE table_schema = 'tickwork' AND column_name = 'tenant_id'
    AND table_name !~ '_[0-9]{6,}$' AND table_name NOT LIKE '%view'"""
# What the archive has of a day, a note of the purge itself, the one place of a pass over all tenants, and leases: these
# end with their executions.
_STAYS = {
    "sealed_attempt",
    "sealed_checkpoint",
    "sealed_execution",
    "sealed_log",
    "tenant_purge",
    "retention_pass",
}
_PURGED = "/v1/tenants/acme?confirm=acme"
_BROKEN = Failure("ValueError", "broken", "Traceback", retry=False)


class Estate:
    """What a tenant has."""

    def __init__(self, tenant: Tenant, node: Node, worker: ScriptedWorker) -> None:
        self.tenant = tenant
        self.worker = worker
        self._node = node

    async def fill(self, connection: asyncpg.Connection) -> None:
        await make_channel(connection, "ops", tenant_id=self.tenant.id)
        await self._put("/v1/notification-rules/all", {"on": ["failed"], "to": ["ops"]})
        await self._put("/v1/pings/backup", {"schedule": "every 1h"})
        await self._put("/v1/queues/slow", {"max_running": 2, "priority": "high"})
        await self._put("/v1/retention", {"last": 1000})
        await self._put("/v1/tasks/declared", {"description": "later"})
        await self._post("/v1/sign-in-links", {})
        recurring = await self._job(schedule="every 1h", retention={"last": 9}, key="mine")
        await self._job(depends_on=[recurring])
        await self._job(schedule={"in": "1h"}, heartbeat_url="https://example.com/beat")
        await self._job(for_each=None, tags=["x"])
        past = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T05:00:00Z"}
        await self._post(f"/v1/jobs/{recurring}/backfill", past)
        for _ in range(4):
            await self._post(f"/v1/jobs/{recurring}/run", {})
        await self._claim()
        completed, failed, *_ = await self.worker.runs()
        await self.worker.log(completed, "said")
        await self.worker.complete(completed)
        await self.worker.fail(failed, _BROKEN)
        for loop in ("write logs", "number events", "notify", "index jobs"):
            await self._node.step(loop)
        retried = {"payload": {"n": 2}}
        execution = from_micros(failed.at)
        assert execution
        letters = (await self.tenant.admin.get("/v1/dead-letters")).json()["items"]
        await self._post(f"/v1/executions/{letters[0]['id']}/retry", retried)

    async def _claim(self) -> None:
        await self._node.step("fire")
        await self._node.step("claim")

    async def _job(self, **fields: Any) -> str:
        fields = {name: value for name, value in fields.items() if value is not None}
        return str((await self._post("/v1/jobs", {"task": "work", **fields}))["id"])

    async def _post(self, path: str, body: object) -> Any:
        answer = await self.tenant.admin.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def _put(self, path: str, body: object) -> None:
        answer = await self.tenant.admin.put(path, json=body)
        assert answer.is_success, answer.text


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are lost at once when their lease is over."""
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)


@pytest.fixture
async def acme(
    clock: SettableClock, make_tenant: MakeTenant, still_node: Node, connection: asyncpg.Connection
) -> Estate:
    return await _estate(make_tenant, still_node, connection, "acme")


@pytest.fixture
async def other(
    acme: Estate, make_tenant: MakeTenant, still_node: Node, connection: asyncpg.Connection
) -> Estate:
    return await _estate(make_tenant, still_node, connection, "other")


async def _estate(make_tenant: MakeTenant, node: Node, connection: asyncpg.Connection, name: str) -> Estate:
    tenant = await make_tenant(name)
    estate = Estate(tenant, node, await ScriptedWorker.connect(node, ["work"], tenant_id=tenant.id))
    await estate.fill(connection)
    return estate


async def _delete_the_rest(node: Node, clock: SettableClock) -> None:
    """Until nothing is left to delete, and a minute later once more."""
    for _ in range(3):
        await clock.advance(timedelta(minutes=2))
        for loop in ("rescue", "number events"):
            while await node.step(loop):
                pass
        while await node.step("delete purged tenants") or await node.step("delete purged jobs"):
            pass


async def test_nothing_of_it_is_left_and_another_tenant_has_what_it_had(
    clock: SettableClock,
    acme: Estate,
    other: Estate,
    client: httpx2.AsyncClient,
    still_node: Node,
    connection: asyncpg.Connection,
) -> None:
    while await still_node.step("number events"):
        pass
    before = await left_of_tenant(connection, other.tenant.id)
    assert len(await left_of_tenant(connection, acme.tenant.id)) > 25
    contents = (await client.get("/v1/tenants/acme")).json()
    assert (contents["counts"]["jobs"], contents["counts"]["workers"]) == (4, 1)
    answer = await client.delete(_PURGED)
    assert answer.status_code == 202
    assert answer.headers["location"] == "/v1/tenants/acme/purge"
    assert (await acme.tenant.admin.get("/v1/jobs")).status_code == 401
    await acme.worker.leave_silently()
    await _delete_the_rest(still_node, clock)
    progress = (await client.get("/v1/tenants/acme/purge")).json()
    assert (progress["status"], progress["removed"]["jobs"]) == ("completed", 4)
    assert await left_of_tenant(connection, acme.tenant.id) == {}
    after = await left_of_tenant(connection, other.tenant.id)  # its worker was lost meanwhile, which is noted
    assert {table: count for table, count in before.items() if after.get(table, 0) < count} == {}
    assert (await other.tenant.admin.get("/v1/jobs?count=exact")).json()["count"]["value"] == 4
    for table in ("round", "slot", "past_rule", "off_schedule_execution", "session", "sign_in_link"):
        assert await connection.fetchval(_ORPHANS[table]) == 0, table


_ORPHANS = {
    "round": "SELECT count(*) FROM tickwork.round WHERE rule_id NOT IN (SELECT id FROM tickwork.rule)",
    "slot": "SELECT count(*) FROM tickwork.slot WHERE limiter_id NOT IN (SELECT id FROM tickwork.limiter)",
    "past_rule": "SELECT count(*) FROM tickwork.past_rule WHERE job_id NOT IN (SELECT id FROM tickwork.job)",
    "off_schedule_execution": "SELECT count(*) FROM tickwork.off_schedule_execution"
    " WHERE job_id NOT IN (SELECT id FROM tickwork.job)",
    "session": "SELECT count(*) FROM tickwork.session WHERE key_id NOT IN (SELECT id FROM tickwork.api_key)",
    "sign_in_link": "SELECT count(*) FROM tickwork.sign_in_link WHERE key_id NOT IN (SELECT id FROM tickwork.api_key)",
}


async def test_every_table_of_tenants_is_deleted_from(
    still_node: Node, connection: asyncpg.Connection
) -> None:
    """Whoever adds a table is reminded of it here."""
    deleted = {
        table
        for query in _QUERIES
        for table in re.findall(r"DELETE FROM tickwork\.(\w+)", query.read_text("utf-8"))
    }
    tables = {row["table_name"] for row in await connection.fetch(_TABLES)}
    assert tables - deleted - {"callback_wait"} == _STAYS  # a wait ends with its lease


async def test_what_runs_is_stopped_and_its_worker_told(
    clock: SettableClock, acme: Estate, client: httpx2.AsyncClient, still_node: Node
) -> None:
    await client.delete(_PURGED)
    await still_node.step("revoke")
    assert await acme.worker.revokes() != []


async def test_its_name_must_be_repeated(
    acme: Estate, client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    before = await left_of_tenant(connection, acme.tenant.id)
    for path in ("/v1/tenants/acme", "/v1/tenants/acme?confirm=acm"):
        answer = await client.delete(path)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["hint"] == "repeat its name: confirm=acme"
    assert await left_of_tenant(connection, acme.tenant.id) == before


async def test_the_tenants_of_the_installation_cannot_be_deleted(client: httpx2.AsyncClient) -> None:
    for name in ("default", "(system)"):
        answer = await client.delete(f"/v1/tenants/{name}", params={"confirm": name})
        assert answer.status_code == 409
        assert "belongs to the installation" in answer.json()["detail"]
    assert (await client.delete("/v1/tenants/nobody?confirm=nobody")).status_code == 404
    assert (await client.get("/v1/tenants/nobody")).status_code == 404
    assert (await client.get("/v1/tenants/nobody/purge")).status_code == 404


async def test_only_admins_of_the_installation_may_do_it(
    acme: Estate, connect: Connect, still_node: Node
) -> None:
    for method, path in (("DELETE", _PURGED), ("GET", "/v1/tenants"), ("GET", "/v1/tenants/acme")):
        answer = await acme.tenant.admin.request(method, path)
        assert answer.status_code == 403
        assert "use a key of the tenant default" in answer.json()["detail"]


async def test_its_name_is_refused_until_it_is_gone_and_free_then(
    clock: SettableClock, acme: Estate, client: httpx2.AsyncClient, still_node: Node
) -> None:
    key = {"name": "new", "scopes": ["read"], "tenant": "acme"}
    await client.delete(_PURGED)
    listed = {each["name"]: each for each in (await client.get("/v1/tenants")).json()["items"]}
    assert (listed["acme"]["is_being_purged"], listed["acme"]["keys"]) == (True, 0)
    refused = await client.post("/v1/keys", json=key)
    assert refused.status_code == 409
    assert "is being deleted" in refused.json()["detail"]
    await acme.worker.leave_silently()
    await _delete_the_rest(still_node, clock)
    assert (await client.delete(_PURGED)).json()["status"] == "completed"  # a repeated request
    assert (await client.post("/v1/keys", json=key)).status_code == 201
    assert (await client.get("/v1/tenants/acme")).json()["counts"]["jobs"] == 0


async def test_what_is_written_for_it_meanwhile_is_deleted_a_minute_later(
    clock: SettableClock,
    acme: Estate,
    client: httpx2.AsyncClient,
    still_node: Node,
    connection: asyncpg.Connection,
) -> None:
    await acme.worker.leave_silently()
    await client.delete(_PURGED)
    await clock.advance(timedelta(minutes=1))
    while await still_node.step("rescue"):
        pass
    while await still_node.step("delete purged tenants"):
        pass
    assert (await client.get("/v1/tenants/acme/purge")).json()["status"] == "completed"
    late = "INSERT INTO tickwork.new_event (tenant_id, kind) VALUES ($1, 'execution.late')"
    await connection.execute(late, acme.tenant.id)
    await _delete_the_rest(still_node, clock)
    assert await left_of_tenant(connection, acme.tenant.id) == {}


async def test_small_batches_by_several_nodes_delete_the_same(
    clock: SettableClock,
    acme: Estate,
    client: httpx2.AsyncClient,
    still_node: Node,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tickwork.access.purge_tenants._AT_ONCE", 0.0)
    monkeypatch.setattr("tickwork.store.purge_tenant_store._EXECUTIONS", 1)
    monkeypatch.setattr("tickwork.store.purge_tenant_store._ROWS", 1)
    await acme.worker.leave_silently()
    assert (await client.delete(_PURGED)).json()["removed"] == {}
    await _delete_the_rest(still_node, clock)
    assert (await client.get("/v1/tenants/acme/purge")).json()["removed"]["jobs"] == 4
    assert await left_of_tenant(connection, acme.tenant.id) == {}
