"""Sends requests to the API from a separate process, over connections that stay open, with a given number in flight.

Run as a program it prints what happened as one line of JSON.
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

from tickwork.bench.bench_cluster import Stage
from tickwork.bench.result import Curve, curve
from tickwork.model.errors import TickworkError

_END_OF_HEADERS = b"\r\n\r\n"
_LENGTH = b"content-length:"
_FIRST_BAD = 400


class Ask(msgspec.Struct, frozen=True):
    path: str
    body: str = ""  # JSON; without one it is a GET


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """All of the requests once, or again and again for so many seconds."""

    url: str
    key: str
    asks: list[Ask]
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


async def run_errand(errand: Errand) -> Answers:
    wires = [_wire(errand, ask) for ask in errand.asks]
    ends = None if errand.seconds is None else perf_counter() + errand.seconds
    supply = iter(wires) if errand.seconds is None else _until(ends, wires)
    connections = [await _connect(errand.url) for _ in range(errand.in_flight)]
    begun = perf_counter()
    kept = await asyncio.gather(*(_keep_asking(connection, supply) for connection in connections))
    lasted = perf_counter() - begun
    latencies = [seconds for found, _ in kept for seconds in found]
    refused = sum(bad for _, bad in kept)
    return Answers(len(latencies) - refused, refused, lasted, latencies)


def _until(ends: float | None, wires: list[bytes]) -> Iterator[bytes]:
    for wire in cycle(wires):
        if ends is not None and perf_counter() >= ends:
            return
        yield wire


def _wire(errand: Errand, ask: Ask) -> bytes:
    body = ask.body.encode()
    head = (
        f"{'POST' if ask.body else 'GET'} {ask.path} HTTP/1.1\r\nhost: {urlsplit(errand.url).netloc}\r\n"
        f"authorization: Bearer {errand.key}\r\n"
    )
    if body:
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def _connect(url: str) -> _Connection:
    address = urlsplit(url)
    return _Connection(*await asyncio.open_connection(address.hostname, address.port, limit=64 * 1024 * 1024))


async def _keep_asking(connection: _Connection, supply: Iterator[bytes]) -> tuple[list[float], int]:
    latencies, refused = [], 0
    for wire in supply:
        sent = perf_counter()
        connection.writer.write(wire)
        await connection.writer.drain()
        refused += await _status(connection.reader) >= _FIRST_BAD
        latencies.append(perf_counter() - sent)
    connection.writer.close()
    return latencies, refused


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(_END_OF_HEADERS)).lower()
    await reader.readexactly(int(head.partition(_LENGTH)[2].partition(b"\r\n")[0]))
    return int(head.split(None, 2)[1])


def _milliseconds(ordered: list[float], share: float) -> float:
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000, 2) if ordered else 0.0


def main(errand: Path) -> None:
    import uvloop  # noqa: PLC0415 (only where it is run)

    answers = uvloop.run(run_errand(msgspec.json.decode(errand.read_bytes(), type=Errand)))
    sys.stdout.buffer.write(msgspec.json.encode(answers) + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))


def post(path: str, bodies: Iterable[Any]) -> list[Ask]:
    return [Ask(path, msgspec.json.encode(body).decode()) for body in bodies]


async def ask(on: Stage, asks: list[Ask], *, in_flight: int, seconds: float | None = None) -> Answers:
    """What a process of its own found out by sending these."""
    url, key = on.address
    errand = Errand(url=url, key=key or "", asks=asks, in_flight=in_flight, seconds=seconds)
    file = on.folder / "errand.json"
    file.write_bytes(msgspec.json.encode(errand))
    caller = await on.start_program("tickwork.bench.api_load", str(file))
    out, messages = await caller.communicate()
    if caller.returncode:
        raise TickworkError(f"the caller failed:\n{messages.decode()}")
    return msgspec.json.decode(out, type=Answers)
