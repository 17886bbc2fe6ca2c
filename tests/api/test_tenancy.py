"""No tenant sees or touches what belongs to another, whichever way it asks."""

import asyncio
from typing import NamedTuple

import asyncpg
import httpx2
import pytest

from api.conftest import Connect, MakeTenant, Tenant
from api.database_dump import dump
from support.told_channel import make_channel
from tickwork.api.asgi_app import ROUTES
from tickwork.api.route import Route
from tickwork.model.access import Scope
from tickwork.model.execution import AttemptOutcome
from tickwork.model.public_ids import worker_id
from tickwork.model.worker_protocol import Claim, Failure, Outcome, Outcomes
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

CANARY = "canary"
# For keys of the default tenant only.
OF_ALL_TENANTS = {
    "/metrics",
    "/v1/cluster",
    "/v1/cluster/pause",
    "/v1/cluster/resume",
    "/v1/cluster/resume-report",
    "/v1/outside-ping",
    "/v1/tenants",
    "/v1/tenants/{name}",
    "/v1/tenants/{name}/purge",
}
CALLBACKS = {route.path: 401 for route in ROUTES if route.path.startswith("/v1/callbacks/")}
OPEN_WITH_A_SECRET = {"/v1/session": 401, "/ping/{token}": 404, "/ping/{token}/{signal}": 404, **CALLBACKS}
WITH_ID = [route for route in ROUTES if "{id}" in route.path]
UNKNOWN = {
    "jobs": "j0",
    "executions": "e0-0",
    "workers": "w0",
    "keys": "k0",
    "backfills": "b0",
    "notifications": "n0",
}
ENOUGH = {
    Scope.READ: {Scope.READ, Scope.WRITE, Scope.ADMIN},
    Scope.WRITE: {Scope.WRITE, Scope.ADMIN},
    Scope.ADMIN: {Scope.ADMIN},
    Scope.WORKER: {Scope.WORKER, Scope.ADMIN},
}


class Estate(NamedTuple):
    """What tenant ann has, every word of it a canary."""

    ann: Tenant
    bob: Tenant
    worker: ScriptedWorker
    ids: dict[str, list[str]]  # by resource


@pytest.fixture
async def estate(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, still_node: Node, connection: asyncpg.Connection
) -> Estate:
    ann, bob = await make_tenant(f"ann.{CANARY}"), await make_tenant("bob")
    await make_channel(connection, CANARY, tenant_id=ann.id)
    await ann.admin.put(f"/v1/notification-rules/{CANARY}", json={"on": ["failed"], "to": [CANARY]})
    worker = await ScriptedWorker.connect(still_node, tasks=[f"mine.{CANARY}"], tenant_id=ann.id)
    await ScriptedWorker.offer_only(still_node, tasks=["mine"], tenant_id=bob.id)
    http = {"url": f"https://{CANARY}.example.com", "headers": {"x": CANARY}}
    words = {"name": CANARY, "payload": {CANARY: CANARY}, "tags": [CANARY], "queue": CANARY}
    jobs = [
        (await ann.admin.post("/v1/jobs", json=job)).json()["id"]
        for job in (
            {"task": f"mine.{CANARY}", "key": CANARY, **words},
            {"task": f"mine.{CANARY}", **words},
            {"task": f"mine.{CANARY}", "schedule": "every 1h", **words},
            {"http": http, **words, "schedule": {"in": "1h"}},
        )
    ]
    await ann.admin.put(f"/v1/pings/{CANARY}", json={"schedule": "every 1h", "description": CANARY})
    await ann.admin.post(f"/v1/jobs/{jobs[2]}/run")
    await still_node.step("claim")
    first, second, *_ = await worker.runs()
    await worker.complete(first, f'"{CANARY}"'.encode())
    await worker.fail(second, Failure(CANARY, CANARY, CANARY, retry=False))
    await still_node.step("number events")
    await still_node.step("notify")
    notifications = (await ann.admin.get("/v1/notifications")).json()["items"]
    assert notifications
    executions = (await ann.admin.get("/v1/executions")).json()["items"]
    assert {each["status"] for each in executions} == {"completed", "failed", "running", "pending"}
    past = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T05:00:00Z"}
    backfill = (await ann.admin.post(f"/v1/jobs/{jobs[2]}/backfill", json=past)).json()["id"]
    await ann.admin.post("/v1/keys", json={"name": CANARY, "scopes": ["read"]})
    keys = (await ann.admin.get("/v1/keys")).json()["items"]
    return Estate(
        ann,
        bob,
        worker,
        {
            "jobs": jobs,
            "executions": [each["id"] for each in executions],
            "workers": [worker_id(worker.welcome.worker)],
            "keys": [each["id"] for each in keys],
            "backfills": [backfill],
            "notifications": [each["id"] for each in notifications],
        },
    )


