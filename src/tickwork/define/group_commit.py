"""Writes jobs that concurrent requests create one by one in shared transactions.

While a batch is being written, new requests wait for the next batch. Without load, a job is written at once; under
load, one commit covers all jobs that arrived in the meantime. An error in one job does not affect the others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tickwork.model.access import Requester
from tickwork.model.errors import Conflict, Invalid, QueueFull
from tickwork.model.job import JobRequest, JobView

_MAX_BATCH = 200

Create = Callable[[int, Sequence[JobRequest], Sequence[Requester]], Awaitable[list[JobView]]]


class _Pending(NamedTuple):
    request: JobRequest
    requester: Requester
    answer: asyncio.Future[JobView]


class GroupCommit:
    def __init__(self, create: Create) -> None:
        self._create = create
        self._pending: dict[int, list[_Pending]] = {}  # by tenant
        self._writing: asyncio.Task[None] | None = None

    async def create(self, tenant_id: int, request: JobRequest, requester: Requester) -> JobView:
        pending = _Pending(request, requester, asyncio.get_running_loop().create_future())
        self._pending.setdefault(tenant_id, []).append(pending)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        return await pending.answer

    async def _write_all(self) -> None:
        while self._pending:
            tenant_id = next(iter(self._pending))
            waiting = self._pending.pop(tenant_id)
            if len(waiting) > _MAX_BATCH:
                self._pending[tenant_id] = waiting[_MAX_BATCH:]  # behind the other tenants
            await self._write(tenant_id, [each for each in waiting[:_MAX_BATCH] if not each.answer.done()])
        self._writing = None

    async def _write(self, tenant_id: int, batch: Sequence[_Pending]) -> None:
        try:
            views = await self._create(
                tenant_id,
                [pending.request for pending in batch],
                [pending.requester for pending in batch],
            )
        except (Invalid, Conflict, QueueFull) as error:
            if len(batch) == 1:
                _answer(batch[0], error)
                return
            for pending in batch:
                await self._write(tenant_id, [pending])
        except Exception as error:  # noqa: BLE001 (every caller gets it)
            for pending in batch:
                _answer(pending, error)
        else:
            for pending, view in zip(batch, views, strict=True):
                _answer(pending, view)


def _answer(pending: _Pending, answer: JobView | Exception) -> None:
    if pending.answer.done():
        return  # the caller was cancelled
    if isinstance(answer, Exception):
        pending.answer.set_exception(answer)
    else:
        pending.answer.set_result(answer)
