"""How a worker reaches a server: what opens connections, and what a connection does."""

from typing import Protocol

from tickwork.model.worker_protocol import FromServer, FromWorker


class Connection(Protocol):
    """Sends and receives messages in order. Raises OSError when the connection is lost."""

    async def send(self, message: FromWorker, /) -> None: ...

    async def receive(self) -> FromServer: ...

    async def close(self) -> None: ...


class Link(Protocol):
    """Opens connections. Each call may connect to a different server."""

    async def connect(self) -> Connection: ...
