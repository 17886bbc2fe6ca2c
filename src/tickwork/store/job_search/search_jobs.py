"""Searches jobs: newest or oldest first, by health, and counts them. The index says which jobs to look at.

Every job that it names is read and checked again, so a set that is behind costs a look and never a wrong answer. Jobs
that are not indexed yet are read directly.
"""

from collections.abc import AsyncIterator, Collection, Iterator
from itertools import chain, islice, repeat
from time import monotonic

import asyncpg

from tickwork.model.job_filter import EVERY_JOB, JobCount, JobCountKind, JobFilter, JobPage
from tickwork.model.job_health import UNKNOWN_STATE, Health
from tickwork.store.job_health_store import PostgresJobHealthStore
from tickwork.store.job_index.bit_sets import SEGMENT, places_of, split, up_to
from tickwork.store.job_index.read_index import Bits, Candidates, IndexReader, IndexState, LikelyJobs
from tickwork.store.job_search.by_next_run import NextRunSearch
from tickwork.store.job_search.check_found_jobs import JobMatcher
from tickwork.store.job_search.health_candidates import HEALTH_ORDER, HealthCandidates
from tickwork.store.job_search.jobs_due_between import DueCandidates
from tickwork.store.page_cursor import HealthPlace, JobPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.query_files import queries
from tickwork.store.row_views import job_of

_SEGMENTS_TOGETHER = (2, 8, 32, 128)  # read in the first steps; then as many as in the last
_JOBS_TOGETHER = (400, 1600)  # looked at after the first, which are as many as fit on the page
_JOBS_TOGETHER_FOR_HEALTH = (100, 200, 400)  # likewise if how they are doing has to be found out
_ALL_TOGETHER = 64
_LARGEST = 2**63 - 1
_PAGE_WITHIN = 10.0  # seconds; what is not found by then is left to the next page
_COUNT_WITHIN = 2.0
_COUNTED_TOGETHER = 20_000
_LOOKED_AT_TOGETHER = 2000
_SAMPLE = 500


