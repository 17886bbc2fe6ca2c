"""Connections: what a client may send before anybody has looked at it, and how long it may take."""

import asyncio
import json
import urllib.error
import urllib.request

import pytest

from api.conftest import SHARED_ADMIN_KEY
from tickwork.api import http_server_with_limits as connection
from tickwork.model.access import Scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = f"authorization: Bearer {SHARED_ADMIN_KEY}\r\n".encode()
JSON = b"content-type: application/json\r\n"
MEBIBYTE = 1024 * 1024


async def talk(address, *parts):
    """All that comes back for what is sent, until the server ends it."""
    reader, writer = await asyncio.open_connection(*address.split(":"))
    for part in parts:
        writer.write(part)
        await writer.drain()
    try:
        return await reader.read()
    finally:
        writer.close()


async def send_until_cut_off(address, *parts):
    """The first part once, then the last again and again."""
    _, writer = await asyncio.open_connection(*address.split(":"), limit=1)
    try:
        writer.write(parts[0])
        while True:
            writer.write(parts[-1])
            await writer.drain()
            await asyncio.sleep(0)
    except ConnectionError:
        return True
    finally:
        writer.close()


def status(answer):
    return int(answer.split()[1])


def problem(answer):
    return json.loads(answer.rpartition(b"\r\n\r\n")[2])


def get(*headers, version=b"1.1"):
    return b"GET /v1/jobs HTTP/" + version + b"\r\n" + b"".join(headers) + b"connection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "detail"),
    [
        ((ADMIN,), "send the header Host"),
        ((b"host: a\r\n", b"Host: b\r\n", ADMIN), "the header Host is sent twice"),
        ((b"host: a\r\n", b"HOST: a\r\n", ADMIN), "the header Host is sent twice"),
        ((b"host: a\r\n", ADMIN, ADMIN), "the header Authorization is sent twice"),
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_refused(address, headers, detail):
    answer = await talk(address, get(*headers))
    assert status(answer) == 400
    assert problem(answer)["type"] == "/docs/problems/broken-head"
    assert problem(answer)["detail"] == detail


async def test_http_1_0_needs_no_host(address):
    assert status(await talk(address, get(ADMIN, version=b"1.0"))) == 200


async def test_a_header_that_may_stand_there_often_does(address):
    answer = await talk(address, get(b"host: a\r\n", ADMIN, b"accept: text/plain\r\n", b"accept: */*\r\n"))
    assert status(answer) == 200


async def test_two_authorization_headers_open_no_worker_connection(address, shared_keys):
    head = (
        b"GET /v1/workers/connect HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    key = f"authorization: Bearer {shared_keys[Scope.WORKER]}\r\n".encode()
    answer = await talk(address, head + key * 2 + b"\r\n")
    assert status(answer) == 400


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET / HTTP/1.1\r\nhost: a\r\n" + b"a: b\r\n" * 101, id="many headers"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: a\r\na: " + b"b" * 70_000, id="a long header"),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: a\r\n" + (b"a: " + b"b" * 999 + b"\r\n") * 70, id="long headers"
        ),
        pytest.param(b"GET /?" + b"b" * 70_000, id="a long address"),
        pytest.param(b"\r\n" * 40_000, id="nothing but line ends"),
    ],
)
@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
async def test_a_head_has_its_limit(address, head, end):
    answer = await talk(address, head + end)
    assert status(answer) == 431
    assert problem(answer)["detail"] == "a request may have 100 headers, of 64 KiB in all"


async def test_a_head_of_60_kibibytes_is_fine(address):
    answer = await talk(address, get(b"host: a\r\n", ADMIN, *[b"a: " + b"b" * 1000 + b"\r\n"] * 60))
    assert status(answer) == 200


CHUNKED = b"POST /v1/jobs HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n" + ADMIN + JSON + b"\r\n"


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"f\r\n" + b'{"task": "work"}'[:15] + b"\r\n0\r\n" + b"a: b\r\n" * 101, id="trailers"),
        pytest.param(b"0\r\na: " + b"b" * 400_000, id="a long trailer"),
        pytest.param(b"2;" + b"a" * 400_000, id="a long chunk extension"),
    ],
)
async def test_what_surrounds_the_chunks_of_a_body_has_its_limit(address, rest):
    assert status(await talk(address, CHUNKED, rest)) == 431


