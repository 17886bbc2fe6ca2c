"""Brings the index of jobs up to date: new jobs, changed jobs, one-time jobs that ended, jobs that are gone.

Every step is one transaction, which also notes how far it came, and locks the index: so it can be repeated, interrupted
and done by any node.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg

from tickwork.model.job import PRIORITIES
from tickwork.store.job_index.bit_sets import (
    SEGMENT,
    CreationTimes,
    bits_of,
    bits_of_runs,
    bucket,
    decoded,
    encoded,
    entries_within,
    own_slot,
    places_in_bucket,
    places_of,
    split,
)
from tickwork.store.job_index.terms import ALL, ONCE, RECURRING, STATUSES, JobText, hash_of_due, term_hash
from tickwork.store.job_index.terms_of_new_jobs import JobTraits, hashes_of_kind
from tickwork.store.job_index.write_sets import (
    NewSets,
    Row,
    Segment,
    SetChanges,
    read_rows,
    write_changes,
    write_rows,
)
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_NEW_TOGETHER = 16_384  # ids
_CHANGES_TOGETHER = 1000
_DUE_TOGETHER = 5000
_UNENDED_TOGETHER = 1000
_ROWS_BEFORE_YIELD = 500  # so that indexing does not block the event loop for long
_START = datetime(1970, 1, 1, tzinfo=UTC)
_WORTH_CLEANING = 4  # a segment is written anew when one in so many of its jobs is gone
_EVERY = term_hash(ALL)
_CHANGEABLE = frozenset(
    (
        *(term_hash("status", status) for status in STATUSES),
        *(term_hash("priority", str(number)) for number in range(len(PRIORITIES))),
        term_hash(ONCE),
        term_hash(RECURRING),
        _EVERY,
    )
)


class PostgresJobIndex:
    def __init__(
        self,
        database: Database,
        *,
        wait_for: int = 2048,
        wait_at_most: timedelta = timedelta(minutes=1),
        settle_after: timedelta = timedelta(seconds=5),
    ) -> None:
        """`wait_for`: new or changed jobs, that searches look at one by one until there are this many of them.
        `settle_after`: how long after their due times one-time jobs are looked at. Most have ended by then, so that
        they are looked at once, and not noted and looked at again."""
        self._database = database
        self._wait_for = wait_for
        self._wait_at_most = wait_at_most
        self._settle_after = settle_after
        self._sql = queries("job_index")
        self._unended_place: tuple[int, datetime, int] = (0, _START, 0)

    async def index(self) -> int:
        """Index some new jobs. Returns how many ids were dealt with; 0: there is nothing to do for now."""
        few = max(self._wait_for // 8, 0)
        (row,) = await self._database.fetch(
            self._sql["is_anything_to_index"], self._wait_for, self._wait_at_most, few
        )
        if not row["is_any"]:
            return 0
        async with self._database.transaction() as connection:
            state = await connection.fetchrow(self._sql["lock_index"])
            if state is None:
                return 0
            changed = await self._index_changes(connection)
            if state["marked_id"] is None:
                await connection.execute(self._sql["set_mark"])
                return changed or 1
            if not await connection.fetchval(self._sql["is_mark_safe"]):
                return changed
            return changed + await self._index_new(connection, state)

    async def _index_new(self, connection: Connection, state: asyncpg.Record) -> int:
        begin = state["indexed_to"]
        end = min(state["marked_id"], begin + _NEW_TOGETHER, (begin + 1) // SEGMENT * SEGMENT + SEGMENT - 1)
        end = max(begin, end)
        if end > begin:
            await self._add_jobs(connection, begin, end)
        await connection.execute(self._sql["set_indexed"], end)
        return int(end - begin)

    async def _add_jobs(self, connection: Connection, begin: int, end: int) -> None:
        """The jobs after `begin` up to `end`, all of one segment."""
        number, _ = split(end)
        rows = await connection.fetch(self._sql["jobs_to_index"], begin, end)
        gathered: dict[int, JobTraits] = defaultdict(JobTraits)
        for count, row in enumerate(rows, start=1):
            gathered[row["tenant_id"]].add(row)
            if count % _ROWS_BEFORE_YIELD == 0:
                await asyncio.sleep(0)
        for row in await connection.fetch(self._sql["due_times_to_index"], begin, end):
            gathered[row["tenant_id"]].add_due(row)
        new = NewSets(number)
        for tenant_id, traits in gathered.items():
            for count, (terms, found) in enumerate(traits.terms(), start=1):
                new.add(tenant_id, terms, found)
                if count % _ROWS_BEFORE_YIELD == 0:
                    await asyncio.sleep(0)
        await new.write(connection)
        await self._note_creation(connection, number, begin, end)
        await connection.execute(self._sql["note_late_jobs"], begin, end)

    async def _note_creation(self, connection: Connection, number: int, begin: int, end: int) -> None:
        rows = await connection.fetch(self._sql["creation_times"], begin, end)
        tenants = list({row["tenant_id"] for row in rows})
        before = await connection.fetch(self._sql["created_of_segments"], number, tenants)
        times = {row["tenant_id"]: CreationTimes(row["created"]) for row in before}
        for row in rows:
            times.setdefault(row["tenant_id"], CreationTimes()).note(row["block"], row["first"], row["last"])
        await connection.execute(
            self._sql["write_segments"], number, list(times), [each.encoded() for each in times.values()]
        )

    async def _index_changes(self, connection: Connection) -> int:
        rows = await connection.fetch(self._sql["changes"], _CHANGES_TOGETHER)
        if not rows:
            return 0
        before: dict[tuple[int, int], set[int]] = defaultdict(set)
        for row in rows:
            before[row["tenant_id"], row["job_id"]] |= _text(row).hashes() | _due(row)
        jobs = await connection.fetch(self._sql["jobs_as_changed"], *map(list, zip(*before, strict=True)))
        now = {(row["tenant_id"], row["id"]): row for row in jobs}
        changes = SetChanges()
        for (tenant_id, job), terms in before.items():
            _change(changes, tenant_id, job, terms, now.get((tenant_id, job)))
        await write_changes(connection, changes)
        await self._note_unended(connection, [row for row in jobs if _is_unended(row)])
        await connection.execute(self._sql["forget_changes"], [row["id"] for row in rows])
        return len(rows)

    async def _note_unended(self, connection: Connection, jobs: Sequence[asyncpg.Record]) -> None:
        if jobs:
            noted = [(row["tenant_id"], row["scheduled_for"], row["id"]) for row in jobs]
            await connection.execute(self._sql["note_unended_jobs"], *map(list, zip(*noted, strict=True)))

    async def settle(self) -> int:
        """Note how one-time jobs ended. Returns how many were looked at for the first time."""
        (row,) = await self._database.fetch(self._sql["is_anything_to_settle"], self._settle_after)
        if not row["is_any"]:
            return 0
        async with self._database.transaction() as connection:
            state = await connection.fetchrow(self._sql["lock_index"])
            if state is None:
                return 0
            changes = SetChanges()
            looked_at = await self._settle_due(connection, state, changes)
            await self._settle_unended(connection, changes)
            await write_changes(connection, changes)
        return looked_at

    async def _settle_due(self, connection: Connection, state: asyncpg.Record, changes: SetChanges) -> int:
        """Only as far as all jobs that were created by then are indexed: later ones have later due times."""
        until = min(state["indexed_at"], state["now"] - self._settle_after)
        place = state["settled_time"], state["settled_job"]
        rows = await connection.fetch(self._sql["settle_due_jobs"], *place, until, _DUE_TOGETHER)
        if not rows:
            return 0
        _end(changes, rows)
        last = max(row["last_time"] for row in rows)
        job = max(row["last_job"] or 0 for row in rows)
        await connection.execute(self._sql["set_settled"], last, job)
        return sum(len(row["places"]) for row in rows)

    async def _settle_unended(self, connection: Connection, changes: SetChanges) -> None:
        """Those that had not ended are looked at again in turn."""
        place = self._unended_place
        end = await connection.fetchrow(self._sql["place_among_unended"], *place, _UNENDED_TOGETHER)
        _end(changes, await connection.fetch(self._sql["settle_unended_jobs"], *place, _UNENDED_TOGETHER))
        self._unended_place = tuple(end) if end else (0, _START, 0)

    async def clean(self, after: tuple[int, int]) -> tuple[int, int] | None:
        """Remove the jobs that are gone from the segment after this one, and note those that it misses. Returns the
        segment; None: there is none after it."""
        async with self._database.transaction() as connection:
            state = await connection.fetchrow(self._sql["lock_index"])
            row = await connection.fetchrow(self._sql["next_segment"], *after)
            if state is None or row is None:
                return None
            segment = Segment(*row)
            await self._clean(connection, segment, state["indexed_to"])
        return segment

    async def _clean(self, connection: Connection, segment: Segment, indexed_to: int) -> None:
        runs = await connection.fetchrow(self._sql["runs_of_segment"], *segment)
        there = bits_of_runs(runs["first"] or (), runs["last"] or ()) if runs else 0
        indexed = await _indexed_jobs(connection, segment)
        gone = indexed & ~there
        if gone.bit_count() * _WORTH_CLEANING >= indexed.bit_count() > 0 or not there:
            await self._keep(connection, segment, there)
        first = segment.number * SEGMENT
        missing = [first + place for place in places_of(there & ~indexed, newest_first=False)]
        missing = [job for job in missing if job <= indexed_to]
        if missing:
            await connection.execute(self._sql["note_missing_jobs"], segment.tenant_id, missing)
            await self._note_creation(connection, segment.number, missing[0] - 1, missing[-1])
        if not there:
            await connection.execute(self._sql["delete_segment"], *segment)

    async def _keep(self, connection: Connection, segment: Segment, there: int) -> None:
        stored = await connection.fetch(self._sql["sets_of_segment"], *segment)
        rows = {row["slot"]: row["jobs"] for row in stored}
        kept = {
            slot: encoded(bits) if slot < 0 and (bits := decoded(jobs) & there) else b""
            for slot, jobs in rows.items()
            if slot < 0
        } | {slot: entries_within(jobs, there) for slot, jobs in rows.items() if slot >= 0}
        await write_rows(
            connection,
            [Row(*segment, slot, jobs) for slot, jobs in kept.items() if jobs and jobs != rows[slot]],
        )
        empty = [slot for slot, jobs in kept.items() if not jobs]
        await connection.execute(self._sql["delete_sets"], *segment, empty)


async def _indexed_jobs(connection: Connection, segment: Segment) -> int:
    own, shared = own_slot(_EVERY), bucket(_EVERY)
    rows = await read_rows(connection, [(segment, _EVERY)])
    if (*segment, own) in rows:
        return decoded(rows[*segment, own])
    return bits_of(places_in_bucket(rows.get((*segment, shared), b""), _EVERY))


def _text(row: asyncpg.Record) -> JobText:
    return JobText(*(row[field] for field in JobText._fields))


def _due(row: asyncpg.Record) -> set[int]:
    due = hash_of_due(row["rule_id"], row["scheduled_for"])
    return set() if due is None else {due}


def _terms(row: asyncpg.Record) -> set[int]:
    kind = hashes_of_kind(row["priority"], row["rule_id"] is None, row["status"])
    return _text(row).hashes().union(kind, _due(row))


def _change(
    changes: SetChanges, tenant_id: int, job: int, before: set[int], row: asyncpg.Record | None
) -> None:
    """From the terms that it had, and all that it may have had, to those that it has now."""
    number, place = split(job)
    segment, bit = Segment(tenant_id, number), 1 << place
    now: set[int] = set() if row is None else _terms(row)
    for term in (before | _CHANGEABLE) - now:
        changes.remove(segment, term, bit)
    for term in now:
        changes.add(segment, term, bit)


def _is_unended(row: asyncpg.Record) -> bool:
    return bool(row["was_due"]) and row["status"] in ("active", "paused")


def _end(changes: SetChanges, rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        if row["status"] in STATUSES:
            segment = Segment(row["tenant_id"], row["segment"])
            changes.add(segment, term_hash("status", row["status"]), bits_of(row["places"]))