class PostgresJobSearch:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._health = PostgresJobHealthStore(database)
        self._sql = queries("job_search")

    async def page(self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
        if wanted.key is not None:
            return await self._page(tenant_id, await self._with_key(tenant_id, wanted), None)
        match wanted.sort:
            case "health":
                return await self._by_health(tenant_id, wanted, limit, cursor)
            case "next_run_at":
                search = NextRunSearch(self._database, tenant_id, wanted)
                return await self._page(tenant_id, *await search.page(limit, cursor))
        newest_first = wanted.sort == "-created_at"
        first = _LARGEST if newest_first else 0
        begin = decode_cursor(cursor, JobPlace).id if cursor else first
        if wanted == EVERY_JOB:  # no index has to be asked
            rows = await self._database.fetch(self._sql["all_newest_first"], tenant_id, begin, limit)
            place = rows[-1]["id"] if len(rows) == limit else None
        else:
            by_id = await self._search(tenant_id, wanted)
            rows, place = await by_id.page(begin, limit, newest_first=newest_first)
        return await self._page(
            tenant_id, rows, encode_cursor(None if place is None else JobPlace("jobs", place))
        )

    async def _page(self, tenant_id: int, rows: list[asyncpg.Record], cursor: str | None) -> JobPage:
        states = await self._health.states(tenant_id, [row["id"] for row in rows]) if rows else {}
        return JobPage([job_of(row, states.get(row["id"], UNKNOWN_STATE)) for row in rows], cursor)

    async def ids(self, tenant_id: int, wanted: JobFilter, limit: int) -> list[int]:
        by_id = await self._search(tenant_id, wanted)
        rows, _ = await by_id.page(_LARGEST, limit, newest_first=True)
        return [row["id"] for row in rows]

    async def _with_key(self, tenant_id: int, wanted: JobFilter) -> list[asyncpg.Record]:
        """At most one job has it."""
        row = await self._database.fetchrow(
            queries("read_jobs_executions_workers")["job_with_key"], tenant_id, wanted.key
        )
        return await JobMatcher(self._database, tenant_id, wanted).among([row["id"]]) if row else []

    async def _by_health(self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
        """What fails, then what is blocked, then what is late, then the others; each newest first."""
        begin = decode_cursor(cursor, HealthPlace) if cursor else HealthPlace("jobs by health", 0, _LARGEST)
        rows: list[asyncpg.Record] = []
        state = await IndexReader(self._database, tenant_id).state()
        for rank, health in [*enumerate(HEALTH_ORDER)][begin.rank :]:
            if wanted.health is not None and wanted.health not in health:
                continue
            either = (wanted.health,) if wanted.health else health
            search = await self._search(tenant_id, wanted, either, state)
            after = begin.id if rank == begin.rank else _LARGEST
            found, place = await search.page(after, limit - len(rows), newest_first=True)
            rows += found
            if place is not None:
                place_of_next = encode_cursor(HealthPlace("jobs by health", rank, place))
                return await self._page(tenant_id, rows, place_of_next)
        return await self._page(tenant_id, rows, None)

    async def _search(
        self,
        tenant_id: int,
        wanted: JobFilter,
        health: Collection[Health] | None = None,
        state: IndexState | None = None,
    ) -> "_SearchById":
        """`health`: one of these, instead of what the filter says. `state`: if it has been read before."""
        if health is None and wanted.health:
            health = (wanted.health,)
        reader = IndexReader(self._database, tenant_id)
        state = state or await reader.state()
        likely = LikelyJobs()
        if health is not None:
            likely = await HealthCandidates(self._database, tenant_id).jobs(health, reader, state)
        if likely == LikelyJobs():
            likely = await DueCandidates(self._database, tenant_id, wanted, state).jobs()
        candidates = await reader.candidates(wanted, state, likely)
        match = JobMatcher(self._database, tenant_id, wanted, health)
        return _SearchById(reader, state, candidates, match, _new_among(likely.new, state))

    async def count(self, tenant_id: int, wanted: JobFilter, kind: JobCountKind) -> JobCount:
        if wanted.key is not None:
            return JobCount(len(await self._with_key(tenant_id, wanted)), "exact")
        if wanted.sort == "next_run_at":
            wanted = NextRunSearch.with_next_run(wanted)
        search = await self._search(tenant_id, wanted)
        return await (search.count_exactly() if kind == "exact" else search.estimate())


class _SearchById:
    """Finds jobs in the order of their ids, which is that of their creation."""

    def __init__(
        self,
        reader: IndexReader,
        state: IndexState,
        candidates: Candidates,
        match: JobMatcher,
        new: list[int] | None,
    ) -> None:
        """`new`: the candidates that are not indexed yet, newest first; None: all that are not."""
        self._reader = reader
        self._state = state
        self._candidates = candidates
        self._match = match
        self._new = new

    async def page(
        self, begin: int, limit: int, *, newest_first: bool
    ) -> tuple[list[asyncpg.Record], int | None]:
        """The jobs after `begin`, and where the next page begins; None: there are no more."""
        rows: list[asyncpg.Record] = []
        stop_at = monotonic() + _PAGE_WITHIN
        if newest_first:
            rows = await self._new_jobs(self._state.indexed_to, begin, limit, newest_first=True)
        sizes = _JOBS_TOGETHER_FOR_HEALTH if self._match.looks_at_health else _JOBS_TOGETHER
        async for jobs in self._jobs(begin, (limit, *sizes), newest_first=newest_first):
            if len(rows) == limit:
                break
            rows += await self._match.among(jobs, limit - len(rows))
            if monotonic() > stop_at and len(rows) < limit:
                return rows, jobs[-1]
        if not newest_first:
            after, room = max(self._state.indexed_to, begin), limit - len(rows)
            rows += await self._new_jobs(after, _LARGEST, room, newest_first=False)
        return rows, rows[-1]["id"] if len(rows) == limit else None

    async def _new_jobs(
        self, after: int, before: int, limit: int, *, newest_first: bool
    ) -> list[asyncpg.Record]:
        """The first jobs in between that are not indexed yet and match."""
        if self._new is None:
            return await self._match.between(after, before, limit, newest_first=newest_first)
        jobs = [job for job in self._new if after < job < before]
        found: list[asyncpg.Record] = []
        for some in _cut(iter(jobs if newest_first else jobs[::-1]), _LOOKED_AT_TOGETHER):
            found += await self._match.among(some, limit - len(found))
            if len(found) == limit:
                break
        return found

    async def count_exactly(self) -> JobCount:
        """Jobs that the index knows all about are only counted; the others are looked at."""
        stop_at = monotonic() + _COUNT_WITHIN
        count = len(await self._new_jobs(self._state.indexed_to, _LARGEST, _LARGEST, newest_first=True))
        known, unsure = _Waiting(_COUNTED_TOGETHER), _Waiting(_LOOKED_AT_TOGETHER)
        async for segment, bits in self._bits(repeat(_ALL_TOGETHER), newest_first=True):
            doubtful = bits & self._state.changed.get(segment, 0) if self._candidates.is_exact else bits
            known.add(segment, bits ^ doubtful)
            unsure.add(segment, doubtful)
            for jobs in known.full():
                count += await self._match.count_existing(jobs)
            for jobs in unsure.full():
                count += len(await self._match.among(jobs))
                if monotonic() > stop_at:
                    return JobCount(count, "at least")
            if monotonic() > stop_at:
                return JobCount(count, "at least")
        count += await self._match.count_existing(known.rest) if known.rest else 0
        count += len(await self._match.among(unsure.rest)) if unsure.rest else 0
        return JobCount(count, "exact")

    async def estimate(self) -> JobCount:
        """By the sizes of the sets, and by how many of a sample match."""
        new = len(await self._new_jobs(self._state.indexed_to, _LARGEST, _LARGEST, newest_first=True))
        found = [each async for each in self._bits(repeat(_ALL_TOGETHER), newest_first=True)]
        count = sum(bits.bit_count() for _, bits in found)
        if self._candidates.is_exact and count > _SAMPLE:
            return JobCount(count + new, "estimate")
        each = _SAMPLE if count <= _SAMPLE else -(-_SAMPLE // len(found))
        sample = [job for segment, bits in found for job in islice(_jobs(segment, bits), each)]
        matching = len(await self._match.among(sample)) if sample else 0
        if count <= _SAMPLE:
            return JobCount(matching + new, "exact")
        return JobCount(round(count * matching / len(sample)) + new, "estimate")

    async def _jobs(
        self, begin: int, sizes: tuple[int, ...], *, newest_first: bool
    ) -> AsyncIterator[list[int]]:
        """The candidates after `begin`, in order, in chunks that grow."""
        size = _growing(sizes)
        found: list[int] = []
        room = next(size)
        async for segment, bits in self._bits(_growing(_SEGMENTS_TOGETHER), begin, newest_first=newest_first):
            jobs = _jobs(segment, bits, newest_first=newest_first)
            while chunk := list(islice(jobs, room - len(found))):
                found += chunk
                if len(found) == room:
                    yield found
                    found, room = [], next(size)
        if found:
            yield found

    async def _bits(
        self, together: Iterator[int], begin: int | None = None, *, newest_first: bool
    ) -> AsyncIterator[tuple[int, int]]:
        """The candidates of each segment that has any, in order."""
        segments = self._candidates.segments(self._state)
        if newest_first:
            segments.reverse()
        if begin is not None:
            limit, place = split(begin)
            segments = [each for each in segments if (each <= limit if newest_first else each >= limit)]
        waiting = iter(segments)
        while some := list(islice(waiting, next(together))):
            found = await self._reader.bits(self._candidates, self._state, some)
            for segment in some:
                bits = found.get(segment, 0)
                if begin is not None and segment == limit:
                    bits &= up_to(place - 1) if newest_first else ~up_to(place)
                if bits:
                    yield segment, bits


class _Waiting:
    """Jobs of many segments that are dealt with together, when there are enough of them."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.rest: list[int] = []

    def add(self, segment: int, bits: int) -> None:
        self.rest += _jobs(segment, bits)

    def full(self) -> Iterator[list[int]]:
        while len(self.rest) >= self._enough:
            part, self.rest = self.rest[: self._enough], self.rest[self._enough :]
            yield part


def _new_among(likely: Bits | None, state: IndexState) -> list[int] | None:
    if likely is None:
        return None
    segments = sorted((each for each in likely if each >= state.indexed_to // SEGMENT), reverse=True)
    return [job for each in segments for job in _jobs(each, likely[each]) if job > state.indexed_to]


def _growing(sizes: tuple[int, ...]) -> Iterator[int]:
    return chain(sizes, repeat(sizes[-1]))


def _jobs(segment: int, bits: int, *, newest_first: bool = True) -> Iterator[int]:
    return (segment * SEGMENT + place for place in places_of(bits, newest_first=newest_first))


def _cut(jobs: Iterator[int], size: int) -> Iterator[list[int]]:
    while part := list(islice(jobs, size)):
        yield part
