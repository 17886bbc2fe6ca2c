"""An HTTP server that misbehaves in the way that the path names. Run as a program, it prints its port."""

import asyncio
import gzip
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from email.utils import formatdate
from itertools import repeat

TLS = b"\x16"  # how a handshake begins
HEAD = b"HTTP/1.1 200 OK\r\n"
GIGABYTE = 1_000_000_000

Send = Callable[[bytes], Awaitable[None]]
Behavior = Callable[[Send, asyncio.StreamWriter], Awaitable[None]]


def answering(*pieces: bytes) -> Behavior:
    async def answer(send: Send, _: asyncio.StreamWriter) -> None:
        for piece in pieces:
            await send(piece)

    return answer


def falling_silent_after(start: bytes) -> Behavior:
    async def answer(send: Send, _: asyncio.StreamWriter) -> None:
        await send(start)
        await asyncio.Event().wait()

    return answer


def repeating(start: bytes, pieces: Callable[[], Iterator[bytes]], pause: float = 0.0) -> Behavior:
    async def answer(send: Send, _: asyncio.StreamWriter) -> None:
        await send(start)
        for piece in pieces():
            await send(piece)
            await asyncio.sleep(pause)

    return answer


async def reset(_: Send, writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    writer.transport.abort()


async def close_half_way(send: Send, writer: asyncio.StreamWriter) -> None:
    await send(HEAD + b"content-length: 9\r\n\r\nhalf")
    writer.close()


async def die(send: Send, _: asyncio.StreamWriter) -> None:
    await send(HEAD + b"content-length: 9\r\n\r\nha")
    os._exit(1)


async def send_bomb(send: Send, _: asyncio.StreamWriter) -> None:
    await send(_whole(HEAD + b"content-encoding: gzip\r\n", gzip.compress(bytes(200 * 1024 * 1024), 1)))


def _whole(head: bytes, body: bytes = b"") -> bytes:
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


BEHAVIORS: dict[str, Behavior] = {
    "good": answering(_whole(HEAD, b"fine")),
    "silence": falling_silent_after(b""),
    "silence-in-headers": falling_silent_after(HEAD + b"a: b\r\n"),
    "silence-in-body": falling_silent_after(HEAD + b"content-length: 9\r\n\r\nhalf"),
    "drip": repeating(HEAD + b"content-length: 9999\r\n\r\n", lambda: repeat(b"x"), pause=1.0),
    "ten-gigabytes": repeating(
        HEAD + b"content-length: %d\r\n\r\n" % (10 * GIGABYTE), lambda: repeat(b"x" * 65536, 10 * GIGABYTE // 65536)
    ),
    "bomb": send_bomb,
    "headers": repeating(HEAD, lambda: repeat(b"a: b\r\n" * 1000, 100)),
    "hints": repeating(b"", lambda: repeat(b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * 100)),
    "chunk": repeating(HEAD + b"transfer-encoding: chunked\r\n\r\n1;", lambda: repeat(b"a" * 65536)),
    "trailers": repeating(
        HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", lambda: repeat(b"a: b\r\n" * 1000)
    ),
    "loop": answering(_whole(b"HTTP/1.1 302 Found\r\nlocation: /loop\r\n")),
    "busy": answering(_whole(b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 120\r\n")),
    "busy-until": answering(
        _whole(b"HTTP/1.1 429 Too Many Requests\r\nretry-after: %s\r\n" % formatdate(2e9, usegmt=True).encode())
    ),
    "reset": reset,
    "half": close_half_way,
    "death": die,
}  # fmt: skip


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def send(piece: bytes) -> None:
        writer.write(piece)
        await writer.drain()

    with suppress(ConnectionError, asyncio.IncompleteReadError):
        first = await reader.readexactly(1)
        if first == TLS:
            await send(_whole(b"HTTP/1.1 400 Bad Request\r\n"))
            writer.close()
            return
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0))
            await BEHAVIORS[head.split()[1].strip("/")](send, writer)
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