async def test_a_body_in_many_small_chunks_is_fine(address):
    body = json.dumps({"task": "work", "payload": "x" * 20_000}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    last = b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    assert status(await talk(address, CHUNKED, chunks, b"0\r\n\r\n", last)) == 201


async def test_a_trailer_changes_nothing(address):
    head = CHUNKED.replace(ADMIN, b"trailer: authorization\r\nconnection: close\r\n")
    assert status(await talk(address, head, b"2\r\n{}\r\n0\r\n" + ADMIN + b"\r\n")) == 401


async def test_what_is_not_http_is_told_so(address):
    answer = await talk(address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    assert status(answer) == 400
    assert problem(answer)["type"] == "/docs/problems/broken-head"


async def test_a_client_that_floods_with_requests_before_it_reads_answers_is_cut_off(address):
    ask = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"
    assert await talk(address, ask * 1000) == b""
    answer = await talk(address, ask * 9 + ask.replace(b"host", b"connection: close\r\nhost"))
    assert answer.count(b"HTTP/1.1 200 OK") == 10


async def test_an_upgrade_to_what_is_not_spoken_here_is_passed_over(address):
    ask = b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n"
    answer = await talk(address, ask)
    assert status(answer) == 200
    assert b"connection: close" in answer


@pytest.mark.parametrize("key", [SHARED_ADMIN_KEY, "nonsense"], ids=["admin", "nonsense"])
@pytest.mark.parametrize(("path", "size"), [("jobs", 2), ("jobs", 50), ("jobs/batch", 40)])
async def test_a_client_that_sends_its_whole_body_first_sees_the_answer(address, path, size, key):
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(f"http://{address}/v1/{path}", bytes(size * MEBIBYTE), headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, request)
    with refused.value as answer:
        assert answer.code == json.load(answer)["status"] == (413 if key == SHARED_ADMIN_KEY else 401)


async def test_a_body_without_end_is_not_read_without_end(address, monkeypatch):
    monkeypatch.setattr(connection, "MAX_DISCARDED_BYTES", MEBIBYTE)
    head = b"POST /v1/jobs HTTP/1.1\r\nhost: a\r\ncontent-length: 9999999999\r\n" + ADMIN + JSON + b"\r\n"
    assert await send_until_cut_off(address, head, bytes(MEBIBYTE))


async def test_a_body_is_asked_for_only_when_it_will_be_read(address):
    head = b"POST /v1/jobs HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\n" + JSON
    answer = await talk(address, head + ADMIN + b"content-length: 2000000\r\n\r\n", b"x" * 2_000_000)
    assert status(answer) == 413
    answer = await talk(address, head + b"content-length: 20\r\n\r\n", b"x" * 20)
    assert status(answer) == 401
    answer = await talk(address, head + ADMIN + b'content-length: 16\r\n\r\n{"task": "work"}')
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 ")


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(b"GET /v1/jobs HTTP/1.1\r\nhost: ", id="head"),
        pytest.param(CHUNKED + b"5\r\n{", id="body in chunks"),
        pytest.param(CHUNKED.replace(b"transfer-encoding: chunked", b"content-length: 50") + b"{", id="body"),
    ],
)
async def test_a_request_that_does_not_come_in_time_is_told_so(serve, part, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 0.2)
    monkeypatch.setattr(connection, "BODY_TIMEOUT", 0.2)
    answer = await talk(await serve(), part)
    assert status(answer) == 408
    assert problem(answer)["detail"] == "the request did not come in time"


async def test_a_slow_client_that_goes_on_sending_does_not_get_more_time_for_its_head(serve, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 0.5)
    reader, writer = await asyncio.open_connection(*(await serve()).split(":"))
    writer.write(b"GET / HTTP/1.1\r\n")

    async def drip():
        while True:
            writer.write(b"a: b\r\n")
            await asyncio.sleep(0.05)

    dripping = asyncio.create_task(drip())
    assert status(await reader.read()) == 408
    dripping.cancel()
    writer.close()


async def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(serve, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 0.2)
    assert await talk(await serve()) == b""


async def test_an_idle_connection_makes_room_for_a_new_one(serve):
    address = await serve(max_connections=2)
    idle = [await asyncio.open_connection(*address.split(":")) for _ in range(2)]
    assert status(await talk(address, get(b"host: a\r\n", ADMIN))) == 200
    assert await idle[0][0].read() == b""
    for _, writer in idle:
        writer.close()


async def test_a_connection_at_work_makes_no_room(serve, shared_node, monkeypatch):
    working = asyncio.Event()
    go = asyncio.Event()

    async def slow(*_args):
        working.set()
        await go.wait()

    monkeypatch.setattr(shared_node.keys, "authenticate", slow)
    address = await serve(max_connections=1)
    first = asyncio.create_task(talk(address, get(b"host: a\r\n", ADMIN)))
    await working.wait()
    answer = await talk(address)
    assert status(answer) == 503
    assert problem(answer)["type"] == "/docs/problems/too-many-connections"
    assert b"retry-after: 2" in answer
    go.set()
    await first


async def test_a_client_that_does_not_read_its_answer_is_cut_off(serve, monkeypatch):
    monkeypatch.setattr(connection, "READ_TIMEOUT", 0.2)
    assert await send_until_cut_off(await serve(), b"GET /docs/docs.js HTTP/1.1\r\nhost: a\r\n\r\n")
