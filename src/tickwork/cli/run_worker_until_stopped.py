"""Runs a worker in this process until it is stopped."""

import asyncio
import sys
from collections.abc import Sequence

import structlog

from tickwork.cli.create_declared_jobs import create_declared_jobs
from tickwork.cli.run_until_stopped import StopRequest
from tickwork.cli.systemd_notify import SystemdNotifier
from tickwork.client.find_server import Address
from tickwork.execute.worker import Worker
from tickwork.model.job import JobRequest

_DRAIN_TIMEOUT = 300.0  # seconds for the running attempts of a worker that needs a restart
_CONNECTION_POLL = 0.1  # seconds
_REPORT_TIMEOUT = 10.0  # seconds to report aborted attempts
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


async def run_worker(
    worker: Worker, declared: Sequence[JobRequest], address: Address, *, until_stdin_ends: bool
) -> bool:
    """Returns whether the worker should continue in a new process."""
    stop, systemd = StopRequest(), SystemdNotifier()
    stop.listen()
    creating_jobs = asyncio.create_task(create_declared_jobs(declared, address))
    creating_jobs.add_done_callback(lambda done: worker.stop_now() if _failed(done) else None)
    background = [
        creating_jobs,
        asyncio.create_task(_stop_on_request(stop, worker, systemd)),
        asyncio.create_task(_tell_systemd(worker, systemd)),
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


async def _tell_systemd(worker: Worker, systemd: SystemdNotifier) -> None:
    """It is ready once a server has accepted it. Later it may be without one for a while: it reconnects by itself."""
    while not worker.is_connected:  # noqa: ASYNC110 (only at the start)
        await asyncio.sleep(_CONNECTION_POLL)
    async with systemd.ready("connected to a server", lambda: True):
        await asyncio.Event().wait()


async def _stop_on_request(stop: StopRequest, worker: Worker, systemd: SystemdNotifier) -> None:
    await stop.received.wait()
    systemd.stopping("finishing its attempts")
    worker.drain()
    await stop.immediate.wait()
    worker.stop_now()


def _failed(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
