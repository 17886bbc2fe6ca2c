"""Searches executions, latest first, without an index for each filter.

What is out of the ordinary has events, and they say which executions to look at. What waits is in the index of waiting
executions, and what runs is in the leases. The rest is searched in the order of time. Every execution is looked up by
its key and checked again, because it may have changed since its event.

A request looks at a limited number of executions, in slices that grow. When they are used up before the page is full,
the page says how far it has looked.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import TIMEOUT
from tickwork.model.execution import (
    CountKind,
    ExecutionCount,
    ExecutionFilter,
    ExecutionPage,
    ExecutionStatus,
    WaitingFor,
)
from tickwork.model.field_types import to_utc
from tickwork.model.public_ids import from_micros, to_micros
from tickwork.model.stream_event import LATE_AFTER, SLOW_AFTER, EventKind
from tickwork.store.page_cursor import ExecutionPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.query_files import queries
from tickwork.store.row_views import execution_of

_SLICES = (500, 2_000, 8_000, 20_000)  # executions that a page looks at one after another, at most
_COUNTED_TOGETHER = 20_000
_COUNT_WITHIN = {"exact": 2.0, "estimate": 0.25}  # seconds
_MOST_CURRENT = (
    10_000  # executions that wait or run and are looked at one by one; more are searched in order of time
)
_LARGEST_JOB = 2**63 - 1
_LARGEST_WORKER = 2**31 - 1
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(9999, 1, 1, tzinfo=UTC)

_INTERRUPTED = (
    EventKind.EXECUTION_RETRYING,
    EventKind.EXECUTION_LOST,
    EventKind.EXECUTION_SNOOZED,
    EventKind.EXECUTION_FAILED,
    EventKind.EXECUTION_CANCELLED,
)
_ENDED_BADLY = {
    ExecutionStatus.FAILED: EventKind.EXECUTION_FAILED,
    ExecutionStatus.CANCELLED: EventKind.EXECUTION_CANCELLED,
    ExecutionStatus.SKIPPED: EventKind.EXECUTION_SKIPPED,
}

_Key = tuple[datetime, int]  # (scheduled_for, job_id)


class _ReadyAt(NamedTuple):
    """From when to when a worker may get them. None: now."""

    earliest: str
    latest: str | None
    is_due: bool  # only those that were due by now


_READY = _ReadyAt("-infinity", None, is_due=True)
_SUSPENDED = _ReadyAt("infinity", "infinity", is_due=False)
_SUSPENDED_AND_DUE = _SUSPENDED._replace(is_due=True)
_ANY = _ReadyAt("-infinity", "infinity", is_due=False)


class _Candidates(NamedTuple):
    """Where to look for executions."""

    kinds: tuple[EventKind, ...] = ()  # among those that have such events
    error: str | None = None  # among those that have events with an error of this type
    running: bool = False  # among those that workers have
    waiting: tuple[_ReadyAt, ...] = ()  # among those that wait


class _Search(NamedTuple):
    """Which executions to look at."""

    query: str
    arguments: tuple[object, ...] = ()


class _Slice(NamedTuple):
    """What was found among some executions."""

    items: Sequence[asyncpg.Record]
    matches: int
    end: _Key | None  # the last that was looked at; None: there are no more


class _SliceSizes:
    """How many executions to look at next: more and more, but no more than will probably fill the page."""

    def __init__(self, at_most: Sequence[int]) -> None:
        self._at_most = at_most
        self._left = sum(at_most)
        self._looked_at = 0
        self._step = 0

    def next(self, found: int, wanted: int) -> int:
        """0: enough were looked at."""
        size = min(self._at_most[min(self._step, len(self._at_most) - 1)], self._left)
        if found:
            likely = 3 * self._looked_at * (wanted - found) // (2 * found)
            size = min(size, max(likely, self._at_most[0]))
        self._left -= size
        self._looked_at += size
        self._step += 1
        return size


_IN_ORDER_OF_TIME = _Search("search_in_order_of_time")


class PostgresExecutionSearch:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("execution_search")

    async def page(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> ExecutionPage:
        place = _place(cursor) if cursor else (_END, _LARGEST_JOB)
        if wanted.status is ExecutionStatus.PENDING and wanted.job is None:
            # What is to come is pending, and in the order of time it comes first.
            coming = await self._slice(tenant_id, wanted, _IN_ORDER_OF_TIME, place, _SLICES[0], limit)
            if len(coming.items) == limit:
                return _full_page(coming.items)
        search = await self._search_for(tenant_id, wanted)
        items: list[asyncpg.Record] = []
        sizes = _SliceSizes((limit,) if _is_only_a_range(wanted) else _SLICES)
        while size := sizes.next(len(items), limit):
            part = await self._slice(tenant_id, wanted, search, place, size, limit - len(items))
            items += part.items
            if len(items) == limit:
                return _full_page(items)
            if part.end is None:
                return ExecutionPage([execution_of(row) for row in items])
            place = part.end
        return ExecutionPage([execution_of(row) for row in items], _cursor(place), place[0])

    async def count(self, tenant_id: int, wanted: ExecutionFilter, kind: CountKind) -> ExecutionCount:
        search = await self._search_for(tenant_id, wanted)
        stop_at = monotonic() + _COUNT_WITHIN[kind]
        place, count = (_END, _LARGEST_JOB), 0
        while True:
            part = await self._slice(tenant_id, wanted, search, place, _COUNTED_TOGETHER, 0)
            count += part.matches
            if part.end is None:
                return ExecutionCount(count, "exact")
            place = part.end
            if monotonic() > stop_at:
                break
        if kind == "exact":
            return ExecutionCount(count, "at least")
        return ExecutionCount(
            round(count / await self._searched_share(tenant_id, wanted, place[0])), "estimate"
        )

    async def _searched_share(self, tenant_id: int, wanted: ExecutionFilter, reached: datetime) -> float:
        """Which part of the time in which there are executions has been searched."""
        row = await self._database.fetchrow(self._sql["first_and_last_execution"], tenant_id, *_range(wanted))
        if row is None or row["first"] is None or row["last"] <= row["first"]:
            return 1.0
        share: float = (row["last"] - reached) / (row["last"] - row["first"])
        return min(max(share, 1e-6), 1.0)

    async def _slice(
        self, tenant_id: int, wanted: ExecutionFilter, search: _Search, before: _Key, size: int, limit: int
    ) -> _Slice:
        rows = await self._database.fetch(
            self._sql[search.query], tenant_id, *before, *_range(wanted), size, limit,
            *_conditions(wanted), *search.arguments,
        )  # fmt: skip
        first = rows[0]
        end = (first["seen_time"], first["seen_job"]) if first["seen_count"] == size else None
        return _Slice([row for row in rows if row["job_id"] is not None], first["match_count"], end)

    async def _search_for(self, tenant_id: int, wanted: ExecutionFilter) -> _Search:
        if wanted.job is not None:
            return _Search("search_history_of_job", (wanted.job,))
        candidates = _candidates(wanted)
        current = await self._current(tenant_id, wanted, candidates) if candidates else None
        if candidates is None or current is None:
            return _IN_ORDER_OF_TIME
        times, jobs = [key[0] for key in current], [key[1] for key in current]
        return _Search("search_candidates", (list(candidates.kinds), times, jobs, candidates.error))

    async def _current(
        self, tenant_id: int, wanted: ExecutionFilter, candidates: _Candidates
    ) -> list[_Key] | None:
        """Those of the candidates that run or wait. None: too many to look at one by one."""
        found: list[_Key] = []
        if candidates.running:
            found += await self._keys("running_keys", tenant_id, _MOST_CURRENT + 1)
        for ready in candidates.waiting:
            found += await self._keys(
                "waiting_keys", tenant_id, wanted.task, wanted.queue, ready.earliest, ready.latest,
                _MOST_CURRENT + 1, ready.is_due,
            )  # fmt: skip
        return found if len(found) <= _MOST_CURRENT else None

    async def _keys(self, query: str, *arguments: object) -> list[_Key]:
        rows = await self._database.fetch(self._sql[query], *arguments)
        return [(row["scheduled_for"], row["job_id"]) for row in rows]


def _full_page(items: Sequence[asyncpg.Record]) -> ExecutionPage:
    last: _Key = (items[-1]["scheduled_for"], items[-1]["job_id"])
    return ExecutionPage([execution_of(row) for row in items], _cursor(last))


def _candidates(wanted: ExecutionFilter) -> _Candidates | None:
    """Where the executions are that can match. None: anywhere."""
    if wanted.error is not None or wanted.timed_out:
        return _Candidates(error=TIMEOUT if wanted.error is None else wanted.error)
    if wanted.blocked or wanted.not_taken:
        return _Candidates((EventKind.EXECUTION_BLOCKED if wanted.blocked else EventKind.EXECUTION_SKIPPED,))
    if wanted.retrying:
        return _Candidates((EventKind.EXECUTION_RETRYING, EventKind.EXECUTION_LOST))
    if wanted.status in _ENDED_BADLY:
        return _Candidates((_ENDED_BADLY[wanted.status],))
    if wanted.status is ExecutionStatus.RUNNING:
        return _Candidates(running=True)
    return _waiting_candidates(wanted) or _extreme_candidates(wanted)


def _waiting_candidates(wanted: ExecutionFilter) -> _Candidates | None:
    match wanted.waiting_for:
        case WaitingFor.RETRY:
            return _Candidates(_INTERRUPTED)
        case WaitingFor.WORKER:
            return _Candidates(waiting=(_READY,))
        case WaitingFor.LIMIT | WaitingFor.DEPENDENCY | WaitingFor.PAUSED:
            return _Candidates(waiting=(_SUSPENDED,))
        case WaitingFor.CALLBACK:
            return _Candidates(running=True)
        case WaitingFor.DUE:
            return None  # in the order of time, they come first
    # A worker has those, too, that it was given ahead of their due time.
    return _Candidates(running=True, waiting=(_ANY,)) if wanted.status is ExecutionStatus.PENDING else None


def _extreme_candidates(wanted: ExecutionFilter) -> _Candidates | None:
    """Executions that are slow or late enough to have an event when they end."""
    if wanted.longer_than is not None and wanted.longer_than >= timedelta(seconds=SLOW_AFTER):
        return _Candidates((EventKind.EXECUTION_SLOW, *_INTERRUPTED), running=True)
    if wanted.later_than is not None and wanted.later_than >= timedelta(seconds=LATE_AFTER):
        kinds = (EventKind.EXECUTION_LATE, *_INTERRUPTED)
        return _Candidates(kinds, running=True, waiting=(_READY, _SUSPENDED_AND_DUE))
    return None


def _is_only_a_range(wanted: ExecutionFilter) -> bool:
    return wanted == ExecutionFilter(since=wanted.since, until=wanted.until)


def _range(wanted: ExecutionFilter) -> tuple[datetime, datetime]:
    return (
        _BEGINNING if wanted.since is None else to_utc(wanted.since),
        _END if wanted.until is None else to_utc(wanted.until),
    )


def _conditions(wanted: ExecutionFilter) -> tuple[object, ...]:
    errors = [wanted.error] if wanted.error is not None else []
    return (
        wanted.status, wanted.task, wanted.queue,
        None if wanted.worker is None else min(wanted.worker, _LARGEST_WORKER),
        wanted.retrying, wanted.longer_than, wanted.later_than, wanted.tag,
        errors + [TIMEOUT] * wanted.timed_out, wanted.blocked, wanted.waiting_for,
        wanted.not_taken,
    )  # fmt: skip


def _place(cursor: str) -> _Key:
    place = decode_cursor(cursor, ExecutionPlace)
    return from_micros(place.time), place.job


def _cursor(key: _Key) -> str | None:
    return encode_cursor(ExecutionPlace("executions", to_micros(key[0]), key[1]))
