"""Searches jobs by when they run next, the soonest first.

Recurring jobs come in the order of their rules, one-time jobs in that of their due times, and the two are merged. If a
filter leaves few candidates, these are read and sorted instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import NamedTuple

import asyncpg

from tickwork.model.field_types import EARLIEST, to_utc
from tickwork.model.job_filter import JobFilter
from tickwork.model.public_ids import from_micros, to_micros
from tickwork.store.job_index.bit_sets import SEGMENT, encoded, places_of, split
from tickwork.store.job_index.read_index import Bits, Candidates, IndexReader, IndexState, LikelyJobs
from tickwork.store.job_search.check_found_jobs import JobMatcher
from tickwork.store.job_search.health_candidates import HealthCandidates
from tickwork.store.page_cursor import NextRunPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_FEW = 10_000  # candidates that are sorted
_SLICES = (500, 4_000, 16_000)  # next runs that are looked through; then as many as in the last
_LOOKED_AT = 500
_PAGE_WITHIN = 10.0  # seconds
_SEGMENTS_TOGETHER = 64
_LARGEST = 2**63 - 1
LATEST = datetime.max.replace(tzinfo=UTC)


class NextRun(NamedTuple):
    """When a job runs next, in the order in which jobs are listed. A one-time job has no rule: 0."""

    at: datetime
    rule: int
    priority: int
    job: int


class _Slice(NamedTuple):
    runs: list[NextRun]
    end: NextRun | None  # all up to this one; None: all


class NextRuns:
    """The next runs of a tenant's jobs in a range of time, in order."""

    def __init__(self, database: Database, tenant_id: int, wanted: JobFilter, state: IndexState) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._recurring = wanted.recurring
        self._state = state
        self._until = LATEST if wanted.due_before is None else to_utc(wanted.due_before)
        after = EARLIEST if wanted.due_after is None else to_utc(wanted.due_after)
        self.begin = NextRun(after, _LARGEST, 0, _LARGEST)
        self._changed: list[NextRun] | None = None
        self._sql = queries("job_search")

    async def after(self, place: NextRun, size: int) -> _Slice:
        """The next ones after a place, at least `size` of them if there are."""
        parts = [
            await self._of_rules(place, size) if self._recurring is not False else [],
            await self._of_one_time_jobs(place, size) if self._recurring is not True else [],
        ]
        ends = [part[-1] for part in parts if len(part) == size]
        end = min(ends, default=None)
        changed = await self._of_changed()
        runs = {
            run for part in (*parts, changed) for run in part if run > place and (end is None or run <= end)
        }
        return _Slice(sorted(run for run in runs if run.at < self._until), end)

    async def _of_rules(self, place: NextRun, size: int) -> list[NextRun]:
        return _runs(
            await self._database.fetch(
                self._sql["next_runs_of_rules"], self._tenant_id, *place, self._until, size
            )
        )

    async def _of_one_time_jobs(self, place: NextRun, size: int) -> list[NextRun]:
        job = place.job if place.rule == 0 else _LARGEST
        settled = self._state.settled_time, self._state.settled_job
        return _runs(
            await self._database.fetch(
                self._sql["next_runs_of_one_time_jobs"],
                self._tenant_id, place.at, job, self._until, size, *settled,
            )
        )  # fmt: skip

    async def _of_changed(self) -> list[NextRun]:
        if self._changed is None:
            self._changed = await self.of_jobs(list(_jobs(self._state.changed)))
        return self._changed

    async def of_jobs(self, jobs: Sequence[int]) -> list[NextRun]:
        if not jobs:
            return []
        return _runs(await self._database.fetch(self._sql["next_runs_of_jobs"], self._tenant_id, list(jobs)))


