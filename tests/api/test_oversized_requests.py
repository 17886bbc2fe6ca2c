"""Attacks on the memory of a server process. What it may grow by is a fifth of what they send."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from support import oversized_requests
from support.cluster import KEY, Cluster
from support.oversized_requests import MEGABYTE, Address
from tickwork.testing import TemporaryPostgres

MOST_GROWTH = 60 * MEGABYTE


class Server:
    def __init__(self, cluster: Cluster) -> None:
        self.pid = cluster.servers[0].pid
        host, _, port = cluster.urls[0].removeprefix("http://").partition(":")
        self.address: Address = (host, int(port))

    def growth_by(self, attack) -> tuple[Any, int]:
        """What the attack was answered, and how much memory the server took for it at the most."""
        oversized_requests.forget_peak(self.pid)
        before = oversized_requests.resident(self.pid)
        answer = attack()
        return answer, oversized_requests.peak(self.pid) - before

    def sent(self, parts: Iterator[bytes]) -> bytes:
        with socket.create_connection(self.address, timeout=60) as line:
            return oversized_requests.send_all(line, parts)

    def sent_as_worker(self, *parts: bytes) -> bytes:
        with oversized_requests.websocket(self.address, KEY) as line:
            return oversized_requests.send_all(line, iter(parts))


@pytest.fixture(scope="module")
def server(postgres: TemporaryPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    url = asyncio.run(postgres.create_database())
    process = Cluster(url, tmp_path_factory.mktemp("flood"))
    try:
        asyncio.run(process.start(servers=1, workers=0))
        yield Server(process)
    finally:
        process.clean_up()
        asyncio.run(postgres.drop_database(url))


@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(oversized_requests.empty_jobs(30 * MEGABYTE), id="empty jobs"),
        pytest.param(oversized_requests.empty_jobs(MEGABYTE), id="a few empty jobs"),
        pytest.param(oversized_requests.nested_payload(31 * MEGABYTE), id="nested"),
        pytest.param(oversized_requests.texts_of_brackets(31 * MEGABYTE), id="brackets in texts"),
        pytest.param(b"[" * 31 * MEGABYTE, id="deep"),
        pytest.param(b'["' + b"\\\\" * 15 * MEGABYTE + b'"]', id="escapes"),
        pytest.param(b"{}\n" * 10 * MEGABYTE, id="empty lines of JSON"),
        pytest.param(b"\n" * 31 * MEGABYTE, id="blank lines"),
    ],
)
def test_a_batch_is_bounded_before_anything_is_made_of_it(server: Server, body: bytes, media: str) -> None:
    status, growth = server.growth_by(
        lambda: oversized_requests.post(server.address, KEY, "/v1/jobs/batch", body, media)
    )
    assert status in (400, 413, 422)
    assert growth < MOST_GROWTH


def test_a_single_body_is_bounded_too(server: Server) -> None:
    body = b'{"task":"a","payload":[' + b",".join([b"[]"] * 300_000) + b"]}"
    status, growth = server.growth_by(lambda: oversized_requests.post(server.address, KEY, "/v1/jobs", body))
    assert status == 413
    assert growth < 10 * MEGABYTE


@pytest.mark.parametrize("parts", [oversized_requests.headers, oversized_requests.one_header])
def test_headers_of_a_client_without_a_key_are_not_kept(server: Server, parts) -> None:
    answer, growth = server.growth_by(lambda: server.sent(parts(300 * MEGABYTE)))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert growth < 10 * MEGABYTE


@pytest.mark.parametrize("parts", [oversized_requests.trailers, oversized_requests.chunk_extension])
def test_what_surrounds_a_chunked_body_is_not_kept(server: Server, parts) -> None:
    answer, growth = server.growth_by(lambda: server.sent(parts(KEY, 300 * MEGABYTE)))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert growth < 10 * MEGABYTE


def test_a_message_of_a_worker_is_not_unpacked(server: Server) -> None:
    packed = oversized_requests.compressed_frame(250 * MEGABYTE)
    answer, growth = server.growth_by(lambda: server.sent_as_worker(packed))
    assert b"\x03\xea" in answer[:10]  # 1002: protocol error
    assert growth < 10 * MEGABYTE


def test_a_message_of_a_worker_has_its_limit(server: Server) -> None:
    large = oversized_requests.frame(bytes(100 * MEGABYTE))
    answer, growth = server.growth_by(lambda: server.sent_as_worker(large))
    assert b"\x03\xf1" in answer[:10]  # 1009: too big
    assert growth < 10 * MEGABYTE


def test_a_message_in_pieces_has_the_same_limit(server: Server) -> None:
    piece = bytes(MEGABYTE)
    pieces = [oversized_requests.frame(piece, 0x02), *[oversized_requests.frame(piece, 0x00)] * 20]
    answer, growth = server.growth_by(lambda: server.sent_as_worker(*pieces))
    assert b"\x03\xf1" in answer[:10]
    assert growth < 40 * MEGABYTE


def test_a_message_of_empty_pieces_is_not_collected(server: Server) -> None:
    pieces = [oversized_requests.frame(b"", 0x02), *[oversized_requests.frame(b"", 0x00) * 100_000] * 50]
    answer, growth = server.growth_by(lambda: server.sent_as_worker(*pieces))
    assert answer == b""
    assert growth < 20 * MEGABYTE


def test_pongs_are_not_kept_for_a_client_that_does_not_read(server: Server) -> None:
    pings = oversized_requests.frame(bytes(125), 0x89) * 8_000

    def attack() -> bool:
        """Whether it was cut off."""
        with oversized_requests.websocket(server.address, KEY) as line:
            try:
                for _ in range(200):
                    line.sendall(pings)
            except OSError:
                return True
            return False

    cut_off, growth = server.growth_by(attack)
    assert cut_off
    assert growth < 30 * MEGABYTE
