"""Runs of a job outside its schedule: now, or for due times in the past."""

import asyncio
import builtins
from datetime import datetime, timedelta
from itertools import islice, takewhile

import msgspec

from tickwork.loop import Wake
from tickwork.model.backfill import BackfillPlan, BackfillRequest, BackfillView
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.execution import ExecutionView
from tickwork.model.field_types import Page, to_utc
from tickwork.model.overlap import Overlap
from tickwork.model.parsed_schedule_and_preview import Timing
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.define import BackfillStore, RunNowStore
from tickwork.store.port.read_jobs_executions_workers import ReadStore

MOST_TIMES = 10_000
_FURTHEST_BACK = timedelta(days=3_660)
_MICROSECOND = timedelta(microseconds=1)


class Runs:
    def __init__(
        self,
        store: RunNowStore,
        read: ReadStore,
        publish: Publish,
        wake: Wake,
    ) -> None:
        self._store = store
        self._read = read
        self._publish = publish
        self._wake = wake

    async def run(
        self, tenant_id: int, job: int, overlap: Overlap = "allow", worker: str | None = None
    ) -> ExecutionView:
        """Create an execution that is due now. `overlap` replaces the job's overlap policy for this execution only, and
        `worker` is the name of the only worker that may run it."""
        scheduled_for = await self._store.run(tenant_id, job, overlap, worker)
        self._publish(WorkArrived(tenant_id))
        if overlap == "replace":
            self._wake.revoke()
        return await self._read.execution(tenant_id, job, scheduled_for)


class Backfills:
    def __init__(
        self,
        store: BackfillStore,
        read: ReadStore,
        wake: Wake,
    ) -> None:
        self._store = store
        self._read = read
        self._wake = wake

    async def plan(self, tenant_id: int, job: int, request: BackfillRequest) -> BackfillPlan:
        """What a backfill would run. Starts nothing."""
        times = await self._times(tenant_id, job, _in_utc(request))
        return BackfillPlan(len(times), min(times, default=None), max(times, default=None))

    async def start(self, tenant_id: int, job: int, request: BackfillRequest) -> BackfillView:
        request = _in_utc(request)
        times = await self._times(tenant_id, job, request)
        backfill = await self._store.create(tenant_id, job, request, times)
        self._wake.backfill()
        return await self.get(tenant_id, backfill)

    async def get(self, tenant_id: int, backfill: int) -> BackfillView:
        return await self._store.backfill(tenant_id, backfill)

    async def list(
        self, tenant_id: int, job: int, limit: int, cursor: str | None = None
    ) -> Page[BackfillView]:
        return await self._store.backfills(tenant_id, job, limit, cursor)

    async def cancel(self, tenant_id: int, backfill: int) -> BackfillView:
        """Start no more executions. Running ones continue; cancel them separately."""
        await self._store.cancel(tenant_id, backfill)
        return await self.get(tenant_id, backfill)

    async def _times(self, tenant_id: int, job: int, request: BackfillRequest) -> builtins.list[datetime]:
        """The due times to run, in the order of the request."""
        own = await self._store.due_times_of(tenant_id, job)
        _check_range(request, await self._read.now())
        end = min(request.to, own.until or request.to)
        # This can take a tenth of a second, which would block the event loop for too long.
        due = await asyncio.to_thread(_due_times, timing_from_text(own.timing), request.from_, end)
        if request.order == "newest":
            due.reverse()
        return await self._store.to_fill(tenant_id, job, due, request.policy)


def _in_utc(request: BackfillRequest) -> BackfillRequest:
    return msgspec.structs.replace(request, from_=to_utc(request.from_), to=to_utc(request.to))


def _check_range(request: BackfillRequest, now: datetime) -> None:
    errors = []
    if request.from_ < now - _FURTHEST_BACK:
        errors.append(FieldError("from", "is more than 10 years ago", "begin later"))
    if request.to > now:
        errors.append(
            FieldError("to", "is in the future", f"use {_format(now)} at most: the rest is still to come")
        )
    elif request.to < request.from_:
        errors.append(FieldError("to", "is before from", "swap them"))
    if errors:
        raise Invalid(errors)


def _due_times(timing: Timing, begin: datetime, end: datetime) -> list[datetime]:
    times = takewhile(lambda due: due <= end, timing.due_times(begin - _MICROSECOND))
    due = list(islice(times, MOST_TIMES + 1))
    if len(due) > MOST_TIMES:
        raise Invalid.field(
            "to",
            f"there are more than {MOST_TIMES:,} due times since from",
            f"narrow the range: {_format(due[-2])} is as far as one backfill can go",
        )
    return due


def _format(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
