"""Jobs created one by one at the same time, written together.

While a batch is being written, the next one gathers: alone, a job is created at once; under load, one commit covers
as many as came meanwhile. What is wrong with one of them concerns nobody else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tickwork.model.errors import Conflict, Invalid, QueueFull
from tickwork.model.job import JobRequest, JobView

_MOST = 200  # written together

Create = Callable[[int, Sequence[JobRequest]], Awaitable[list[JobView]]]


class _Asked(NamedTuple):
    request: JobRequest
    answer: asyncio.Future[JobView]


class GroupCommit:
    def __init__(self, create: Create) -> None:
        self._create = create
        self._asked: dict[int, list[_Asked]] = {}
        self._writing: asyncio.Task[None] | None = None

    async def create(self, tenant_id: int, request: JobRequest) -> JobView:
        asked = _Asked(request, asyncio.get_running_loop().create_future())
        self._asked.setdefault(tenant_id, []).append(asked)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        return await asked.answer

    async def _write_all(self) -> None:
        while self._asked:
            tenant_id = next(iter(self._asked))
            waiting = self._asked.pop(tenant_id)
            if len(waiting) > _MOST:
                self._asked[tenant_id] = waiting[_MOST:]  # behind the other tenants
            await self._write(tenant_id, [asked for asked in waiting[:_MOST] if not asked.answer.done()])
        self._writing = None

    async def _write(self, tenant_id: int, batch: Sequence[_Asked]) -> None:
        try:
            views = await self._create(tenant_id, [asked.request for asked in batch])
        except (Invalid, Conflict, QueueFull) as error:
            if len(batch) == 1:
                _answer(batch[0], error)
                return
            for asked in batch:
                await self._write(tenant_id, [asked])
        except Exception as error:  # noqa: BLE001 (it is for those who asked)
            for asked in batch:
                _answer(asked, error)
        else:
            for asked, view in zip(batch, views, strict=True):
                _answer(asked, view)


def _answer(asked: _Asked, answer: JobView | Exception) -> None:
    if asked.answer.done():
        return  # whoever asked has gone
    if isinstance(answer, Exception):
        asked.answer.set_exception(answer)
    else:
        asked.answer.set_result(answer)
