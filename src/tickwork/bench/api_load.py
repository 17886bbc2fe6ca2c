"""Sends requests to the API from a separate process, over connections that stay open, with a given number in flight.

Run as a program, it prints the answers as one line of JSON.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from tickwork.bench.bench_cluster import BenchCluster
from tickwork.bench.scenario_types import Curve, curve
from tickwork.model.errors import TickworkError

_END_OF_HEADERS = b"\r\n\r\n"
_LENGTH = b"content-length:"
_FIRST_ERROR = 400


class ApiRequest(msgspec.Struct, frozen=True):
    path: str
    body: str = ""  # JSON; without one it is a GET


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """All of the requests once, or repeated for `seconds`."""

    url: str
    key: str
    requests: list[ApiRequest]
    in_flight: int
    seconds: float | None = None


class Answers(msgspec.Struct, frozen=True):
    answered: int
    refused: int
    seconds: float
    latencies: list[float]  # seconds

    @property
    def rate(self) -> float:
        return self.answered / self.seconds

    def summary(self) -> dict[str, float]:
        milliseconds = self._percentiles()
        return {
            "per_second": round(self.rate),
            "p50_ms": milliseconds(0.5),
            "p99_ms": milliseconds(0.99),
            "max_ms": milliseconds(1.0),
            "answered": self.answered,
            "refused": self.refused,
        }

    def curve(self) -> Curve:
        return curve(self._percentiles())

    def _percentiles(self) -> Callable[[float], float]:
        ordered = sorted(self.latencies)
        return lambda share: _milliseconds(ordered, share)


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def send_load(load: Load) -> Answers:
    encoded = [_encode_request(load, request) for request in load.requests]
    ends = None if load.seconds is None else perf_counter() + load.seconds
    supply = iter(encoded) if load.seconds is None else _until(ends, encoded)
    connections = [await _connect(load.url) for _ in range(load.in_flight)]
    begun = perf_counter()
    kept = await asyncio.gather(*(_keep_sending(connection, supply) for connection in connections))
    lasted = perf_counter() - begun
    latencies = [seconds for found, _ in kept for seconds in found]
    refused = sum(bad for _, bad in kept)
    return Answers(len(latencies) - refused, refused, lasted, latencies)


def _until(ends: float | None, encoded: list[bytes]) -> Iterator[bytes]:
    for request in cycle(encoded):
        if ends is not None and perf_counter() >= ends:
            return
        yield request


def _encode_request(load: Load, request: ApiRequest) -> bytes:
    body = request.body.encode()
    head = (
        f"{'POST' if request.body else 'GET'} {request.path} HTTP/1.1\r\nhost: {urlsplit(load.url).netloc}\r\n"
        f"authorization: Bearer {load.key}\r\n"
    )
    if body:
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def _connect(url: str) -> _Connection:
    address = urlsplit(url)
    return _Connection(*await asyncio.open_connection(address.hostname, address.port, limit=64 * 1024 * 1024))


async def _keep_sending(connection: _Connection, supply: Iterator[bytes]) -> tuple[list[float], int]:
    latencies, refused = [], 0
    for request in supply:
        sent = perf_counter()
        connection.writer.write(request)
        await connection.writer.drain()
        refused += await _status(connection.reader) >= _FIRST_ERROR
        latencies.append(perf_counter() - sent)
    connection.writer.close()
    return latencies, refused


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(_END_OF_HEADERS)).lower()
    await reader.readexactly(int(head.partition(_LENGTH)[2].partition(b"\r\n")[0]))
    return int(head.split(None, 2)[1])


def _milliseconds(ordered: list[float], share: float) -> float:
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000, 2) if ordered else 0.0


def main(load: Path) -> None:
    import uvloop  # noqa: PLC0415 (only where it is run)

    answers = uvloop.run(send_load(msgspec.json.decode(load.read_bytes(), type=Load)))
    sys.stdout.buffer.write(msgspec.json.encode(answers) + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))


def post(path: str, bodies: Iterable[Any]) -> list[ApiRequest]:
    return [ApiRequest(path, msgspec.json.encode(body).decode()) for body in bodies]


async def send_from_process(
    cluster: BenchCluster, requests: list[ApiRequest], *, in_flight: int, seconds: float | None = None
) -> Answers:
    """Send these requests from a separate process."""
    url, key = cluster.address
    load = Load(url=url, key=key or "", requests=requests, in_flight=in_flight, seconds=seconds)
    file = cluster.folder / "load.json"
    file.write_bytes(msgspec.json.encode(load))
    sender = await cluster.start_program("tickwork.bench.api_load", str(file))
    out, messages = await sender.communicate()
    if sender.returncode:
        raise TickworkError(f"the process that sends requests failed:\n{messages.decode()}")
    return msgspec.json.decode(out, type=Answers)