def resource(route: Route) -> str:
    """What its id is of."""
    return "executions" if route.path in CALLBACKS else route.path.split("/")[2]


async def ask(client: httpx2.AsyncClient, route: Route, path: str) -> httpx2.Response:
    return await client.request(route.method, path, json=route.body.example if route.body else None)


async def test_whatever_the_route_a_foreign_id_is_not_found_and_nothing_changes(
    estate: Estate, connection: asyncpg.Connection
) -> None:
    before = await dump(connection)
    for route in WITH_ID:
        for foreign in estate.ids[resource(route)]:
            answer = await ask(estate.bob.admin, route, route.path.replace("{id}", foreign))
            assert answer.status_code == CALLBACKS.get(route.path, 404), f"{route.method} {route.path}"
            assert CANARY not in answer.text
    assert await dump(connection) == before


async def test_what_is_listed_or_said_holds_no_word_of_another_tenant(estate: Estate) -> None:
    foreign = [*estate.ids["jobs"], *estate.ids["executions"], *estate.ids["workers"], *estate.ids["keys"]]
    job, worker = estate.ids["jobs"][0], estate.ids["workers"][0]
    for path in [
        *(route.path for route in ROUTES if route.method == "GET" and "{" not in route.path),
        f"/v1/executions?job={job}",
        f"/v1/executions?worker={worker}",
        f"/v1/executions?task=mine.{CANARY}",
        f"/v1/executions?queue={CANARY}",
        f"/v1/jobs?q={CANARY}",
        f"/v1/jobs?tag={CANARY}",
        f"/v1/jobs?task=mine.{CANARY}",
    ]:
        answer = await estate.bob.admin.get(path)
        assert answer.status_code == (403 if path in OF_ALL_TENANTS else 200), path
        assert CANARY not in answer.text, path
        items = answer.json().get("items", [])
        assert not {item.get("id") for item in items} & set(foreign), path
        assert not any(worker in item.get("workers", []) for item in items), path


async def test_nothing_can_be_learnt_by_creating(estate: Estate, connection: asyncpg.Connection) -> None:
    bob = estate.bob.admin
    answer = await bob.post("/v1/jobs", json={"task": f"mine.{CANARY[:-1]}"})
    assert answer.status_code == 422
    assert CANARY not in answer.text
    answer = await bob.post("/v1/jobs", json={"task": f"mine.{CANARY}"})
    assert answer.status_code == 422
    mine = await bob.post("/v1/jobs", json={"task": "mine", "key": CANARY, "if_exists": "replace"})
    assert mine.status_code == 201
    assert mine.json()["id"] not in estate.ids["jobs"]
    assert (await estate.ann.admin.get(f"/v1/jobs/{estate.ids['jobs'][0]}")).json()["version"] == 1


async def test_rules_and_lanes_are_not_shared(estate: Estate, connection: asyncpg.Connection) -> None:
    await estate.bob.admin.post("/v1/jobs", json={"task": "mine", "schedule": "every 1h", "queue": CANARY})
    for query in (
        "SELECT count(*) FROM tickwork.job JOIN tickwork.rule r ON r.id = rule_id WHERE r.tenant_id <> job.tenant_id",
        "SELECT count(*) FROM tickwork.job JOIN tickwork.lane l ON l.id = lane_id WHERE l.tenant_id <> job.tenant_id",
    ):
        assert await connection.fetchval(query) == 0


