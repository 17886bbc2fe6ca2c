"""Over a real socket: what only a real server and a real client can get wrong."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest
import websockets

from api.openapi_contract import keeps_the_contract
from support.waiting import eventually
from tickwork import AsyncClient
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.config import Settings
from tickwork.dispatch import check_hello
from tickwork.model.errors import Invalid
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.worker_protocol import (
    PROTOCOL,
    Ack,
    Beat,
    FromServer,
    Hello,
    Outcome,
    Outcomes,
    Renewed,
    Runs,
    TaskOffer,
    Welcome,
)
from tickwork.node import Node

TASK = TaskOffer("work", {"type": "object", "properties": {"n": {"type": "integer"}}})


@pytest.fixture
async def url(node: Node) -> AsyncIterator[str]:
    """Where a node answers that runs by itself."""
    with listen("127.0.0.1", 0) as listener:
        async with serving_http(node, listener):
            yield url_of(listener)


def client_at(url: str, key: str | None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=url,
        headers={"authorization": f"Bearer {key}"},
        event_hooks={"response": [keeps_the_contract]},
        timeout=30,
    )


@pytest.fixture
async def client(url: str, node: Node) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_at(url, node.first_key) as client:
        yield client


async def make_key(client: httpx2.AsyncClient, *scopes: str) -> dict[str, Any]:
    return (await client.post("/v1/keys", json={"name": "made", "scopes": scopes})).json()


HELLO = partial(Hello, name="hand", host="here", version="0", slots=5, credit=5, tasks=[TASK])


class WorkerAtSocket:
    """The protocol, spoken by hand."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket

    async def say(self, message: object) -> None:
        await self.socket.send(msgspec.msgpack.encode(message))

    async def hear(self, kind: type[Any]) -> Any:
        while True:
            message = msgspec.msgpack.decode(await self.socket.recv(decode=False), type=FromServer)
            if isinstance(message, kind):
                return message

    async def greet(self, resume: str | None = None) -> Welcome:
        await self.say(HELLO(resume=resume))
        return await self.hear(Welcome)


def connect(url: str, key: str) -> websockets.connect:
    address = url.replace("http://", "ws://") + "/v1/workers/connect"
    return websockets.connect(address, additional_headers={"authorization": f"Bearer {key}"})


async def test_a_job_goes_all_the_way_from_a_request_to_its_result(
    url: str, client: httpx2.AsyncClient, node: Node
) -> None:
    async with connect(url, node.first_key) as socket:
        worker = WorkerAtSocket(socket)
        await worker.greet()
        job = (await client.post("/v1/jobs", json={"task": "work", "payload": {"n": 7}})).json()
        (run,) = (await worker.hear(Runs)).items
        assert run.payload == b'{"n":7}'
        outcome = Outcome(
            run.tenant,
            run.at,
            run.job,
            run.attempt,
            AttemptOutcome.COMPLETED,
            run.at,
            run.at + 1,
            b'{"ok":true}',
        )
        await worker.say(Outcomes(1, [outcome]))
        await worker.hear(Ack)
        (execution,) = (await client.get(f"/v1/jobs/{job['id']}/executions")).json()["items"]
        assert (execution["status"], execution["result"]) == ("completed", {"ok": True})
        assert (await client.get(f"/v1/jobs/{job['id']}")).json()["status"] == "completed"


async def test_a_worker_whose_key_is_revoked_is_sent_away_and_not_let_in_again(
    url: str, client: httpx2.AsyncClient
) -> None:
    key = await make_key(client, "worker")
    async with connect(url, key["secret"]) as socket:
        worker = WorkerAtSocket(socket)
        await worker.greet()
        await worker.say(Beat(sent=1, credit=5))
        await client.delete(f"/v1/keys/{key['id']}")
        await worker.say(Beat(sent=2, credit=5))
        with pytest.raises(websockets.ConnectionClosed):
            await worker.hear(Runs)
        assert socket.close_code == 1008
        assert socket.close_reason == "the key has expired or was revoked"
    with pytest.raises(websockets.InvalidStatus) as refused:
        await connect(url, key["secret"])
    assert refused.value.response.status_code == 401
    assert refused.value.response.headers["content-type"] == "application/problem+json"


