"""Writes sets of jobs into the index."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tickwork.store.job_index.bit_sets import (
    bits_of,
    bucket,
    decoded,
    encoded,
    entries,
    own_slot,
    places_in_bucket,
    places_of,
    without_entry,
)
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries

_MANY = 32  # jobs: a term that so many get together has a row of its own

_Key = tuple[int, int, int]  # tenant, segment, slot


class Segment(NamedTuple):
    tenant_id: int
    number: int


class Row(NamedTuple):
    tenant_id: int
    segment: int
    slot: int
    jobs: bytes


class SetChanges:
    """Which jobs of which segments get or lose a term."""

    def __init__(self) -> None:
        self.added: dict[Segment, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.removed: dict[Segment, dict[int, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, segment: Segment, term: int, bits: int) -> None:
        self.added[segment][term] |= bits

    def remove(self, segment: Segment, term: int, bits: int) -> None:
        self.removed[segment][term] |= bits


class NewSets:
    """The terms of jobs of one segment that the index does not have yet."""

    def __init__(self, segment: int) -> None:
        self._segment = segment
        self._large = SetChanges()
        self._small: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))

    def add(self, tenant_id: int, terms: Iterable[int], found: list[int]) -> None:
        if len(found) < _MANY:
            small = self._small[tenant_id]
            for term in terms:
                small[term].extend(found)
        else:
            segment, bits = Segment(tenant_id, self._segment), bits_of(found)
            for term in terms:
                self._large.add(segment, term, bits)

    async def write(self, connection: Connection) -> None:
        own = await self._own_slots(connection)
        shared: dict[_Key, bytearray] = defaultdict(bytearray)
        for tenant_id, small in self._small.items():
            segment = Segment(tenant_id, self._segment)
            large = self._large.added[segment]
            for term, found in small.items():
                if len(found) >= _MANY or term in large or (tenant_id, own_slot(term)) in own:
                    self._large.add(segment, term, bits_of(found))
                else:
                    shared[*segment, bucket(term)] += entries(term, found)
        await write_changes(connection, self._large)
        await _append(connection, [Row(*key, bytes(jobs)) for key, jobs in shared.items()])

    async def _own_slots(self, connection: Connection) -> set[tuple[int, int]]:
        tenants = [*self._small]
        rows = await connection.fetch(queries("job_index")["own_slots"], self._segment, tenants)
        return {(row["tenant_id"], row["slot"]) for row in rows}


async def write_changes(connection: Connection, changes: SetChanges) -> None:
    """Add and remove. A term that many jobs have is moved from the row that it shares into one of its own."""
    touched = sorted(
        {
            (segment, term)
            for side in (changes.added, changes.removed)
            for segment, terms in side.items()
            for term in terms
        }
    )
    rows = await read_rows(connection, touched)
    written: dict[_Key, bytes] = {}
    for segment, term in touched:
        own, shared = (*segment, own_slot(term)), (*segment, bucket(term))
        data = rows.get(shared, b"")
        before = decoded(rows[own]) if own in rows else bits_of(places_in_bucket(data, term))
        after = before & ~changes.removed[segment][term] | changes.added[segment][term]
        if after == before:
            continue
        if own in rows or after.bit_count() >= _MANY:
            written[own] = rows[own] = encoded(after)
            after = 0
        kept = _changed_bucket(data, term, after)
        if kept != data:
            written[shared] = rows[shared] = kept
    await write_rows(connection, [Row(*key, jobs) for key, jobs in written.items()])


def _changed_bucket(data: bytes, term: int, wanted: int) -> bytes:
    there = bits_of(places_in_bucket(data, term))
    for place in places_of(there & ~wanted, newest_first=False):
        data = without_entry(data, term, place)
    return data + entries(term, places_of(wanted & ~there, newest_first=False))


async def read_rows(connection: Connection, touched: Sequence[tuple[Segment, int]]) -> dict[_Key, bytes]:
    """The rows that terms have of their own or share, by their keys."""
    if not touched:
        return {}
    rows = await connection.fetch(
        queries("job_index")["sets"],
        [segment.tenant_id for segment, _ in touched],
        [segment.number for segment, _ in touched],
        [own_slot(term) for _, term in touched],
        [bucket(term) for _, term in touched],
    )
    return {(row["tenant_id"], row["segment"], row["slot"]): row["jobs"] for row in rows}


async def write_rows(connection: Connection, rows: Sequence[Row]) -> None:
    if rows:
        sql = queries("job_index")["write_sets"]
        await connection.execute(sql, *map(list, zip(*sorted(rows), strict=True)))


async def _append(connection: Connection, rows: Sequence[Row]) -> None:
    if rows:
        sql = queries("job_index")["append_entries"]
        await connection.execute(sql, *map(list, zip(*sorted(rows), strict=True)))