async def test_a_worker_of_another_tenant_gets_nothing_and_can_end_nothing(
    estate: Estate, still_node: Node, connection: asyncpg.Connection
) -> None:
    claim = await connection.fetchrow(
        "SELECT tenant_id, scheduled_for, job_id, attempt FROM tickwork.execution WHERE status = 'running'"
    )
    stranger = await ScriptedWorker.connect(still_node, tasks=[f"mine.{CANARY}"], tenant_id=estate.bob.id)
    await estate.ann.admin.post(f"/v1/jobs/{estate.ids['jobs'][1]}/run")
    await estate.worker.leave_silently()
    await still_node.step("claim")
    assert await stranger.runs() == []
    before = await dump(connection)
    at = int(claim["scheduled_for"].timestamp() * 1_000_000)
    theirs = Claim(claim["tenant_id"], at, claim["job_id"], claim["attempt"])
    outcome = Outcome(theirs.tenant, theirs.at, theirs.job, theirs.attempt, AttemptOutcome.COMPLETED, at, at)
    await stranger._connection.send(Outcomes(1, [outcome]))
    await stranger._exchange_messages()
    await still_node.step("record")
    await stranger.beat([(theirs, at)])
    await still_node.step("record")
    after = await dump(connection)
    assert {name: rows for name, rows in after.items() if name != "worker"} == {
        name: rows for name, rows in before.items() if name != "worker"
    }


async def test_a_worker_cannot_go_on_as_one_of_another_tenant(estate: Estate, still_node: Node) -> None:
    await estate.worker.leave_silently()
    thief = ScriptedWorker(still_node, ["mine"], estate.bob.id)
    await thief.greet(resume=estate.worker.welcome.token)
    assert thief.welcome is None
    assert thief.refused is not None


async def test_each_route_asks_for_its_scope(
    estate: Estate, connect: Connect, still_node: Node, connection: asyncpg.Connection
) -> None:
    clients = {}
    for scope in Scope:
        body = {"name": scope, "scopes": [scope]}
        secret = (await estate.ann.admin.post("/v1/keys", json=body)).json()["secret"]
        clients[scope] = await connect(still_node, secret)
    nobody = await connect(still_node, None)
    before = await dump(connection)
    for route in ROUTES:
        path = route.path.replace("{id}", estate.ids[resource(route)][0]) if route in WITH_ID else route.path
        expected = OPEN_WITH_A_SECRET.get(route.path, 401 if route.scope else 200)
        assert (await ask(nobody, route, path)).status_code == expected
        for scope, client in clients.items():
            if route.scope and scope not in ENOUGH[route.scope]:
                answer = await ask(client, route, path)
                assert answer.status_code == 403, f"{scope}: {route.method} {route.path}"
                assert f"scope {route.scope}" in answer.json()["detail"]
    assert await dump(connection) == before
    for route in ROUTES:
        for scope, client in clients.items():
            if route.scope and scope in ENOUGH[route.scope] and route.path not in OF_ALL_TENANTS:
                path = route.path.replace("{id}", UNKNOWN.get(resource(route), ""))
                answer = await ask(client, route, path)
                assert answer.status_code not in (401, 403), f"{scope}: {route.method} {route.path}"


async def test_only_admins_of_the_default_tenant_make_keys_for_others(
    client: httpx2.AsyncClient, estate: Estate
) -> None:
    for tenant in ("default", f"ann.{CANARY}", "new"):
        body = {"name": "mine", "scopes": ["admin"], "tenant": tenant}
        assert (await estate.bob.admin.post("/v1/keys", json=body)).status_code == 403
    everywhere = (await client.get("/v1/keys")).json()["items"]
    assert {key["tenant"] for key in everywhere} == {"default", f"ann.{CANARY}", "bob"}


async def test_no_secret_is_kept(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, still_node: Node
) -> None:
    made = (await client.post("/v1/keys", json={"name": "a", "scopes": ["read"]})).json()
    everything = str(await dump(connection))
    for secret in (made["secret"], still_node.first_key):
        assert secret not in everything
        assert secret.encode().hex() not in everything
    assert made["prefix"] in everything
    assert len(made["secret"]) >= 40


async def test_a_revoked_key_is_refused_at_once(
    client: httpx2.AsyncClient, connect: Connect, still_node: Node
) -> None:
    made = (await client.post("/v1/keys", json={"name": "a", "scopes": ["read"]})).json()
    holder = await connect(still_node, made["secret"])
    assert (await holder.get("/v1/jobs")).status_code == 200
    revoked = (await client.delete(f"/v1/keys/{made['id']}")).json()
    assert revoked["revoked_at"]
    answers = await asyncio.gather(*(holder.get("/v1/jobs") for _ in range(5)))
    for answer in answers:
        assert answer.status_code == 401
        assert answer.json()["detail"] == "this API key is not known, has expired or was revoked"
        assert answer.headers["www-authenticate"] == 'Bearer realm="tickwork", error="invalid_token"'
    assert (await client.delete(f"/v1/keys/{made['id']}")).json() == revoked