class NextRunSearch:
    def __init__(self, database: Database, tenant_id: int, wanted: JobFilter) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._wanted = self.with_next_run(wanted)
        self._match = JobMatcher(database, tenant_id, self._wanted)
        self._reader = IndexReader(database, tenant_id)

    @staticmethod
    def with_next_run(wanted: JobFilter) -> JobFilter:
        """Only jobs that will run again."""
        return wanted._replace(due_after=wanted.due_after or EARLIEST)

    async def page(self, limit: int, cursor: str | None) -> tuple[list[asyncpg.Record], str | None]:
        state = await self._reader.state()
        runs = NextRuns(self._database, self._tenant_id, self._wanted, state)
        place = max(runs.begin, _place(cursor)) if cursor else runs.begin
        candidates = await self._reader.candidates(self._wanted, state, await self._likely(state))
        bits = await self._bits(candidates, state) if candidates.narrows else None
        if bits is not None and _size(bits) + state.last_id - state.indexed_to <= _FEW:
            return await self._sorted(runs, bits, state, place, limit)
        return await self._in_order(runs, bits, state, place, limit)

    async def _likely(self, state: IndexState) -> LikelyJobs:
        """By their health."""
        if self._wanted.health is None:
            return LikelyJobs()
        health = HealthCandidates(self._database, self._tenant_id)
        return await health.jobs((self._wanted.health,), self._reader, state)

    async def _bits(self, candidates: Candidates, state: IndexState) -> Bits:
        found: dict[int, int] = {}
        segments = candidates.segments(state)
        for begin in range(0, len(segments), _SEGMENTS_TOGETHER):
            some = segments[begin : begin + _SEGMENTS_TOGETHER]
            found |= await self._reader.bits(candidates, state, some)
        return found

    async def _sorted(
        self, runs: NextRuns, bits: Bits, state: IndexState, place: NextRun, limit: int
    ) -> tuple[list[asyncpg.Record], str | None]:
        """All candidates are read and sorted."""
        new = await self._match.between(state.indexed_to, _LARGEST, _LARGEST, newest_first=True)
        found = await runs.of_jobs([*_jobs(bits), *(row["id"] for row in new)])
        later = sorted(run for run in found if run > place)
        rows: list[asyncpg.Record] = []
        for begin in range(0, len(later), _LOOKED_AT):
            some = [run.job for run in later[begin : begin + _LOOKED_AT]]
            rows += await self._match.among(some, limit - len(rows))
            if len(rows) == limit:
                break
        return _page(rows, {run.job: run for run in later}, limit)

    async def _in_order(
        self, runs: NextRuns, bits: Bits | None, state: IndexState, place: NextRun, limit: int
    ) -> tuple[list[asyncpg.Record], str | None]:
        """Next runs are looked through until the page is full."""
        rows: list[asyncpg.Record] = []
        seen: dict[int, NextRun] = {}
        sets = None if bits is None else {segment: encoded(found) for segment, found in bits.items()}
        stop_at = monotonic() + _PAGE_WITHIN
        for size in _sizes():
            part = await runs.after(place, size)
            likely = [run for run in part.runs if _is_candidate(run.job, sets, state)]
            seen |= {run.job: run for run in likely}
            for begin in range(0, len(likely), _LOOKED_AT):
                some = [run.job for run in likely[begin : begin + _LOOKED_AT]]
                rows += await self._match.among(some, limit - len(rows))
                if len(rows) == limit:
                    return _page(rows, seen, limit)
            if part.end is None:
                break
            place = part.end
            if monotonic() > stop_at:
                return rows, _cursor(place)
        return _page(rows, seen, limit)


def _page(
    rows: list[asyncpg.Record], runs: dict[int, NextRun], limit: int
) -> tuple[list[asyncpg.Record], str | None]:
    return rows, _cursor(runs[rows[-1]["id"]]) if len(rows) == limit else None


def _size(bits: Bits) -> int:
    return sum(found.bit_count() for found in bits.values())


def _is_candidate(job: int, sets: Mapping[int, bytes] | None, state: IndexState) -> bool:
    if sets is None or job > state.indexed_to:
        return True
    segment, place = split(job)
    return segment in sets and bool(sets[segment][place >> 3] >> (place & 7) & 1)


def _sizes() -> Iterator[int]:
    yield from _SLICES
    while True:
        yield _SLICES[-1]


def _runs(rows: Sequence[asyncpg.Record]) -> list[NextRun]:
    return [NextRun(*row) for row in rows]


def _jobs(bits: Bits) -> Iterator[int]:
    for segment, found in bits.items():
        for place in places_of(found, newest_first=False):
            yield segment * SEGMENT + place


def _place(cursor: str) -> NextRun:
    place = decode_cursor(cursor, NextRunPlace)
    return NextRun(from_micros(place.time), place.rule, place.priority, place.job)


def _cursor(run: NextRun) -> str | None:
    return encode_cursor(NextRunPlace("jobs by next run", to_micros(run.at), run.rule, run.priority, run.job))
