"""Creates the recurring jobs that the tasks of an App declare."""

import asyncio
from collections.abc import Sequence
from itertools import chain, repeat

import structlog

from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import Address
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.job import JobRequest

_RETRY_PAUSES = (0.1, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


async def create_declared_jobs(jobs: Sequence[JobRequest], address: Address) -> None:
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
        known = {task.name: task for task in (await client.list_tasks()).items}
        if not {job.task for job in jobs} <= known.keys():
            return False
        for job in jobs:
            if known[job.task or ""].retired_at:
                _log.warning("a declared job is left as it is: its task is retired", task=job.task)
            else:
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
