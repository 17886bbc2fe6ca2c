"""The way from a worker to a server."""

from typing import Protocol

from tickwork.model.protocol import FromServer, FromWorker


class Connection(Protocol):
    """Messages both ways, in order. OSError means that it is lost."""

    async def send(self, message: FromWorker, /) -> None: ...

    async def receive(self) -> FromServer: ...

    async def close(self) -> None: ...


class Link(Protocol):
    """Opens connections; each call may lead to another server."""

    async def connect(self) -> Connection: ...
