"""The worker that `tickwork up` runs as a child process."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import Address
from tickwork.model.errors import TickworkError

_CONNECTION_POLL = 0.05  # seconds
_RESTART_DELAY = 2.0  # seconds before a worker that ended is replaced


@asynccontextmanager
async def running_child_worker(app: str, address: Address) -> AsyncIterator["ChildWorker"]:
    worker = ChildWorker(app, address)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.kill()


class ChildWorker:
    def __init__(self, app: str, address: Address) -> None:
        self._app = app
        self._address = address
        self._name = f"{socket.gethostname()}-{os.getpid()}"
        self._process: Process
        self._ended: asyncio.Future[int]

    async def start(self) -> None:
        """The child has its own session, so that Ctrl-C reaches it only through us. It stops when its standard input
        ends, however this process died."""
        arguments = ("worker", "run", self._app, "--name", self._name, "--until-stdin-ends")
        self._process = await create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *arguments),
            env={**os.environ, "TICKWORK_URL": self._address.url, "TICKWORK_API_KEY": self._address.key},
            stdin=PIPE,
            start_new_session=True,
        )
        self._ended = asyncio.ensure_future(self._process.wait())

    async def wait_until_connected(self, stop: StopRequest) -> None:
        """Wait until the worker is connected or a stop is requested."""
        async with AsyncClient(*self._address) as client:
            while not (stop.received.is_set() or await self._is_connected(client)):
                if self._ended.done():
                    raise TickworkError(f"the worker ended by itself, with {self._exit_status()}")
                await asyncio.sleep(_CONNECTION_POLL)

    async def run_until_stopped(self, stop: StopRequest) -> None:
        """Restart the worker until a stop is requested. A second request stops its running attempts, too."""
        await self._restart_until_stopped(stop)
        if not self._ended.done():
            say("the worker finishes its attempts; Ctrl-C again stops it at once")
            self._process.terminate()
            await self._until_ended_or(stop.immediate)

    async def kill(self) -> None:
        if not self._ended.done():
            self._process.kill()
            await self._ended

    async def _restart_until_stopped(self, stop: StopRequest) -> None:
        await self._until_ended_or(stop.received)
        while not stop.received.is_set():
            say(f"the worker ended by itself, with {self._exit_status()}; starting another")
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.received.wait(), _RESTART_DELAY)
                return
            await self.start()
            await self._until_ended_or(stop.received)

    def _exit_status(self) -> str:
        code = self._ended.result()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    async def _is_connected(self, client: AsyncClient) -> bool:
        return any(worker.name == self._name for worker in (await client.list_workers()).items)

    async def _until_ended_or(self, event: asyncio.Event) -> None:
        event_set = asyncio.ensure_future(event.wait())
        await asyncio.wait((self._ended, event_set), return_when=asyncio.FIRST_COMPLETED)
        event_set.cancel()
