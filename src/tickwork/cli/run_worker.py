"""Runs a worker in this process until it is stopped, and creates the jobs that its tasks declare."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import chain, repeat

import structlog

from tickwork.cli.run_until_stopped import StopRequest
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import Address
from tickwork.execute.worker import Worker
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.job import JobRequest

_DRAIN_TIMEOUT = 300.0  # seconds for the running attempts of a worker that needs a restart
_REPORT_TIMEOUT = 10.0  # seconds to report aborted attempts
_RETRY_PAUSES = (0.1, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds between attempts to create declared jobs
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


async def run_worker(
    worker: Worker, declared: Sequence[JobRequest], address: Address, *, until_stdin_ends: bool
) -> bool:
    """Returns whether the worker should continue in a new process."""
    stop = StopRequest()
    stop.listen()
    creating_jobs = asyncio.create_task(_create_declared_jobs(declared, address))
    creating_jobs.add_done_callback(lambda done: worker.stop_now() if _failed(done) else None)
    background = [
        creating_jobs,
        asyncio.create_task(_stop_on_request(stop, worker)),
        asyncio.create_task(_exit_when_restart_is_needed(worker)),
    ]
    if until_stdin_ends:
        background.append(asyncio.create_task(_stop_when_stdin_ends(stop)))
    try:
        await worker.run()
    finally:
        for task in background:
            task.cancel()
    if _failed(creating_jobs):
        creating_jobs.result()
    return worker.needs_restart.is_set() and not stop.received.is_set()


async def _exit_when_restart_is_needed(worker: Worker) -> None:
    await worker.needs_restart.wait()
    _log.warning(
        "tasks that do not stop occupy too many slots; the worker's process is replaced when the others have ended",
        at_the_latest_in_seconds=_DRAIN_TIMEOUT,
    )
    worker.drain()
    await asyncio.sleep(_DRAIN_TIMEOUT)
    worker.abort_running()
    await asyncio.sleep(_REPORT_TIMEOUT)
    worker.stop_now()


async def _stop_when_stdin_ends(stop: StopRequest) -> None:
    """The parent process has the other end of the pipe. When the parent dies, the pipe closes."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    stop.received.set()
    stop.immediate.set()


async def _stop_on_request(stop: StopRequest, worker: Worker) -> None:
    await stop.received.wait()
    worker.drain()
    await stop.immediate.wait()
    worker.stop_now()


async def _create_declared_jobs(jobs: Sequence[JobRequest], address: Address) -> None:
    if not jobs:
        return
    async with AsyncClient(*address) as client:
        for pause in chain(_RETRY_PAUSES, repeat(_RETRY_PAUSES[-1])):
            if await _try_to_create_job(client, jobs):
                return
            await asyncio.sleep(pause)


async def _try_to_create_job(client: AsyncClient, jobs: Sequence[JobRequest]) -> bool:
    """False if it is too early: a server accepts jobs only for tasks that a worker has offered."""
    try:
        offered = {task.name for task in (await client.list_tasks()).items}
        if not {job.task for job in jobs} <= offered:
            return False
        for job in jobs:
            await _create_job(client, job)
    except Unavailable as error:
        _log.warning("declared jobs are not stored yet", error=str(error))
        return False
    return True


async def _create_job(client: AsyncClient, job: JobRequest) -> None:
    try:
        await client.create_job(job)
    except Invalid as error:
        raise Invalid([field._replace(path=f"{job.task}: {field.path}") for field in error.errors]) from None


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
