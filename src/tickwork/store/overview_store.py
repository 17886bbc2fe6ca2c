"""What is out of the ordinary: failing jobs, dead letters and failing pings, counted up to a limit, and queues that
need a worker."""

from collections.abc import Sequence
from typing import NamedTuple

from tickwork.model.job import HTTP_TASK
from tickwork.model.overview import FailingJob
from tickwork.model.public_ids import job_id
from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class Exceptions(NamedTuple):
    failing_jobs: int
    dead_letters: int
    failing_pings: int


class PostgresOverviewStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("overview")

    async def count_exceptions(self, tenant_id: int, at_most: int) -> Exceptions:
        (row,) = await self._database.fetch(self._sql["count_exceptions"], tenant_id, at_most)
        return Exceptions(*row)

    async def queues_with_tasks(self, tenant_id: int, queues: Sequence[str]) -> list[str]:
        """Those that have been used for other jobs than HTTP jobs."""
        rows = await self._database.fetch(self._sql["queues_with_tasks"], tenant_id, list(queues), HTTP_TASK)
        return [row["queue"] for row in rows]

    async def failing_jobs(self, tenant_id: int, looked_at: int, limit: int) -> list[FailingJob]:
        rows = await self._database.fetch(self._sql["failing_jobs_of_tenant"], tenant_id, looked_at, limit)
        return [
            FailingJob(
                job_id=job_id(row["job_id"]),
                name=row["name"],
                key=row["key"],
                task=row["task"],
                queue=row["queue"],
                failures_in_a_row=row["failures_in_a_row"],
                failing_since=row["failing_since"],
                last_failed_at=row["last_failed_at"],
            )
            for row in rows
        ]
