"""Requests that try to make a server take more than it should, over plain sockets.

By hand, against a server that runs:
`python tests/support/oversized_requests.py HOST:PORT KEY PID KEY_OF_ANOTHER_TENANT [NAME]`
tells how much the process PID grew and how long another caller waited meanwhile.
"""

import http.client
import multiprocessing
import re
import socket
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median

MEGABYTE = 1_000_000
Address = tuple[str, int]
_WS_KEY = b"dGhlIHNhbXBsZSBub25jZQ=="


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) * 1024


def peak(pid: int) -> int:
    """The most it ever had since `forget_peak`."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) * 1024


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def empty_jobs(size: int) -> bytes:
    return b"[" + b",".join([b"{}"] * (size // 3)) + b"]"


def nested_payload(size: int) -> bytes:
    one = b"[" * 30 + b"]" * 30
    return b'[{"task":"a","payload":[' + b",".join([one] * (size // 61)) + b"]}]"


def texts_of_brackets(size: int) -> bytes:
    """Brackets in texts are no brackets."""
    return b'[{"task":"a","payload":["' + b"{}" * (size // 2) + b'"]}]'


def post(address: Address, key: str, path: str, body: bytes, media: str = "application/json") -> int:
    """As urllib does: all of the body before anything of the answer."""
    connection = http.client.HTTPConnection(*address, timeout=120)
    headers = {"authorization": f"Bearer {key}", "content-type": media, "connection": "close"}
    connection.request("POST", path, body, headers)
    return connection.getresponse().status


def send_all(line: socket.socket, parts: Iterator[bytes]) -> bytes:
    """What came back, when all was sent or the server had enough."""
    with suppress(OSError):
        for part in parts:
            line.sendall(part)
    answer = b""
    with suppress(OSError):
        while part := line.recv(65536):
            answer += part
    return answer


def headers(size: int) -> Iterator[bytes]:
    yield b"GET /v1/jobs HTTP/1.1\r\nhost: x\r\n"
    header = b"x-flood: " + b"y" * 8000 + b"\r\n"
    for _ in range(size // len(header)):
        yield header


def one_header(size: int) -> Iterator[bytes]:
    yield b"GET /v1/jobs HTTP/1.1\r\nhost: x\r\nx-flood: "
    for _ in range(size // 8000):
        yield b"y" * 8000


def trailers(key: str, size: int) -> Iterator[bytes]:
    yield (
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\nauthorization: Bearer %b\r\n\r\n2\r\n{}\r\n0\r\n"
    ) % key.encode()
    for _ in range(size // 8000):
        yield b"x-flood: " + b"y" * 7990 + b"\r\n"


def chunk_extension(key: str, size: int) -> Iterator[bytes]:
    yield (
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\nauthorization: Bearer %b\r\n\r\n2;"
    ) % key.encode()
    for _ in range(size // 8000):
        yield b"y" * 8000


def websocket(address: Address, key: str, offer: bytes = b"permessage-deflate") -> socket.socket:
    line = socket.create_connection(address, timeout=60)
    line.sendall(
        b"GET /v1/workers/connect HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: %b\r\nsec-websocket-extensions: %b\r\n"
        b"authorization: Bearer %b\r\n\r\n" % (_WS_KEY, offer, key.encode())
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += line.recv(4096)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    return line


def frame(payload: bytes, first: int = 0x82) -> bytes:
    """Masked with zeros, which changes nothing."""
    size = len(payload)
    length = struct.pack("!BH", 0xFE, size) if size < 2**16 else struct.pack("!BQ", 0xFF, size)
    return bytes([first]) + (bytes([0x80 | size]) if size < 126 else length) + b"\0\0\0\0" + payload


def compressed_frame(size: int) -> bytes:
    packer = zlib.compressobj(wbits=-12)
    packed = packer.compress(bytes(size)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return frame(packed[:-4], 0xC2)


def _attacks(address: Address, key: str) -> dict[str, Callable[[], object]]:
    def connected(parts: Iterator[bytes]) -> bytes:
        with socket.create_connection(address, timeout=60) as line:
            return send_all(line, parts)[:40]

    def in_websocket(*parts: bytes) -> bytes:
        with websocket(address, key) as line:
            return send_all(line, iter(parts))[:40]

    empty, nested, texts = (
        empty_jobs(30 * MEGABYTE),
        nested_payload(31 * MEGABYTE),
        texts_of_brackets(31 * MEGABYTE),
    )
    packed, plain = compressed_frame(250 * MEGABYTE), frame(bytes(250 * MEGABYTE))
    return {
        "30 MB of {}": lambda: post(address, key, "/v1/jobs/batch", empty),
        "31 MB nested": lambda: post(address, key, "/v1/jobs/batch", nested),
        "31 MB of brackets in a text": lambda: post(address, key, "/v1/jobs/batch", texts),
        "300 MB of headers": lambda: connected(headers(300 * MEGABYTE)),
        "one header of 300 MB": lambda: connected(one_header(300 * MEGABYTE)),
        "300 MB of trailers": lambda: connected(trailers(key, 300 * MEGABYTE)),
        "a chunk extension of 300 MB": lambda: connected(chunk_extension(key, 300 * MEGABYTE)),
        "250 MB in a compressed frame": lambda: in_websocket(packed),
        "250 MB in a plain frame": lambda: in_websocket(plain),
    }


def _probe(address: Address, key: str, done: Callable[[], bool]) -> list[float]:
    """Seconds that each GET /v1/jobs of another caller took."""
    took = []
    line = http.client.HTTPConnection(*address, timeout=120)
    while not done():
        began = time.perf_counter()
        line.request("GET", "/v1/jobs", headers={"authorization": f"Bearer {key}"})
        line.getresponse().read()
        took.append(time.perf_counter() - began)
        time.sleep(0.002)
    return took


def _attack(address: Address, key: str, name: str, ready: Event, go: Event) -> None:
    act = _attacks(address, key)[name]
    ready.set()
    go.wait()
    try:
        print(f"  {name}: {act()!r}")  # noqa: T201
    except OSError as error:
        print(f"  {name}: {error!r}")  # noqa: T201


def _has_ended(process: multiprocessing.Process) -> bool:
    return not process.is_alive()


def main(place: str, key: str, pid: str, other_key: str, wanted: str = "") -> None:
    host, _, port = place.partition(":")
    address, process = (host, int(port)), int(pid)
    names = list(_attacks(address, key))
    for name in [name for name in names if wanted in name]:
        ready, go = multiprocessing.Event(), multiprocessing.Event()
        attacker = multiprocessing.Process(target=_attack, args=(address, key, name, ready, go))
        attacker.start()
        ready.wait()
        forget_peak(process)
        before = resident(process)
        go.set()
        began = time.perf_counter()
        took = _probe(address, other_key, partial(_has_ended, attacker))
        lasted, grown = time.perf_counter() - began, peak(process) - before
        print(  # noqa: T201
            f"{name:30} {lasted:6.1f} s  grown by {grown / MEGABYTE:6.0f} MB  others: {len(took)} requests, "
            f"p50 {median(took) * 1000:.1f} ms, max {max(took) * 1000:.1f} ms", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
