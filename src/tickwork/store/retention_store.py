"""Deletes ended executions that are beyond the retention of their job, queue or tenant.

A node takes the next jobs by moving the one place that all nodes share, and then looks at them. If it dies, the next
pass finds what it left: nothing is noted as done before it is. Deleting locks executions as redriving does, so each of
the two sees what the other did.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import asyncpg

from tickwork.model.retention import Retention, RetentionView
from tickwork.model.stream_event import EventKind
from tickwork.store.delete_given_executions import delete_executions
from tickwork.store.pool import Connection, Database
from tickwork.store.port.retention import Gone, JobsToLookAt, JobToLookAt
from tickwork.store.query_files import queries

SETTLED_AFTER = timedelta(hours=1)  # by then an end was told, counted, and read by whoever waited for it
_PASS_INTERVAL = timedelta(minutes=10)
_JOBS_TOGETHER = 500
_RECURRING_TOGETHER = 50
_TIMES_OF_JOB = 200  # due times that are looked at by one statement
_DELETED_TOGETHER = 1000  # executions in one transaction
_MOST_KEPT = 1000  # due times of one job that are looked at again; what else had to stay goes with its day
_TENANT = ""  # the queue of a retention for all of them
_EVENTS = [str(kind) for kind in EventKind if kind.startswith("execution.")]

_Execution = tuple[int, datetime]  # the job and the due time
_Executions = frozenset[_Execution]
NOTHING_SAID = RetentionView(None, None)


async def set_retentions(
    connection: Connection, tenant_id: int, retention_of: Mapping[int, Retention]
) -> None:
    views = [retention.view() for retention in retention_of.values()]
    await connection.execute(
        queries("retention")["set_job_retentions"],
        tenant_id,
        list(retention_of),
        [view.period for view in views],
        [view.last for view in views],
    )


async def change_retention(
    connection: Connection, tenant_id: int, job: int, retention: Retention | None
) -> None:
    if retention:
        await set_retentions(connection, tenant_id, {job: retention})
    else:
        await connection.execute(queries("retention")["delete_job_retention"], tenant_id, job)


async def set_default_retention(
    connection: Connection, tenant_id: int, queue: str, retention: RetentionView
) -> None:
    """Of a queue, or of a tenant, whose queue is empty."""
    sql = queries("retention")
    if retention == NOTHING_SAID:
        await connection.execute(sql["delete_default_retention"], tenant_id, queue)
    else:
        await connection.execute(
            sql["set_default_retention"], tenant_id, queue, retention.period, retention.last
        )


def retention_view(row: asyncpg.Record | None) -> RetentionView:
    """Of a row with `age` and `last`."""
    if row is None:
        return NOTHING_SAID
    return RetentionView(None if row["age"] is None else row["age"].total_seconds(), row["last"])


class PostgresRetentionStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("retention")

    async def get(self, tenant_id: int) -> RetentionView:
        return retention_view(
            await self._database.fetchrow(self._sql["default_retention"], tenant_id, _TENANT)
        )

    async def set(self, tenant_id: int, retention: RetentionView) -> None:
        async with self._database.transaction() as connection:
            await set_default_retention(connection, tenant_id, _TENANT, retention)

    async def take_jobs(self) -> JobsToLookAt:
        (row,) = await self._database.fetch(self._sql["is_pass_due"])
        if not row["is_due"]:
            return JobsToLookAt([], more=False)
        async with self._database.transaction() as connection:
            place = await connection.fetchrow(self._sql["take_place"])
            if place is None:
                return JobsToLookAt([], more=False)  # another node is about to
            tenant_id = place["tenant_id"]
            rows = await connection.fetch(self._sql["jobs_to_look_at"], *place, _JOBS_TOGETHER)
            last = rows[-1]["id"] if len(rows) == _JOBS_TOGETHER else None
            more = await self._move_on(connection, tenant_id, last)
        said = (row for row in rows if row["age"] is not None or row["last"] is not None)
        return JobsToLookAt([JobToLookAt(tenant_id, *row) for row in said], more)

    async def _move_on(self, connection: Connection, tenant_id: int, job: int | None) -> bool:
        """From this job, or to the next tenant. Whether there is one."""
        if job is not None:
            await connection.execute(self._sql["set_place"], tenant_id, job, timedelta(0))
            return True
        tenant = await connection.fetchval(self._sql["next_tenant"], tenant_id)
        pause = timedelta(0) if tenant is not None else _PASS_INTERVAL
        await connection.execute(self._sql["set_place"], tenant or 0, 0, pause)
        return tenant is not None

    async def delete_beyond(self, jobs: Sequence[JobToLookAt]) -> Gone:
        deleted = await self._delete_one_time([job for job in jobs if not job.repeats and job.age])
        unfinished: list[JobToLookAt] = []
        recurring = [job for job in jobs if job.repeats]
        for begin in range(0, len(recurring), _RECURRING_TOGETHER):
            gone = await self._delete_recurring(recurring[begin : begin + _RECURRING_TOGETHER])
            deleted += gone.deleted
            unfinished += gone.unfinished
        return Gone(deleted, unfinished)

    async def _delete_one_time(self, jobs: Sequence[JobToLookAt]) -> int:
        """A job goes with its own execution, in a pass after its manual runs have gone."""
        if not jobs:
            return 0
        tenant_id = jobs[0].tenant_id
        rows = await self._database.fetch(
            self._sql["one_time_executions_beyond"], tenant_id, [job.id for job in jobs], [job.age for job in jobs]
        )  # fmt: skip
        return len(await self._delete(tenant_id, [(row["id"], row["at"]) for row in rows]))

    async def _delete_recurring(self, jobs: Sequence[JobToLookAt]) -> Gone:
        tenant_id, job_of = jobs[0].tenant_id, {job.id: job for job in jobs}
        rows = await self._database.fetch(
            self._sql["rounds_to_look_at"],
            tenant_id,
            [job.id for job in jobs],
            [job.age for job in jobs],
            [job.last for job in jobs],
            SETTLED_AFTER,
            _TIMES_OF_JOB,
        )
        looked = [_Looked(job, list(found)) for job, found in groupby(rows, itemgetter("id"))]
        gone = await self._delete(tenant_id, [ended for each in looked for ended in each.ended])
        for each in looked:
            await self._mark(tenant_id, each, gone)
        return Gone(len(gone), [job_of[each.job] for each in looked if each.is_full])

    async def _delete(self, tenant_id: int, ended: Sequence[_Execution]) -> _Executions:
        """Those that were deleted."""
        gone: _Executions = frozenset()
        for begin in range(0, len(ended), _DELETED_TOGETHER):
            async with self._database.transaction() as connection:
                some = _Deletion(connection, tenant_id)
                gone |= await some.delete(ended[begin : begin + _DELETED_TOGETHER])
        return gone

    async def _mark(self, tenant_id: int, looked: "_Looked", gone: Collection[_Execution]) -> None:
        if not looked.changes_mark:
            return
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["set_retention_mark"],
                tenant_id,
                looked.job,
                looked.next_look,
                looked.kept(gone),
                looked.last_look,
            )


class _Looked(NamedTuple):
    """What was found of a recurring job."""

    job: int
    rows: Sequence[asyncpg.Record]  # in the order of their due times

    @property
    def ended(self) -> Iterator[_Execution]:
        return ((self.job, row["at"]) for row in self.rows if row["has_ended"])

    @property
    def _rounds(self) -> list[datetime]:
        return [row["at"] for row in self.rows if row["is_round"]]

    @property
    def is_full(self) -> bool:
        """There may be more rounds to look at."""
        return len(self._rounds) == _TIMES_OF_JOB

    @property
    def last_look(self) -> datetime:
        looked_until: datetime = self.rows[0]["looked_until"]
        return looked_until

    @property
    def next_look(self) -> datetime:
        until: datetime = self.rows[0]["until"]
        return self._rounds[-1] if self.is_full else max(until, self.last_look)

    @property
    def changes_mark(self) -> bool:
        return bool(self._rounds) or any(row["was_kept"] for row in self.rows)

    def kept(self, gone: Collection[_Execution]) -> list[datetime]:
        """What is still there of the rounds, and of what had to stay before."""
        of_rounds = (
            row["at"] for row in self.rows if row["is_there"] and (row["is_round"] or row["was_kept"])
        )
        return sorted({at for at in of_rounds if (self.job, at) not in gone})[-_MOST_KEPT:]


class _Deletion:
    """In one transaction: some executions of a tenant, and the one-time jobs that go with them."""

    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._sql = queries("retention")

    async def delete(self, ended: Sequence[_Execution]) -> _Executions:
        once = await self._fetch("lock_one_time_jobs", sorted({job for job, _ in ended}))
        locked = await self._fetch("lock_ended", *_columns(ended))
        one_time_jobs = [row["id"] for row in once]
        rows = await self._fetch(
            "those_that_may_go", *_columns([(row["job_id"], row["scheduled_for"]) for row in locked]), one_time_jobs
        )  # fmt: skip
        gone = [(row["job_id"], row["at"]) for row in rows]
        if gone:
            jobs, times = _columns(gone)
            await self._connection.execute(self._sql["delete_events"], self._tenant_id, jobs, times, _EVENTS)
            await delete_executions(self._connection, [self._tenant_id], jobs, times)
            await self._forget_jobs({job for job in jobs if job in one_time_jobs})
        return frozenset(gone)

    async def _forget_jobs(self, jobs: Collection[int]) -> None:
        if jobs:
            await self._connection.execute(queries("partitions_and_retention")["forget_jobs"], list(jobs))

    async def _fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await self._connection.fetch(self._sql[query], self._tenant_id, *arguments)


def _columns(executions: Sequence[_Execution]) -> tuple[list[int], list[datetime]]:
    return [job for job, _ in executions], [at for _, at in executions]
