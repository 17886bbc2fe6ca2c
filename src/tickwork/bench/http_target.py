"""A target for HTTP jobs that does next to nothing: it counts the payload's number and answers 200."""

import asyncio
import os
import sys
from pathlib import Path
from typing import cast

from tickwork.bench.run_ledger import LEDGER_FOLDER, Ledger

_END_OF_HEADERS = b"\r\n\r\n"
_LENGTH = b"content-length:"
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Target(asyncio.Protocol):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (request := self._next_body()) is not None:
            self._ledger.count(_number(request))
            self._transport.write(_ANSWER)

    def _next_body(self) -> bytes | None:
        end = self._received.find(_END_OF_HEADERS)
        if end < 0:
            return None
        body = end + len(_END_OF_HEADERS)
        whole = body + _length(self._received[:end].lower())
        if len(self._received) < whole:
            return None
        found, self._received = self._received[body:whole], self._received[whole:]
        return found


def _length(headers: bytes) -> int:
    _, _, rest = headers.partition(_LENGTH)
    return int(rest.partition(b"\r\n")[0])


def _number(body: bytes) -> int:
    """The number in {"n":5}, faster than with a JSON parser."""
    return int(body.rpartition(b":")[2].rstrip(b" }"))


async def serve() -> None:
    ledger = Ledger.create(Path(os.environ[LEDGER_FOLDER]))
    server = await asyncio.get_running_loop().create_server(lambda: Target(ledger), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sys.stderr.write(f"the target answers on http://127.0.0.1:{port}/\n")
    sys.stderr.flush()
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve())
