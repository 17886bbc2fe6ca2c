"""Reads from the index which jobs can match a filter: every one that does, and some that do not any more."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg

from tickwork.model.job import PRIORITIES, JobStatus
from tickwork.model.job_filter import JobFilter
from tickwork.model.public_ids import to_micros
from tickwork.model.search_words import words_of
from tickwork.store.job_index.bit_sets import (
    CreationTimes,
    bits_of,
    bucket,
    decoded,
    own_slot,
    places_in_bucket,
    split,
    up_to,
)
from tickwork.store.job_index.terms import ALL, ONCE, RECURRING, STATUSES, term_hash, word_hash
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

Bits = Mapping[int, int]  # of segments
_MOST_LISTED = 20_000  # jobs that are listed one by one; if there are more, the index has to do without them
_FIRST, _LAST = -(2**63), 2**63 - 1


class IndexState(NamedTuple):
    """How far the index has come, as a search finds it when it begins."""

    indexed_to: int
    settled_time: datetime
    settled_job: int
    last_id: int  # of any job
    changed: Bits  # jobs that were changed since, which every search looks at
    segments: Sequence[int]


class Wanted(NamedTuple):
    """The jobs that have one of these terms, and others that are not known to have none."""

    any_of: tuple[int, ...]
    others: Bits


class LikelyJobs(NamedTuple):
    """The jobs that can match a condition of a filter: these, or those that the index names; else any."""

    listed: Bits | None = None
    indexed: Wanted | None = None
    new: Bits | None = None  # those of them that may not be indexed yet; None: any


class Candidates(NamedTuple):
    """Which sets of the index to intersect."""

    all_of: Sequence[Wanted]
    none_of: Sequence[int]
    among: Bits | None  # if given, only these jobs
    narrows: bool  # not all jobs are candidates
    is_exact: bool  # all that the filter asks for is in the sets

    def segments(self, state: "IndexState") -> list[int]:
        return [each for each in state.segments if self.among is None or each in self.among]

    def terms(self) -> list[int]:
        return [*dict.fromkeys((*(term for each in self.all_of for term in each.any_of), *self.none_of))]


def bits_by_segment(jobs: Iterable[int]) -> Bits:
    found = defaultdict(list)
    for job in jobs:
        segment, place = split(job)
        found[segment].append(place)
    return {segment: bits_of(places) for segment, places in found.items()}


def joined(parts: Iterable[Bits]) -> Bits:
    found: dict[int, int] = defaultdict(int)
    for part in parts:
        for segment, bits in part.items():
            found[segment] |= bits
    return found


def _common(one: Bits, other: Bits) -> Bits:
    return {segment: bits & other[segment] for segment, bits in one.items() if segment in other}


class IndexReader:
    def __init__(self, database: Database, tenant_id: int) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._sql = queries("job_search")

    async def state(self) -> IndexState:
        """To be read first: what is indexed later is found anyway, by the row."""
        (row,) = await self._database.fetch(self._sql["index_state"], self._tenant_id)
        return IndexState(*row)._replace(changed=bits_by_segment(row["changed"]))

    async def candidates(self, wanted: JobFilter, state: IndexState, likely: LikelyJobs) -> Candidates:
        all_of = [Wanted((term,), {}) for term in _terms(wanted)]
        if likely.indexed is not None:
            all_of.append(likely.indexed)
        among = likely.listed
        none_of: list[int] = []
        if wanted.status is JobStatus.ACTIVE:
            none_of = [term_hash("status", status) for status in STATUSES]
        elif wanted.status is JobStatus.PAUSED:
            all_of.append(Wanted((term_hash("status", wanted.status.value),), {}))
        elif wanted.status is not None and (ended := await self.with_status(wanted.status, state)):
            all_of.append(ended)
        created = await self._created(_range(wanted.created_after, wanted.created_before))
        if created is not None:
            among = created if among is None else _common(among, created)
        narrows = bool(all_of or none_of or among is not None)
        return Candidates(
            all_of=all_of if all_of or likely.listed is not None else [Wanted((term_hash(ALL),), {})],
            none_of=none_of,
            among=among,
            narrows=narrows,
            is_exact=_is_exact(wanted),
        )

    async def with_status(self, status: JobStatus, state: IndexState) -> Wanted | None:
        """The jobs that have a status, or may have. None: too many to list."""
        others = await self._unsettled(status, state)
        return None if others is None else Wanted((term_hash("status", status.value),), others)

    async def _unsettled(self, status: JobStatus, state: IndexState) -> Bits | None:
        """Jobs that may have ended though the index does not know it. None: too many to list."""
        place = state.settled_time, state.settled_job
        rows = await self._database.fetch(self._sql["unended_jobs"], self._tenant_id, *place, _MOST_LISTED)
        if status is JobStatus.COMPLETED:
            rows += await self._database.fetch(
                self._sql["ended_recurring_jobs"], self._tenant_id, _MOST_LISTED
            )
        return bits_by_segment(row["id"] for row in rows) if len(rows) < _MOST_LISTED else None

    async def bits(self, candidates: Candidates, state: IndexState, segments: Sequence[int]) -> Bits:
        """The places of the candidates in some segments."""
        sets = await self._sets(candidates.terms(), segments)
        return {
            segment: bits for segment in segments if (bits := _intersection(candidates, state, sets, segment))
        }

    async def _sets(self, terms: Sequence[int], segments: Sequence[int]) -> dict[tuple[int, int], int]:
        if not terms:
            return {}
        rows = await self._database.fetch(
            self._sql["sets_of_terms"],
            self._tenant_id, list(segments), [own_slot(term) for term in terms], [bucket(term) for term in terms],
        )  # fmt: skip
        return {(row["segment"], terms[row["term"] - 1]): _set(row, terms[row["term"] - 1]) for row in rows}

    async def _created(self, wanted: tuple[int, int] | None) -> Bits | None:
        """The places of jobs that may have been created in a range."""
        if wanted is None:
            return None
        rows = await self._database.fetch(self._sql["creation_of_segments"], self._tenant_id)
        return {
            row["segment"]: bits for row in rows if (bits := CreationTimes(row["created"]).within(*wanted))
        }


def _set(row: asyncpg.Record, term: int) -> int:
    if row["slot"] < 0:
        return decoded(row["jobs"])
    return bits_of(places_in_bucket(row["jobs"], term))


def _intersection(
    candidates: Candidates, state: IndexState, sets: Mapping[tuple[int, int], int], segment: int
) -> int:
    bits = -1
    for each in candidates.all_of:
        found = each.others.get(segment, 0)
        for term in each.any_of:
            found |= sets.get((segment, term), 0)
        bits &= found
    for term in candidates.none_of:
        bits &= ~sets.get((segment, term), 0)
    bits |= state.changed.get(segment, 0)
    if candidates.among is not None:
        bits &= candidates.among.get(segment, 0)
    last, place = split(state.indexed_to)
    return bits & up_to(place) if segment == last else bits if segment < last else 0


def _terms(wanted: JobFilter) -> list[int]:
    named = {
        "task": wanted.exact_task,
        "under": wanted.task_prefix,
        "queue": wanted.queue,
        "owner": wanted.owner,
    }
    terms = [term_hash(kind, value) for kind, value in named.items() if value is not None]
    terms += [term_hash("tag", tag) for tag in wanted.tag]
    terms += [word_hash(word) for word in words_of(wanted.q or "")]
    if wanted.priority:
        terms.append(term_hash("priority", str(PRIORITIES.index(wanted.priority))))
    if wanted.recurring is not None:
        terms.append(term_hash(RECURRING if wanted.recurring else ONCE))
    return terms


def _is_exact(wanted: JobFilter) -> bool:
    """Whether nothing has to be looked at but whether the job is still there."""
    return not any(
        (wanted.status, wanted.health, wanted.q, wanted.created_after, wanted.created_before,
         wanted.due_after, wanted.due_before)
    )  # fmt: skip


def _range(after: datetime | None, before: datetime | None) -> tuple[int, int] | None:
    if after is None and before is None:
        return None
    return _FIRST if after is None else to_micros(after), _LAST if before is None else to_micros(before)
