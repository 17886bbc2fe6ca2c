"""Waits for executions to end, for any number of callers, on whichever node the end is recorded.

    outcomes recorded here ──▶ wake ─┐
    every half second ───────────────┴─▶ asks the database once for all that are waited for ──▶ whoever waits for those

Whoever waits looks at its execution when it begins, when it is woken and when its time is over, and not in between;
those who look at the same moment do so with one question.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from time import monotonic

from tickwork.model.event import AttemptsEnded
from tickwork.model.execution import ExecutionKey, ExecutionView
from tickwork.model.ids import from_micros, parse_execution_id, to_micros
from tickwork.model.worker_protocol import Key
from tickwork.store.port.read import ReadStore

_MOST = 10_000  # who may wait on one node; one more is answered at once
_ASKED = 1000  # executions one question is about; when more are waited for, they take turns


class ExecutionWaits:
    def __init__(self, read: ReadStore) -> None:
        self._read = read
        self._awaited: dict[Key, list[asyncio.Event]] = {}
        self._looks: dict[Key, asyncio.Future[ExecutionView | None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._count = 0
        self._is_closed = False

    async def until_ended(
        self, tenant_id: int, job: int, scheduled_for: datetime, seconds: float
    ) -> ExecutionView | None:
        """The execution once it has ended, or as it is when the time is over; None at once when there is none."""
        ends = monotonic() + seconds
        key = tenant_id, to_micros(scheduled_for), job
        while True:
            with self._noticing(key) as noticed:
                execution = await self._look(key)
                left = ends - monotonic()
                if noticed is None or execution is None or execution.status.ended or left <= 0:
                    return execution
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await noticed.wait()

    def after_end(self, ended: AttemptsEnded) -> None:
        """Some may be tried again: those who are woken look for themselves."""
        if not self._awaited:
            return
        for outcomes in ended.outcomes:
            for outcome in outcomes:
                self._wake((outcome.tenant, outcome.at, outcome.job))

    async def look_around(self) -> bool:
        """Wake those whose executions ended elsewhere, or by other means than an outcome."""
        asked = list(islice(self._awaited, _ASKED))
        if asked:
            for key in await self._read.ended([_execution_key(key) for key in asked]):
                self._wake((key.tenant_id, to_micros(key.scheduled_for), key.job_id))
            self._put_last(asked)
        return False

    def close(self) -> None:
        """The node stops: whoever waits here is told how things are, and may wait at another one."""
        self._is_closed = True
        for key in list(self._awaited):
            self._wake(key)

    @contextmanager
    def _noticing(self, key: Key) -> Iterator[asyncio.Event | None]:
        """Set at the next news of it; None when nobody more can wait here."""
        if self._is_closed or self._count >= _MOST:
            yield None
            return
        event = asyncio.Event()
        self._awaited.setdefault(key, []).append(event)
        self._count += 1
        try:
            yield event
        finally:
            self._count -= 1
            self._awaited[key].remove(event)
            if not self._awaited[key]:
                del self._awaited[key]

    async def _look(self, key: Key) -> ExecutionView | None:
        """As it is at some moment after this was asked."""
        look = self._looks.setdefault(key, asyncio.get_running_loop().create_future())
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_for_all())
        return await asyncio.shield(look)

    async def _look_for_all(self) -> None:
        while self._looks:
            some = {key: self._looks.pop(key) for key in list(islice(self._looks, _ASKED))}
            try:
                found = await self._read.executions_by_key([_execution_key(key) for key in some])
            except Exception as error:  # noqa: BLE001 (it is for those who asked)
                for look in some.values():
                    look.set_exception(error)
                    look.exception()  # whoever asked may have left
            else:
                seen = {parse_execution_id(each.id): each for each in found}
                for (_, at, job), look in some.items():
                    look.set_result(seen.get((job, from_micros(at))))
        self._looking = None

    def _wake(self, key: Key) -> None:
        for event in self._awaited.get(key, ()):
            event.set()

    def _put_last(self, keys: Sequence[Key]) -> None:
        if len(self._awaited) > len(keys):
            for key in keys:
                if key in self._awaited:
                    self._awaited[key] = self._awaited.pop(key)


def _execution_key(key: Key) -> ExecutionKey:
    tenant_id, at, job = key
    return ExecutionKey(tenant_id, from_micros(at), job)
