"""What failed for good: looked at, run again at a pace, set aside.

Many are dealt with in chunks, each a transaction of its own: one that is cut off leaves the rest as they are, and may
simply be asked for again.
"""

import builtins
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from tickwork.model.dead_letter import (
    CHUNK,
    DeadLetterChoice,
    DeadLetterFilter,
    DeadLetterView,
    Discarded,
    Redriven,
    RedrivePace,
    Refused,
)
from tickwork.model.errors import Conflict
from tickwork.model.event import Publish, WorkArrived
from tickwork.model.execution import ExecutionKey, ExecutionView
from tickwork.model.field_types import Page
from tickwork.model.ids import execution_id, job_id
from tickwork.store.port.read import ReadStore
from tickwork.store.port.record import DeadLetterStore

_MOST_REFUSED = 100  # named in one answer
_AT_ONCE = RedrivePace()


class DeadLetters:
    def __init__(self, store: DeadLetterStore, read: ReadStore, publish: Publish) -> None:
        self._store = store
        self._read = read
        self._publish = publish

    async def list(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None = None
    ) -> Page[DeadLetterView]:
        return await self._store.newest(tenant_id, wanted, limit, cursor)

    async def redrive(
        self, tenant_id: int, choice: DeadLetterChoice, pace: RedrivePace = _AT_ONCE
    ) -> Redriven:
        """The same executions with new attempts, whatever the overlap policy of their jobs says."""
        now = await self._read.now()
        start, as_of = max(now, pace.start_at or now), min(now, choice.filter.until or now)
        tally = _Tally(pace.most)
        async for keys in self._chunks(tenant_id, choice, as_of, tally):
            at = start + tally.done * pace.interval
            revived = await self._store.redrive(tenant_id, keys, at, pace.interval)
            self._publish(WorkArrived(tenant_id))
            tally.add(revived.revived, revived.missing, revived.refused)
        return Redriven(
            redriven=tally.done,
            as_of=as_of,
            last_at=start + (tally.done - 1) * pace.interval if tally.done else None,
            not_found=_asked_for(choice, tally.missing),
            refused=tally.refused[:_MOST_REFUSED],
        )

    async def discard(self, tenant_id: int, choice: DeadLetterChoice) -> Discarded:
        """They stay in the history as what they are: failed."""
        tally = _Tally()
        now = await self._read.now()
        async for keys in self._chunks(tenant_id, choice, min(now, choice.filter.until or now), tally):
            missing = await self._store.discard(tenant_id, keys)
            tally.add(len(keys) - len(missing), missing)
        return Discarded(discarded=tally.done, not_found=_asked_for(choice, tally.missing))

    async def retry(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        await self._store.retry(ExecutionKey(tenant_id, scheduled_for, job))
        self._publish(WorkArrived(tenant_id))
        return await self._read.execution(tenant_id, job, scheduled_for)

    async def retry_job(self, tenant_id: int, job: int) -> ExecutionView:
        """The one of its dead letters that failed last."""
        await self._read.jobs_by_id(tenant_id, [job])
        scheduled_for = await self._store.last_of_job(tenant_id, job)
        if scheduled_for is None:
            raise Conflict(
                f"job {job_id(job)} has no dead letter; an execution can still be retried by its own id"
            )
        return await self.retry(tenant_id, job, scheduled_for)

    async def _chunks(
        self, tenant_id: int, choice: DeadLetterChoice, as_of: datetime, tally: "_Tally"
    ) -> AsyncIterator[builtins.list[ExecutionKey]]:
        """The chosen ones, those that failed first before the others. What fails from now on is not among them: it
        may be what was just redriven."""
        if choice.keys is not None:
            yield choice.keys
            return
        wanted, cursor = choice.filter._replace(until=as_of), None
        while (limit := min(tally.left, CHUNK)) > 0:
            keys, cursor = await self._store.oldest(tenant_id, wanted, limit, cursor)
            if keys:
                yield keys
            if cursor is None:
                return


class _Tally:
    """How far it has come."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self.left = most
        self.done = 0
        self.missing: list[ExecutionKey] = []
        self.refused: list[Refused] = []

    def add(self, done: int, missing: Sequence[ExecutionKey], refused: Sequence[Refused] = ()) -> None:
        self.done += done
        self.left -= done
        self.missing += missing
        self.refused += refused


def _asked_for(choice: DeadLetterChoice, missing: list[ExecutionKey]) -> list[str]:
    """What a filter found and somebody else was quicker with, nobody asked for by its name."""
    return [execution_id(key.job_id, key.scheduled_for) for key in missing] if choice.keys is not None else []
