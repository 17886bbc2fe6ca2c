"""A server on loopback that answers in any way, also in hostile ones, and keeps count of what it saw."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple


class Request(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class Target:
    def __init__(self, answer: Answer) -> None:
        self.connections = 0
        self.requests: list[Request] = []
        self.open_now = 0
        self.most_open = 0
        self.port = 0
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, path: str = "/", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    self.requests.append(await _read_request(reader))
                    await self._answer(self.requests[-1], writer)
        finally:
            self.open_now -= 1
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def target(
    answer: Answer, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Target]:
    served = Target(answer)
    server = await asyncio.start_server(served.serve, host, port, ssl=tls)
    served.port = server.sockets[0].getsockname()[1]
    async with server:
        yield served
        await served.stop()


@asynccontextmanager
async def canary() -> AsyncIterator[Target]:
    """Listens on every address of this machine, so that no way in goes unseen."""
    served = Target(respond())
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    listener = socket.create_server(("", 0), family=family, dualstack_ipv6=dual)
    served.port = listener.getsockname()[1]
    async with await asyncio.start_server(served.serve, sock=listener):
        yield served
        await served.stop()


def respond(status: str = "200 OK", body: bytes = b"", **headers: str) -> Answer:
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\n{fields}content-length: {len(body)}\r\n\r\n"

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + body)
        await writer.drain()

    return answer


async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def endless(start: bytes, piece: bytes, *, pause: float = 0.0, counted: list[int] | None = None) -> Answer:
    """Sends the start, then the piece again and again, for as long as somebody takes it."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()
            if counted is not None:
                counted.append(len(piece))
            await asyncio.sleep(pause)

    return answer


async def reset(request: Request, writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # close with RST
    writer.transport.abort()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().removesuffix("\r\n\r\n")
    line, *fields = head.split("\r\n")
    headers = dict(field.lower().split(": ", 1)[:1] + field.split(": ", 1)[1:] for field in fields)
    return Request(line, headers, await reader.readexactly(int(headers.get("content-length", 0))))
