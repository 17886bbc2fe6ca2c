"""Which jobs can have a health that is out of the ordinary: there are rows only for those."""

from collections.abc import Collection
from datetime import timedelta

from tickwork.model.job import JobStatus
from tickwork.model.job_health import Health
from tickwork.model.stream_event import LATE_AFTER
from tickwork.store.job_index.bit_sets import bits_of
from tickwork.store.job_index.read_index import (
    Bits,
    IndexReader,
    IndexState,
    LikelyJobs,
    bits_by_segment,
    joined,
)
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

# What needs attention most comes first.
HEALTH_ORDER: tuple[tuple[Health, ...], ...] = (("failing",), ("blocked",), ("late",), ("ok", "unknown"))
_MOST_LISTED = 20_000
_MOST_FAILING = 1_000_000
_LATE = timedelta(seconds=LATE_AFTER)


class HealthCandidates:
    def __init__(self, database: Database, tenant_id: int) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._sql = queries("job_search")

    async def jobs(self, health: Collection[Health], reader: IndexReader, state: IndexState) -> LikelyJobs:
        """The jobs that can have one of these."""
        match [*health]:
            case ["failing"]:
                return await self._failed_or_failing(reader, state)
            case ["blocked"]:
                return _only(await self._listed("blocked_jobs"), state)
            case ["late"]:
                return _only(await self._listed("late_jobs", _LATE), state)
            case _:
                return LikelyJobs()

    async def _failed_or_failing(self, reader: IndexReader, state: IndexState) -> LikelyJobs:
        """One-time jobs that failed are in the index, unless that is not known yet."""
        failed = await reader.with_status(JobStatus.FAILED, state)
        if failed is None:
            return LikelyJobs()
        others = joined([failed.others, await self._failing()])
        return LikelyJobs(indexed=failed._replace(others=others), new=joined([others, state.changed]))

    async def _failing(self) -> Bits:
        rows = await self._database.fetch(self._sql["jobs_that_fail"], self._tenant_id, _MOST_FAILING)
        return {row["segment"]: bits_of(row["places"]) for row in rows}

    async def _listed(self, query: str, *arguments: object) -> Bits | None:
        rows = await self._database.fetch(self._sql[query], self._tenant_id, *arguments, _MOST_LISTED)
        return bits_by_segment(row["id"] for row in rows) if len(rows) < _MOST_LISTED else None


def _only(jobs: Bits | None, state: IndexState) -> LikelyJobs:
    if jobs is None:
        return LikelyJobs()
    listed = joined([jobs, state.changed])
    return LikelyJobs(listed=listed, new=listed)
