"""Idempotency-Key: a request that is sent again takes effect once, whatever happened to the first."""

import asyncio
from typing import Any

import asyncpg
import httpx2
import pytest

from api.conftest import MakeTenant
from support.end_sessions import end_sessions
from support.waiting import eventually
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

JOB = {"task": "work", "payload": {"n": 1}}


@pytest.fixture(autouse=True)
async def known_task(still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])


async def create(client: httpx2.AsyncClient, idempotency_key: str, **fields: Any) -> httpx2.Response:
    headers = {"idempotency-key": idempotency_key}
    return await client.post("/v1/jobs", json={**JOB, **fields}, headers=headers)


async def jobs_in(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT count(*) FROM tickwork.job")


async def test_the_same_request_gets_the_same_answer_and_makes_one_job(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    first = await create(client, "a")
    again = await create(client, "a")
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    for header in ("location", "etag", "content-type"):
        assert first.headers[header] == again.headers[header]
    assert first.headers["x-request-id"] != again.headers["x-request-id"]
    assert await jobs_in(connection) == 1


async def test_the_first_answer_is_given_also_when_the_job_has_changed_since(
    client: httpx2.AsyncClient,
) -> None:
    first = await create(client, "a")
    await client.patch(first.headers["location"], json={"name": "changed"})
    assert (await create(client, "a")).content == first.content


async def test_every_kind_of_post_takes_effect_once(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    job = (await create(client, "create", schedule="every 1h")).headers["location"]
    for path, body in [
        (f"{job}/run", None),
        (f"{job}/pause", None),
        (f"{job}/resume", None),
        ("/v1/jobs/batch", [JOB, JOB]),
        ("/v1/schedules/preview", {"schedule": "every 5m"}),
    ]:
        answers = [await client.post(path, json=body, headers={"idempotency-key": path}) for _ in range(3)]
        assert len({answer.content for answer in answers}) == 1
        assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true", "true"]
    assert await jobs_in(connection) == 3
    assert (await client.get(job)).json()["version"] == 3
    assert len((await client.get(f"{job}/executions")).json()["items"]) == 1
    execution = (await client.get(f"{job}/executions")).json()["items"][0]["id"]
    cancels = [
        await client.post(f"/v1/executions/{execution}/cancel", headers={"idempotency-key": "cancel"})
        for _ in "ab"
    ]
    assert [cancel.status_code for cancel in cancels] == [200, 200]


async def test_a_replayed_key_does_not_tell_its_secret_again(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    body = {"name": "deploy", "scopes": ["read"]}
    answers = [await client.post("/v1/keys", json=body, headers={"idempotency-key": "k"}) for _ in "ab"]
    first, again = (answer.json() for answer in answers)
    assert first["secret"].startswith("tw_")
    assert again == {**first, "secret": None}
    stored = await connection.fetchval("SELECT body FROM tickwork.idempotency")
    assert first["secret"].encode() not in stored


async def test_another_request_with_the_same_key_is_refused(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    job = (await create(client, "a")).headers["location"]
    for request in (
        create(client, "a", name="other"),
        client.post("/v1/jobs/batch", json=[JOB], headers={"idempotency-key": "a"}),
        client.post(f"{job}/run", headers={"idempotency-key": "a"}),
    ):
        answer = await request
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/idempotency-key-reused"
        assert answer.json()["errors"][0]["path"] == "Idempotency-Key"
    assert await jobs_in(connection) == 1


async def test_a_refused_request_does_not_use_up_its_key(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await create(client, "taken", key="taken")
    for fields, status in [
        ({"schedule": "0 0 30 2 *"}, 422),
        ({"task": "none"}, 422),
        ({"key": "taken"}, 409),
    ]:
        assert (await create(client, "a", **fields)).status_code == status
    assert (await create(client, "a")).status_code == 201
    assert await jobs_in(connection) == 2


async def test_a_conflict_of_the_work_itself_is_not_one_to_be_tried_again(client: httpx2.AsyncClient) -> None:
    job = (await create(client, "a")).headers["location"]
    await client.delete(job)
    answer = await client.post(f"{job}/pause", json={}, headers={"idempotency-key": "b"})
    assert answer.status_code == 409
    assert "retry-after" not in answer.headers


async def test_the_same_key_of_another_tenant_is_another_key(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, still_node: Node
) -> None:
    other = await make_tenant("other")
    await ScriptedWorker.offer_only(still_node, tasks=["work"], tenant_id=other.id)
    ours = await create(client, "a")
    theirs = await create(other.admin, "a")
    assert theirs.status_code == 201
    assert "idempotent-replayed" not in theirs.headers
    assert ours.json()["id"] != theirs.json()["id"]
    assert (await create(other.admin, "a")).content == theirs.content


async def test_who_may_not_do_it_is_not_given_the_answer_either(
    client: httpx2.AsyncClient, connect: Any, still_node: Node
) -> None:
    await create(client, "a")
    reader = (await client.post("/v1/keys", json={"name": "r", "scopes": ["read"]})).json()["secret"]
    assert (await create(await connect(still_node, reader), "a")).status_code == 403


async def test_of_twenty_at_once_one_takes_effect(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    answers = await asyncio.gather(*(create(client, "a") for _ in range(20)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    for answer in answers:
        assert answer.status_code == 201 or answer.headers["retry-after"] == "1"
    assert await jobs_in(connection) == 1


class Blocked:
    """A request in the middle of its transaction, held there by a lock on the table that it wants to write."""

    def __init__(self, connection: asyncpg.Connection, request: Any) -> None:
        self._connection = connection
        self._request = request

    async def __aenter__(self) -> "asyncio.Task[httpx2.Response]":
        self._lock = self._connection.transaction()
        await self._lock.start()
        await self._connection.execute("LOCK TABLE tickwork.job IN EXCLUSIVE MODE")
        self.task = asyncio.create_task(self._request)
        await eventually(
            lambda: waiting_for_the_table(self._connection), within=10, what="the wait for the lock"
        )
        return self.task

    async def __aexit__(self, *_: object) -> None:
        await self._lock.rollback()


async def waiting_for_the_table(connection: asyncpg.Connection) -> int | None:
    return await connection.fetchval(
        "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'tickwork.job'::regclass"
    )


async def test_while_the_first_is_in_flight_the_second_is_told_to_wait(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    async with Blocked(connection, create(client, "a")) as first:
        second = await create(client, "a")
        assert second.status_code == 409
        assert "being worked on" in second.json()["detail"]
        assert second.headers["retry-after"] == "1"
        assert (await client.get("/readyz")).status_code == 200
    assert (await first).status_code == 201
    third = await create(client, "a")
    assert third.content == (await first).content
    assert await jobs_in(connection) == 1


async def test_a_request_whose_connection_breaks_leaves_nothing_and_may_be_repeated(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    async with Blocked(connection, create(client, "a")) as first:
        await end_sessions(connection, "pid = $1", await waiting_for_the_table(connection))
        answer = await first
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
    assert await jobs_in(connection) == 0
    assert (await create(client, "a")).status_code == 201
    assert (await create(client, "a")).headers["idempotent-replayed"] == "true"
    assert await jobs_in(connection) == 1


async def test_what_cannot_be_committed_leaves_neither_job_nor_answer(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await connection.execute("""
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
        CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON tickwork.idempotency DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fail();
    """)
    assert (await create(client, "a")).status_code == 500
    assert await jobs_in(connection) == 0
    await connection.execute("DROP TRIGGER fail ON tickwork.idempotency")
    assert (await create(client, "a")).status_code == 201
    assert await jobs_in(connection) == 1


async def test_answers_are_forgotten_after_a_day(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, still_node: Node
) -> None:
    await create(client, "a")
    await connection.execute(
        "UPDATE tickwork.idempotency SET created_at = created_at - interval '23 hours 59 min'"
    )
    await still_node.step("expire idempotency keys")
    assert (await create(client, "a")).headers["idempotent-replayed"] == "true"
    await connection.execute("UPDATE tickwork.idempotency SET created_at = created_at - interval '2 min'")
    await still_node.step("expire idempotency keys")
    assert "idempotent-replayed" not in (await create(client, "a")).headers
    assert await jobs_in(connection) == 2
