"""Executions as users see them, past and future: how they are listed, cancelled and waited for.

Any number of callers wait for the end of executions, no matter which node records it:

    outcomes recorded by this node ───────────────────────────────────┐
    every half second: one query for all awaited executions that ended ┴─▶ wakes their callers

A caller reads its execution when it starts to wait, when it is woken and when its time is over, and not in between.
Reads that come at the same moment share one query.
"""

import asyncio
import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from time import monotonic

import msgspec

from tickwork.loop import Wake
from tickwork.model.errors import NotFound
from tickwork.model.event_after_commit import AttemptsEnded
from tickwork.model.execution import (
    AttemptView,
    CountKind,
    ExecutionFilter,
    ExecutionKey,
    ExecutionPage,
    ExecutionView,
    MissedView,
)
from tickwork.model.past_attempt_input import ExecutionInput
from tickwork.model.public_ids import execution_id, from_micros, parse_execution_id, to_micros
from tickwork.model.worker_protocol import Key
from tickwork.store.port.archive import Archive, RestoredExecution
from tickwork.store.port.read_jobs_executions_workers import ExecutionSearch, ReadStore
from tickwork.store.port.record import InputStore, OutcomeStore

_MOST_CALLERS = 10_000  # on one node; any more are answered at once
_MOST_PER_QUERY = 1000  # executions; if more are awaited, each query asks for others


class ExecutionHistory:
    def __init__(
        self,
        store: OutcomeStore,
        read: ReadStore,
        search: ExecutionSearch,
        inputs: InputStore,
        archive: Archive,
        wake: Wake,
    ) -> None:
        self._store = store
        self._archive = archive
        self._inputs = inputs
        self._read = read
        self._search = search
        self._wake = wake

    async def list(
        self,
        tenant_id: int,
        wanted: ExecutionFilter,
        limit: int,
        cursor: str | None = None,
        count: CountKind | None = None,
    ) -> ExecutionPage:
        page = await self._search.page(tenant_id, wanted, limit, cursor)
        until = self._archive.until()
        if until is not None and (wanted.since is None or wanted.since < until):
            page = msgspec.structs.replace(page, archived_until=until)
        if count is None:
            return page
        return msgspec.structs.replace(page, count=await self._search.count(tenant_id, wanted, count))

    async def get(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        try:
            return await self._read.execution(tenant_id, job, scheduled_for)
        except NotFound:
            return (await self._find_restored(tenant_id, job, scheduled_for)).execution

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> builtins.list[AttemptView]:
        try:
            return await self._read.attempts(tenant_id, job, scheduled_for)
        except NotFound:
            return (await self._find_restored(tenant_id, job, scheduled_for)).attempts

    async def _find_restored(self, tenant_id: int, job: int, scheduled_for: datetime) -> RestoredExecution:
        """What is not there may have been brought back from the archive. Called where NotFound is being handled."""
        found = await self._archive.restored.find(ExecutionKey(tenant_id, scheduled_for, job))
        if found is None:
            raise NotFound("execution", execution_id(job, scheduled_for))
        return found

    async def input(
        self, tenant_id: int, job: int, scheduled_for: datetime, attempt: int | None = None
    ) -> ExecutionInput:
        """What an attempt ran with, or the latest one if none is given: also when the job was edited since."""
        try:
            return await self._inputs.input_of(ExecutionKey(tenant_id, scheduled_for, job), attempt)
        except NotFound:
            found = await self._archive.restored.find(ExecutionKey(tenant_id, scheduled_for, job))
            if found is None or attempt not in (None, found.input.attempt):
                raise
            return found.input

    async def missed(self, tenant_id: int, job: int, limit: int) -> builtins.list[MissedView]:
        await self._read.jobs_by_id(tenant_id, [job])
        return await self._read.missed(tenant_id, job, limit)

    async def cancel(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        """End it now. The attempt of a worker that has it is revoked, and its outcome is refused. The elements of a
        fan-out are cancelled at once afterwards."""
        await self._store.cancel(ExecutionKey(tenant_id, scheduled_for, job), "cancelled by request")
        self._wake.revoke()
        self._wake.fan_out()
        return await self._read.execution(tenant_id, job, scheduled_for)


class ExecutionWaits:
    def __init__(self, read: ReadStore) -> None:
        self._read = read
        self._awaited: dict[Key, list[asyncio.Event]] = {}
        self._reads: dict[Key, asyncio.Future[ExecutionView | None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._count = 0
        self._is_closed = False

    async def until_ended(
        self, tenant_id: int, job: int, scheduled_for: datetime, seconds: float
    ) -> ExecutionView | None:
        """The execution once it has ended, or as it is after these seconds; None at once if it does not exist."""
        deadline = monotonic() + seconds
        key = tenant_id, to_micros(scheduled_for), job
        while True:
            with self._registered(key) as woken:
                execution = await self._read_shared(key)
                left = deadline - monotonic()
                if woken is None or execution is None or execution.status.ended or left <= 0:
                    return execution
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await woken.wait()

    def after_end(self, ended: AttemptsEnded) -> None:
        """Wake the callers of these executions. Some may have another attempt, so each caller reads its execution."""
        if not self._awaited:
            return
        for outcomes in ended.outcomes:
            for outcome in outcomes:
                self._wake((outcome.tenant, outcome.at, outcome.job))

    async def wake_ended(self) -> bool:
        """Wake the callers of executions that ended through another node, or otherwise than by an outcome."""
        keys = list(islice(self._awaited, _MOST_PER_QUERY))
        if keys:
            for key in await self._read.ended([_execution_key(key) for key in keys]):
                self._wake((key.tenant_id, to_micros(key.scheduled_for), key.job_id))
            self._move_to_end(keys)
        return False

    def close(self) -> None:
        """The node stops: callers are answered now, and may wait on another node."""
        self._is_closed = True
        for key in list(self._awaited):
            self._wake(key)

    @contextmanager
    def _registered(self, key: Key) -> Iterator[asyncio.Event | None]:
        """An event that is set when the execution may have ended; None if no more callers can wait here."""
        if self._is_closed or self._count >= _MOST_CALLERS:
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

    async def _read_shared(self, key: Key) -> ExecutionView | None:
        """The execution as it is at some moment after this call, read together with others."""
        read = self._reads.setdefault(key, asyncio.get_running_loop().create_future())
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_all())
        return await asyncio.shield(read)

    async def _read_all(self) -> None:
        while self._reads:
            batch = {key: self._reads.pop(key) for key in list(islice(self._reads, _MOST_PER_QUERY))}
            try:
                found = await self._read.executions_by_key([_execution_key(key) for key in batch])
            except Exception as error:  # noqa: BLE001 (it is passed to the callers)
                for read in batch.values():
                    read.set_exception(error)
                    read.exception()  # marks it as retrieved: the caller may have left
            else:
                by_id = {parse_execution_id(each.id): each for each in found}
                for (_, at, job), read in batch.items():
                    read.set_result(by_id.get((job, from_micros(at))))
        self._reader = None

    def _wake(self, key: Key) -> None:
        for event in self._awaited.get(key, ()):
            event.set()

    def _move_to_end(self, keys: Sequence[Key]) -> None:
        if len(self._awaited) > len(keys):
            for key in keys:
                if key in self._awaited:
                    self._awaited[key] = self._awaited.pop(key)


def _execution_key(key: Key) -> ExecutionKey:
    tenant_id, at, job = key
    return ExecutionKey(tenant_id, from_micros(at), job)
