"""Runs a node and its API in a thread of the test, and lets an App find them.

They have their own event loop, so that blocking and async tests and the ordinary clients can use them alike.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import datetime

from tickwork.api.asgi_app import build_app
from tickwork.api.http_server_with_limits import HttpServer
from tickwork.client.async_client import AsyncClient
from tickwork.client.sync_client import Client
from tickwork.model.errors import Invalid
from tickwork.sdk.app import App
from tickwork.testing.assertions import Assertions
from tickwork.testing.loop_thread import LoopThread
from tickwork.testing.manual_node import ManualNode


class _Served:
    """The node and its API, on the loop of the server's thread."""

    def __init__(self, database_url: str, app: App, start_at: datetime | None) -> None:
        self._stack = AsyncExitStack()
        self.node = ManualNode(database_url, app, start_at)
        self.url = ""
        self.assertions: Assertions

    async def start(self) -> None:
        async with AsyncExitStack() as opening:
            await self.node.start()
            opening.push_async_callback(self.node.stop)
            await self._answer_requests(opening)
            client = await opening.enter_async_context(AsyncClient(self.url, self.node.key))
            self.assertions = Assertions(client)
            self._stack = opening.pop_all()

    async def stop(self) -> None:
        await self._stack.aclose()

    async def _answer_requests(self, opening: AsyncExitStack) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        web = HttpServer(build_app(self.node.node))
        serving = asyncio.create_task(web.serve(sockets=[listener]))
        await web.ready.wait()

        async def end() -> None:
            self.node.node.end_streams()
            web.should_exit = True
            await serving

        opening.push_async_callback(end)


class Server:
    """What ManualServer and AsyncManualServer share: start, stop, and how the App finds them."""

    def __init__(self, database_url: str, app: App, *, start_at: datetime | None = None) -> None:
        """`app`: the worker runs its tasks. `start_at`: the time at which the test begins, now by default."""
        if not isinstance(app, App):
            raise Invalid.field("app", f"{app!r} is not an App", "give the App whose tasks the test runs")
        if start_at is not None and start_at.tzinfo is None:
            raise Invalid.field("start_at", "has no time zone", "such as datetime(2026, 1, 1, tzinfo=UTC)")
        self.app = app
        self.client: Client
        self.async_client: AsyncClient
        self.served = _Served(database_url, app, start_at)
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """The URL of the API, for other clients."""
        return self.served.url

    @property
    def api_key(self) -> str:
        """An admin key."""
        return self.served.node.key

    def start(self) -> None:
        """Open the database and answer requests. Entering the context does the same."""
        with ExitStack() as opening:
            self.thread = LoopThread()
            opening.callback(self.thread.close)
            self.thread.submit(self.served.start()).result()
            opening.callback(lambda: self.thread.submit(self.served.stop()).result())
            self.client = opening.enter_context(Client(self.url, self.api_key))
            self.async_client = AsyncClient(self.url, self.api_key)
            opening.enter_context(_found_by(self.app, self))
            self._stack = opening.pop_all()

    def stop(self) -> None:
        """Abort what runs, and give the App its previous clients back."""
        self._stack.close()


@contextmanager
def _found_by(app: App, server: Server) -> Iterator[None]:
    """The App, and clients without arguments, use this server until the block ends."""
    clients = vars(app._clients)  # noqa: SLF001 (an App has no public way to change its clients)
    before, environment = dict(clients), dict(os.environ)
    clients.update(client=server.client, async_client=server.async_client)
    os.environ.update(TICKWORK_URL=server.url, TICKWORK_API_KEY=server.api_key)
    try:
        yield
    finally:
        clients.clear()
        clients.update(before)
        for name in ("TICKWORK_URL", "TICKWORK_API_KEY"):
            os.environ.pop(name)
            os.environ.update({name: environment[name]} if name in environment else {})