async def test_a_worker_whose_key_has_expired_is_told_so_and_sent_away(
    url: str, client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    key = await make_key(client, "worker")
    async with connect(url, key["secret"]) as socket:
        worker = WorkerAtSocket(socket)
        await worker.greet()
        await connection.execute("UPDATE tickwork.api_key SET expires_at = now() WHERE name = 'made'")
        await worker.say(Beat(sent=1, credit=5))
        with pytest.raises(websockets.ConnectionClosed):
            await worker.hear(Runs)
        assert socket.close_reason == "the key has expired or was revoked"


async def test_a_worker_that_comes_back_ends_its_older_connection(url: str, node: Node) -> None:
    async with connect(url, node.first_key) as older, connect(url, node.first_key) as newer:
        welcome = await WorkerAtSocket(older).greet()
        assert (await WorkerAtSocket(newer).greet(resume=welcome.token)).worker == welcome.worker
        with pytest.raises(websockets.ConnectionClosed):
            await WorkerAtSocket(older).hear(Runs)
        assert older.close_code == 1012
        assert older.close_reason == "this worker has come back on another connection"
        await WorkerAtSocket(newer).say(Beat(sent=1, credit=5))
        assert (await WorkerAtSocket(newer).hear(Renewed)).sent == 1


async def test_a_worker_without_the_scope_is_told_why_it_may_not_connect(
    url: str, client: httpx2.AsyncClient
) -> None:
    key = await make_key(client, "write")
    with pytest.raises(websockets.InvalidStatus) as refused:
        await connect(url, key["secret"])
    assert refused.value.response.status_code == 403
    assert "scope worker" in msgspec.json.decode(refused.value.response.body)["detail"]


async def test_a_key_revoked_on_one_node_is_refused_by_all_within_seconds(
    client: httpx2.AsyncClient, settings: Settings
) -> None:
    key = await make_key(client, "read")
    other = Node(settings)
    await other.open()
    with listen("127.0.0.1", 0) as listener:
        async with serving_http(other, listener), client_at(url_of(listener), key["secret"]) as holder:
            assert (await holder.get("/v1/jobs")).status_code == 200
            await client.delete(f"/v1/keys/{key['id']}")
            await eventually(lambda: _is_refused(holder), within=5)
    await other.stop()


async def _is_refused(holder: httpx2.AsyncClient) -> bool:
    return (await holder.get("/v1/jobs")).status_code == 401


async def test_an_expired_key_is_refused(
    client: httpx2.AsyncClient, url: str, connection: asyncpg.Connection
) -> None:
    body = {"name": "short", "scopes": ["read"], "expires_at": "2999-01-01T00:00:00Z"}
    key = (await client.post("/v1/keys", json=body)).json()
    await connection.execute("UPDATE tickwork.api_key SET expires_at = now() WHERE name = 'short'")
    async with client_at(url, key["secret"]) as holder:
        assert (await holder.get("/v1/jobs")).status_code == 401


async def test_a_body_of_10_mb_is_refused_unread_and_the_server_goes_on(client: httpx2.AsyncClient) -> None:
    large = b"[" + b" " * 10_000_000 + b"]"
    answer = await client.post("/v1/jobs", content=large, headers={"content-type": "application/json"})
    assert answer.status_code == 413

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b" " * 65_536

    answer = await client.post("/v1/jobs", content=endless(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert (await client.get("/v1/jobs")).status_code == 200


NONSENSE = {
    "half a body": b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer KEY\r\n"
    b'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"task": ',
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "endless headers": b"GET /v1/jobs HTTP/1.1\r\nhost: x\r\n" + b"x-a: b\r\n" * 10_000 + b"\r\n",
    "negative length": b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
    "no UTF-8": b"GET /%ff%fe?%ff=\xff HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \xff\xfe\r\n\r\n",
}


async def test_a_client_that_makes_no_sense_harms_nobody_else(
    client: httpx2.AsyncClient, url: str, node: Node
) -> None:
    host, port = url.removeprefix("http://").split(":")
    for what, words in NONSENSE.items():
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(words.replace(b"KEY", node.first_key.encode()))
        await writer.drain()
        writer.write_eof()
        said = await reader.read()
        assert b" 500 " not in said.split(b"\r\n")[0], what
        writer.close()
        assert (await client.get("/v1/jobs")).json()["items"] == [], what


async def test_the_python_client_says_what_the_server_understands(url: str, node: Node) -> None:
    async with connect(url, node.first_key) as socket, AsyncClient(url, node.first_key) as client:
        await WorkerAtSocket(socket).greet()
        made = await client.create_jobs(
            [
                JobRequest(task="work", key="a", schedule="every 1h"),
                {"task": "work", "schedule": {"in": "1h"}},
            ]
        )
        assert [job.key for job in made] == ["a", None]
        assert all(job.next_run_at for job in made)
        job = await client.get_job(made[0].id)
        assert (job.retry.max_attempts, job.catch_up.within, job.timeout) == (4, 3600, 300)
        assert [each.id async for each in client.iter_jobs(limit=1, sort="created_at")] == [
            each.id for each in made
        ]
        edited = await client.edit_job(job.id, {"tags": ["x"]}, if_match=job.version)
        assert edited.tags == ["x"]
        execution = await client.run_job(job.id)
        assert (await client.cancel_execution(execution.id)).status == "cancelled"
        assert (await client.list_tasks()).items[0].parameters == TASK.parameters
        with pytest.raises(Invalid) as refused:
            await client.create_jobs([{"task": "work"}, {"task": "work", "payload": {"n": "x"}}])
        assert [error.path for error in refused.value.errors] == ["[1].payload.n"]


async def test_a_worker_of_another_release_is_let_in_while_there_is_a_protocol_in_common(
    url: str, node: Node
) -> None:
    async with connect(url, node.first_key) as socket:
        worker = WorkerAtSocket(socket)
        newer = HELLO(protocol=PROTOCOL + 1, oldest_protocol=PROTOCOL)
        await worker.say({**msgspec.to_builtins(newer), "type": "Hello", "field_of_a_newer_release": 1})
        await worker.hear(Welcome)


async def test_a_worker_that_is_too_new_is_told_to_wait_for_its_servers(url: str, node: Node) -> None:
    async with connect(url, node.first_key) as socket:
        worker = WorkerAtSocket(socket)
        await worker.say(HELLO(protocol=PROTOCOL + 2, oldest_protocol=PROTOCOL + 1))
        with pytest.raises(websockets.ConnectionClosed, match="upgrade servers first"):
            await worker.hear(Welcome)
        assert socket.close_code == 1008


async def test_a_worker_that_is_too_old_is_told_to_be_upgraded(
    url: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_hello, "OLDEST_PROTOCOL", PROTOCOL + 1)
    async with connect(url, node.first_key) as socket:
        worker = WorkerAtSocket(socket)
        await worker.say(HELLO(protocol=PROTOCOL))
        with pytest.raises(websockets.ConnectionClosed, match="upgrade the worker"):
            await worker.hear(Welcome)
        assert socket.close_code == 1008
