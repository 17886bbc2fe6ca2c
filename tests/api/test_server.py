"""The app under a real server on a real socket."""

import asyncio
import json

import httpx2
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus


def dial(address, key):
    return connect(
        f"ws://{address}/v1/workers/connect",
        additional_headers={"authorization": f"Bearer {key}"} if key else {},
    )


@pytest.mark.parametrize("key", ["worker", "admin"])
async def test_a_worker_talks_to_the_gateway(address, key):
    async with dial(address, key) as line:
        await line.send(b"hello")
        assert await line.recv() == b"default:hello"
        await line.send(b"end")
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd.code == 1000


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("nonsense", 401), ("write", 403)])
async def test_a_worker_without_the_right_key_is_told_why(address, key, status):
    with pytest.raises(InvalidStatus) as refused:
        await dial(address, key)
    response = refused.value.response
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert json.loads(response.body)["status"] == status


async def test_text_from_a_worker_ends_its_connection(address):
    async with dial(address, "worker") as line:
        await line.send("hello")
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd.code == 1003


async def test_a_failure_of_the_gateway_is_logged_and_not_told(address):
    with capture_logs() as logs:
        async with dial(address, "worker") as line:
            await line.send(b"explode")
            with pytest.raises(ConnectionClosed) as closed:
                await line.recv()
    assert closed.value.rcvd.code == 1011
    assert "hunter2" not in closed.value.rcvd.reason
    assert [entry["event"] for entry in logs] == ["worker connection failed"]


async def test_speaking_to_a_worker_that_has_left_is_a_connection_error(address, node):
    ended = asyncio.get_running_loop().create_future()

    class LateGateway:
        async def attend(self, _caller, line):
            assert await line.receive() is None
            assert await line.receive() is None
            try:
                await line.send(b"too late")
            except ConnectionError as error:
                ended.set_result(error)
                raise

    node.gateway = LateGateway()
    with capture_logs() as logs:
        async with dial(address, "worker"):
            pass
        assert await ended
    assert not logs


async def test_a_websocket_elsewhere_is_refused(address):
    with pytest.raises(InvalidStatus):
        await connect(f"ws://{address}/v1/jobs")


async def test_ten_megabytes_are_refused_with_a_clear_answer_and_the_server_goes_on(address):
    headers = {"authorization": "Bearer admin", "content-type": "application/json"}
    async with httpx2.AsyncClient(base_url=f"http://{address}", headers=headers) as client:
        answer = await client.post("/v1/jobs", content=b" " * 10_000_000)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "the body may hold at most 1 MiB"
        assert (await client.post("/v1/jobs", json={"task": "report"})).status_code == 201


async def test_a_client_that_leaves_in_the_middle_of_its_body_disturbs_nobody(address):
    host, port = address.split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer admin\r\n"
        b'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"task"'
    )
    await writer.drain()
    writer.close()
    with capture_logs() as logs:
        async with httpx2.AsyncClient(base_url=f"http://{address}") as client:
            assert (await client.get("/livez")).status_code == 200
    assert not logs
