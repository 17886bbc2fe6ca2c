"""The app under a real server on a real socket."""

import asyncio
import json

import httpx2
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from api.conftest import SHARED_ADMIN_KEY
from tickwork.model.access import Scope

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def echo(shared_node, monkeypatch):
    """Instead of serving a worker, the gateway sends every message back, and ends when told."""

    async def attend(caller, socket):
        while (message := await socket.receive()) is not None:
            if message == b"explode":
                raise RuntimeError("the password is hunter2")
            if message == b"end":
                return
            await socket.send(caller.tenant.encode() + b":" + message)

    monkeypatch.setattr(shared_node.gateway, "attend", attend)


def dial(address, key):
    return connect(
        f"ws://{address}/v1/workers/connect",
        additional_headers={"authorization": f"Bearer {key}"} if key else {},
    )


@pytest.mark.parametrize("scope", [Scope.WORKER, Scope.ADMIN])
async def test_a_worker_talks_to_the_gateway(address, shared_keys, echo, scope):
    async with dial(address, shared_keys[scope]) as line:
        await line.send(b"hello")
        assert await line.recv() == b"default:hello"
        await line.send(b"end")
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd.code == 1000


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("nonsense", 401), (Scope.WRITE, 403)])
async def test_a_worker_without_the_right_key_is_told_why(address, shared_keys, key, status):
    with pytest.raises(InvalidStatus) as refused:
        await dial(address, shared_keys.get(key, key))
    response = refused.value.response
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert json.loads(response.body)["status"] == status


async def test_text_from_a_worker_ends_its_connection(address, shared_keys, echo):
    async with dial(address, shared_keys[Scope.WORKER]) as line:
        await line.send("hello")
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd.code == 1003


async def test_a_failure_of_the_gateway_is_logged_and_not_told(address, shared_keys, echo):
    with capture_logs() as logs:
        async with dial(address, shared_keys[Scope.WORKER]) as line:
            await line.send(b"explode")
            with pytest.raises(ConnectionClosed) as closed:
                await line.recv()
    assert closed.value.rcvd.code == 1011
    assert "hunter2" not in closed.value.rcvd.reason
    assert [entry["event"] for entry in logs] == ["worker connection failed"]


async def test_speaking_to_a_worker_that_has_left_is_a_connection_error(
    address, shared_node, shared_keys, monkeypatch
):
    ended = asyncio.get_running_loop().create_future()

    async def attend(_caller, line):
        assert await line.receive() is None
        assert await line.receive() is None
        try:
            await line.send(b"too late")
        except ConnectionError as error:
            ended.set_result(error)
            raise

    monkeypatch.setattr(shared_node.gateway, "attend", attend)
    with capture_logs() as logs:
        async with dial(address, shared_keys[Scope.WORKER]):
            pass
        assert await ended
    assert not logs


async def test_a_websocket_elsewhere_is_refused(address):
    with pytest.raises(InvalidStatus):
        await connect(f"ws://{address}/v1/jobs")


async def test_ten_megabytes_are_refused_with_a_clear_answer_and_the_server_goes_on(address):
    headers = {"authorization": f"Bearer {SHARED_ADMIN_KEY}", "content-type": "application/json"}
    async with httpx2.AsyncClient(base_url=f"http://{address}", headers=headers) as client:
        answer = await client.post("/v1/jobs", content=b" " * 10_000_000)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "the body may hold at most 1 MiB"
        assert (await client.post("/v1/jobs", json={"task": "report"})).status_code == 201


async def test_a_client_that_leaves_in_the_middle_of_its_body_disturbs_nobody(address):
    host, port = address.split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + SHARED_ADMIN_KEY.encode() + b"\r\n"
        b'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"task"'
    )
    await writer.drain()
    writer.close()
    with capture_logs() as logs:
        async with httpx2.AsyncClient(base_url=f"http://{address}") as client:
            assert (await client.get("/livez")).status_code == 200
    assert not logs
