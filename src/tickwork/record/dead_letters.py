"""Dead letters: listed, redriven at a pace, or discarded.

Requests for many are processed in chunks, each in its own transaction. A request that is interrupted leaves the rest
unchanged and can be repeated.
"""

import builtins
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import UNSET

from tickwork.model.access import Author
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
from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.execution import ExecutionKey, ExecutionView
from tickwork.model.field_types import Page
from tickwork.model.past_attempt_input import ExecutionRetry, RetryPayload
from tickwork.model.public_ids import execution_id, job_id
from tickwork.store.port.read_jobs_executions_workers import ReadStore
from tickwork.store.port.record import DeadLetterStore

_MOST_REFUSED = 100  # in one answer
_AT_ONCE = RedrivePace()
_AS_IT_IS = ExecutionRetry()


class CheckPayload(Protocol):
    async def __call__(self, tenant_id: int, job: int, payload: object, /) -> bytes:
        """The payload as JSON. Invalid when the job's task does not take it."""


class DeadLetters:
    def __init__(
        self, store: DeadLetterStore, read: ReadStore, check_payload: CheckPayload, publish: Publish
    ) -> None:
        self._store = store
        self._read = read
        self._check_payload = check_payload
        self._publish = publish

    async def list(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None = None
    ) -> Page[DeadLetterView]:
        return await self._store.newest(tenant_id, wanted, limit, cursor)

    async def redrive(
        self, tenant_id: int, choice: DeadLetterChoice, pace: RedrivePace = _AT_ONCE
    ) -> Redriven:
        """Run the same executions again with new attempts. The overlap policy of their jobs does not apply."""
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
            not_found=_missing_ids(choice, tally.missing),
            refused=tally.refused[:_MOST_REFUSED],
        )

    async def discard(self, tenant_id: int, choice: DeadLetterChoice) -> Discarded:
        """Remove them from the dead letters. They stay in the history as failed."""
        tally = _Tally()
        now = await self._read.now()
        async for keys in self._chunks(tenant_id, choice, min(now, choice.filter.until or now), tally):
            missing = await self._store.discard(tenant_id, keys)
            tally.add(len(keys) - len(missing), missing)
        return Discarded(discarded=tally.done, not_found=_missing_ids(choice, tally.missing))

    async def retry(
        self,
        tenant_id: int,
        job: int,
        scheduled_for: datetime,
        request: ExecutionRetry = _AS_IT_IS,
        author: Author | None = None,
    ) -> ExecutionView:
        """Run it again. With a payload, that attempt and all later ones get it instead of the job's."""
        payload = None
        if request.payload is not UNSET:
            await self._read.execution(
                tenant_id, job, scheduled_for
            )  # if there is none, that is what is wrong
            payload = RetryPayload(await self._check_payload(tenant_id, job, request.payload), author)
        await self._store.retry(ExecutionKey(tenant_id, scheduled_for, job), payload)
        self._publish(WorkArrived(tenant_id))
        return await self._read.execution(tenant_id, job, scheduled_for)

    async def retry_job(self, tenant_id: int, job: int) -> ExecutionView:
        """Retry the dead letter of this job that failed last."""
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
        """The chosen dead letters, the oldest first. Those that fail after `as_of` are left out: they may be the ones
        that were just redriven."""
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
    """What the chunks so far have done."""

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


def _missing_ids(choice: DeadLetterChoice, missing: list[ExecutionKey]) -> list[str]:
    """Only those that the caller named. One that a filter found and another request handled first is not missing."""
    return [execution_id(key.job_id, key.scheduled_for) for key in missing] if choice.keys is not None else []
