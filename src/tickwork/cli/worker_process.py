"""The worker process: started by `tickwork up` as a child, and what runs inside it until it is stopped."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat

import structlog

from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import Stop
from tickwork.client.async_client import AsyncClient
from tickwork.client.server_address import Address
from tickwork.execute.worker import Worker
from tickwork.model.errors import Invalid, TickworkError, Unavailable
from tickwork.model.job import JobRequest

_PAUSE = 0.05  # seconds between checks whether it is connected
_REST = 2.0  # seconds before a dead worker is replaced


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
        """The child has its own session, so that Ctrl-C reaches it only through us. It stops when its standard input
        ends, however this process died."""
        words = ("worker", "run", self._app, "--name", self._name, "--until-stdin-ends")
        self._process = await create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *words),
            env={**os.environ, "TICKWORK_URL": self._address.url, "TICKWORK_API_KEY": self._address.key},
            stdin=PIPE,
            start_new_session=True,
        )
        self._ended = asyncio.ensure_future(self._process.wait())

    async def until_connected(self, stop: Stop) -> None:
        """Wait until the worker is connected or a stop was asked for."""
        async with AsyncClient(*self._address) as client:
            while not (stop.asked.is_set() or await self._is_connected(client)):
                if self._ended.done():
                    raise TickworkError(f"the worker ended by itself, with {self._how_it_ended()}")
                await asyncio.sleep(_PAUSE)

    async def until(self, stop: Stop) -> None:
        """Run until asked to stop. The worker finishes its attempts first, unless asked twice."""
        await self._keep_one(stop)
        if not self._ended.done():
            say("the worker finishes its attempts; Ctrl-C again stops it at once")
            self._process.terminate()
            await self._until_ended_or(stop.at_once)

    async def kill(self) -> None:
        if not self._ended.done():
            self._process.kill()
            await self._ended

    async def _keep_one(self, stop: Stop) -> None:
        await self._until_ended_or(stop.asked)
        while not stop.asked.is_set():
            say(f"the worker ended by itself, with {self._how_it_ended()}; starting another")
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


_GRACE = 300.0  # seconds for the running attempts of a worker that needs a restart
_FAREWELL = 10.0  # seconds to report aborted attempts
_PAUSES = (0.1, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds between attempts to create declared jobs
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


async def work(
    worker: Worker, declared: Sequence[JobRequest], address: Address, *, until_stdin_ends: bool
) -> bool:
    """Run the worker; returns whether it should continue in a new process."""
    stop = Stop()
    stop.listen()
    declaring = asyncio.create_task(_declare(declared, address))
    declaring.add_done_callback(lambda done: worker.stop_now() if _failed(done) else None)
    others = [
        declaring,
        asyncio.create_task(_obey(stop, worker)),
        asyncio.create_task(_leave_when_restart_is_needed(worker)),
    ]
    if until_stdin_ends:
        others.append(asyncio.create_task(_stop_when_stdin_ends(stop)))
    try:
        await worker.run()
    finally:
        for other in others:
            other.cancel()
    if _failed(declaring):
        declaring.result()
    return worker.needs_restart.is_set() and not stop.asked.is_set()


async def _leave_when_restart_is_needed(worker: Worker) -> None:
    await worker.needs_restart.wait()
    _log.warning(
        "tasks that do not stop occupy too many slots; the worker's process is replaced when the others have ended",
        at_the_latest_in_seconds=_GRACE,
    )
    worker.drain()
    await asyncio.sleep(_GRACE)
    worker.abort_running()
    await asyncio.sleep(_FAREWELL)
    worker.stop_now()


async def _stop_when_stdin_ends(stop: Stop) -> None:
    """The process that started this one has the other end of the pipe. When it dies, the pipe closes."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    stop.asked.set()
    stop.at_once.set()


async def _obey(stop: Stop, worker: Worker) -> None:
    await stop.asked.wait()
    worker.drain()
    await stop.at_once.wait()
    worker.stop_now()


async def _declare(jobs: Sequence[JobRequest], address: Address) -> None:
    if not jobs:
        return
    async with AsyncClient(*address) as client:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if await _declared(client, jobs):
                return
            await asyncio.sleep(pause)


async def _declared(client: AsyncClient, jobs: Sequence[JobRequest]) -> bool:
    """False if it is too early: a server accepts jobs only for tasks that a worker has offered."""
    try:
        offered = {task.name for task in (await client.list_tasks()).items}
        if not {job.task for job in jobs} <= offered:
            return False
        for job in jobs:
            await _create(client, job)
    except Unavailable as error:
        _log.warning("declared jobs are not stored yet", error=str(error))
        return False
    return True


async def _create(client: AsyncClient, job: JobRequest) -> None:
    try:
        await client.create_job(job)
    except Invalid as error:
        named = [field._replace(path=f"{job.task}: {field.path}") for field in error.errors]
        raise Invalid(named) from None


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
