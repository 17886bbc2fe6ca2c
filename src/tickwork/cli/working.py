"""A worker in this process: runs until told to stop, and sees to it that its declared jobs exist.

Code that will not stop cannot be ended without its process. When too much of it has gathered, the worker ends as if
told to, so that its process can be replaced by a fresh one.
"""

import asyncio
import sys
from collections.abc import Sequence
from itertools import chain, repeat

import structlog

from tickwork.cli.loop import Stop
from tickwork.client.address import Address
from tickwork.client.asynchronous import AsyncClient
from tickwork.execute.worker import Worker
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.job import JobRequest

_GRACE = 300.0  # seconds that a worn-out worker gives to what still runs
_FAREWELL = 10.0  # seconds to report what was broken off
_PAUSES = (0.1, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds between tries to declare
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


async def work(
    worker: Worker, declared: Sequence[JobRequest], address: Address, *, until_stdin_ends: bool
) -> bool:
    """Whether it should go on, in a fresh process."""
    stop = Stop()
    stop.listen()
    declaring = asyncio.create_task(_declare(declared, address))
    declaring.add_done_callback(lambda done: worker.stop_now() if _failed(done) else None)
    others = [
        declaring,
        asyncio.create_task(_obey(stop, worker)),
        asyncio.create_task(_leave_when_worn_out(worker)),
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
    return worker.worn_out.is_set() and not stop.asked.is_set()


async def _leave_when_worn_out(worker: Worker) -> None:
    await worker.worn_out.wait()
    _log.warning(
        "tasks that will not stop hold too many slots; the worker's process is replaced once the rest has ended",
        at_the_latest_in_seconds=_GRACE,
    )
    worker.drain()
    await asyncio.sleep(_GRACE)
    worker.break_off()
    await asyncio.sleep(_FAREWELL)
    worker.stop_now()


async def _stop_when_stdin_ends(stop: Stop) -> None:
    """Whoever started this process holds the other end, and is gone when that is."""
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
    """False when it is too early: a server takes jobs only for tasks that a worker has offered."""
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
