"""A worker in a process of its own, for as long as this one lives."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tickwork.cli.loop import Stop
from tickwork.cli.output import say
from tickwork.client.address import Address
from tickwork.client.asynchronous import AsyncClient
from tickwork.model.errors import TickworkError

_PAUSE = 0.05  # seconds between looks whether it is connected
_REST = 2.0  # seconds before another takes the place of one that died


@asynccontextmanager
async def child_worker(app: str, address: Address) -> AsyncIterator["ChildWorker"]:
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
        """It has a session of its own, so that Ctrl-C reaches it through us alone, and its standard input tells
        it when we are gone, however we went."""
        words = ("worker", "run", self._app, "--name", self._name, "--until-stdin-ends")
        self._process = await create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *words),
            env={**os.environ, "TICKWORK_URL": self._address.url, "TICKWORK_API_KEY": self._address.key},
            stdin=PIPE,
            start_new_session=True,
        )
        self._ended = asyncio.ensure_future(self._process.wait())

    async def until_connected(self, stop: Stop) -> None:
        """Until its tasks can be given work, or nobody waits for that any more."""
        async with AsyncClient(*self._address) as client:
            while not (stop.asked.is_set() or await self._is_connected(client)):
                if self._ended.done():
                    raise TickworkError(f"the worker ended by itself, with {self._how_it_ended()}")
                await asyncio.sleep(_PAUSE)

    async def until(self, stop: Stop) -> None:
        """Until told to stop; what it runs is finished first, unless told twice."""
        await self._keep_one(stop)
        if not self._ended.done():
            say("the worker finishes what it runs; Ctrl-C again breaks it off")
            self._process.terminate()
            await self._until_ended_or(stop.at_once)

    async def kill(self) -> None:
        if not self._ended.done():
            self._process.kill()
            await self._ended

    async def _keep_one(self, stop: Stop) -> None:
        await self._until_ended_or(stop.asked)
        while not stop.asked.is_set():
            say(f"the worker ended by itself, with {self._how_it_ended()}; another takes its place")
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.asked.wait(), _REST)
                return
            await self.start()
            await self._until_ended_or(stop.asked)

    def _how_it_ended(self) -> str:
        code = self._ended.result()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    async def _is_connected(self, client: AsyncClient) -> bool:
        return any(worker.name == self._name for worker in (await client.list_workers()).items)

    async def _until_ended_or(self, event: asyncio.Event) -> None:
        happened = asyncio.ensure_future(event.wait())
        await asyncio.wait((self._ended, happened), return_when=asyncio.FIRST_COMPLETED)
        happened.cancel()
