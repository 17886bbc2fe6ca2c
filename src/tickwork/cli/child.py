"""A worker in a process of its own, for as long as this one lives."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tickwork.cli.loop import Stop
from tickwork.cli.output import say
from tickwork.client.address import Address
from tickwork.client.asynchronous import AsyncClient
from tickwork.model.errors import TickworkError

_PAUSE = 0.05  # seconds between looks whether it is connected


@asynccontextmanager
async def child_worker(app: str, address: Address) -> AsyncIterator["ChildWorker"]:
    """It has a session of its own, so that Ctrl-C reaches it through us alone, and its standard input tells
    it when we are gone, however we went."""
    name = f"{socket.gethostname()}-{os.getpid()}"
    process = await create_subprocess_exec(
        *(sys.executable, "-m", "tickwork.cli", "worker", "run", app, "--name", name, "--until-stdin-ends"),
        env={**os.environ, "TICKWORK_URL": address.url, "TICKWORK_API_KEY": address.key},
        stdin=PIPE,
        start_new_session=True,
    )
    try:
        yield ChildWorker(name, process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class ChildWorker:
    def __init__(self, name: str, process: Process) -> None:
        self._name = name
        self._process = process
        self._ended = asyncio.ensure_future(process.wait())

    async def until_connected(self, address: Address, stop: Stop) -> None:
        """Until its tasks can be given work, or nobody waits for that any more."""
        async with AsyncClient(*address) as client:
            while not (stop.asked.is_set() or await self._is_connected(client)):
                self._check_that_it_lives()
                await asyncio.sleep(_PAUSE)

    async def until(self, stop: Stop) -> None:
        """Until told to stop; what it runs is finished first, unless told twice."""
        await self._until_ended_or(stop.asked)
        self._check_that_it_lives()
        say("the worker finishes what it runs; Ctrl-C again breaks it off")
        self._process.terminate()
        await self._until_ended_or(stop.at_once)

    def _check_that_it_lives(self) -> None:
        if self._ended.done():
            raise TickworkError(f"the worker ended by itself, with exit code {self._ended.result()}")

    async def _is_connected(self, client: AsyncClient) -> bool:
        return any(worker.name == self._name for worker in (await client.list_workers()).items)

    async def _until_ended_or(self, event: asyncio.Event) -> None:
        happened = asyncio.ensure_future(event.wait())
        await asyncio.wait((self._ended, happened), return_when=asyncio.FIRST_COMPLETED)
        happened.cancel()
