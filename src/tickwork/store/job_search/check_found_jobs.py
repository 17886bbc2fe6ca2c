"""Whether jobs match a filter, by the jobs themselves: what the index finds is only likely to match."""

from collections.abc import Collection, Sequence
from datetime import datetime

import asyncpg

from tickwork.model.field_types import to_utc
from tickwork.model.job import PRIORITIES
from tickwork.model.job_filter import JobFilter
from tickwork.model.job_health import Health
from tickwork.model.search_words import has_words, words_of
from tickwork.store.job_health_store import PostgresJobHealthStore
from tickwork.store.job_index.terms import JobText
from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class JobMatcher:
    def __init__(
        self, database: Database, tenant_id: int, wanted: JobFilter, health: Collection[Health] | None = None
    ) -> None:
        """`health`: one of these, instead of what the filter says."""
        self._database = database
        self._tenant_id = tenant_id
        self._conditions = _conditions(wanted)
        self._words = words_of(wanted.q or "")
        self._health = (wanted.health,) if health is None and wanted.health else health
        self._sql = queries("job_search")

    @property
    def looks_at_health(self) -> bool:
        return self._health is not None

    async def among(self, jobs: Sequence[int], limit: int | None = None) -> list[asyncpg.Record]:
        """Those of these jobs that match, in the given order; the first ones, if there is a limit."""
        at_most = limit if self._health is None else None  # how they are doing is found out for all together
        found: list[asyncpg.Record] = []
        while True:
            rows = await self._database.fetch(
                self._sql["matching_jobs"], self._tenant_id, *self._conditions, list(jobs), at_most
            )
            found += await self._narrowed(rows)
            if at_most is None or len(rows) < at_most or len(found) >= at_most:
                return found[:limit]
            jobs = jobs[jobs.index(rows[-1]["id"]) + 1 :]

    async def between(
        self, after: int, before: int, limit: int, *, newest_first: bool
    ) -> list[asyncpg.Record]:
        """The first jobs with ids in between that match, read directly."""
        sql = self._sql["new_jobs_newest_first" if newest_first else "new_jobs_oldest_first"]
        found: list[asyncpg.Record] = []
        while len(found) < limit:
            rows = await self._database.fetch(
                sql, self._tenant_id, *self._conditions, after, before, limit - len(found)
            )
            found += await self._narrowed(rows)
            if len(rows) == 0:
                break
            after, before = (after, rows[-1]["id"]) if newest_first else (rows[-1]["id"], before)
        return found

    async def count_existing(self, jobs: Sequence[int]) -> int:
        """How many of these jobs there are, whatever they look like."""
        (row,) = await self._database.fetch(self._sql["count_existing"], self._tenant_id, list(jobs))
        return int(row["count"])

    async def _narrowed(self, rows: list[asyncpg.Record]) -> list[asyncpg.Record]:
        """By what the queries do not look at: whole words, and health."""
        if self._words:
            rows = [row for row in rows if has_words(_text(row).words(), self._words)]
        if self._health is not None and rows:
            store = PostgresJobHealthStore(self._database)
            states = await store.states(self._tenant_id, [row["id"] for row in rows])
            rows = [row for row in rows if row["id"] in states and states[row["id"]].health in self._health]
        return rows


def _text(row: asyncpg.Record) -> JobText:
    return JobText(*(row[field] for field in JobText._fields))


def _conditions(wanted: JobFilter) -> tuple[object, ...]:
    """The parameters $2 to $14 of the queries in job_search.sql."""
    return (
        wanted.status, wanted.exact_task, wanted.task_prefix, wanted.queue,
        PRIORITIES.index(wanted.priority) if wanted.priority else None,
        list(wanted.tag), wanted.owner, wanted.recurring,
        [word for word in words_of(wanted.q or "") if word.isascii()],
        _utc(wanted.created_after), _utc(wanted.created_before), _utc(wanted.due_after), _utc(wanted.due_before),
    )  # fmt: skip


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else to_utc(at)
