"""Deletes jobs with everything about them, a batch in each transaction.

The first transaction cancels the job for good, so that nothing of it can start or run. From then on nobody but the
purge writes about it, and what is deleted does not come back. If a node dies, any other goes on.

A new table that belongs to jobs needs a part of the query purge_belongings. `tests/flow/test_purge_job.py` names one
that was forgotten.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.access import Author
from tickwork.model.errors import Conflict, NotFound, Stale
from tickwork.model.job import JobStatus, RunningChoice
from tickwork.model.job_change_record import ChangeAuthor, author_view
from tickwork.model.public_ids import job_id
from tickwork.model.purge_progress import PurgeView
from tickwork.model.stream_event import EventKind
from tickwork.store.add_move_and_stop_unstarted_executions import UnstartedExecutions
from tickwork.store.batch_columns import stored
from tickwork.store.delete_given_executions import delete_executions
from tickwork.store.edit_and_pause_job import JobStatusChange
from tickwork.store.event_store import write_events
from tickwork.store.lock_schedule_rules import RuleMembership, retry_on_conflict
from tickwork.store.log_store import lock_logs
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import NewEvent
from tickwork.store.query_files import queries, rows_written

_MOST_NAMED = 5  # jobs in the answer to a request that is refused
_TIMES = 1000  # due times of one batch
_ROWS = 5000  # other rows of one batch

# The queries that delete what belongs to the job, and how what they delete is called in the answer.
_OF_JOB = {
    "purge_events": "events",
    "purge_notifications": "notifications",
    "purge_messages": "messages",
}


class PostgresPurgeStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("purge_job")

    async def begin(
        self, tenant_id: int, job: int, author: Author | None, running: RunningChoice, version: int | None
    ) -> None:
        await retry_on_conflict(lambda: self._begin(tenant_id, job, author, running, version))

    async def _begin(
        self, tenant_id: int, job: int, author: Author | None, running: RunningChoice, version: int | None
    ) -> None:
        async with self._database.transaction() as connection:
            members = RuleMembership(connection, tenant_id)
            rules = await members.lock([], [await members.rule_of(job)])
            row = await connection.fetchrow(queries("create_and_change_job")["lock_job"], tenant_id, job)
            if await connection.fetchrow(self._sql["purge_of_job"], tenant_id, job):
                return
            if row is None:
                raise NotFound("job", job_id(job))
            if version is not None and row["version"] != version:
                raise Stale(f"job {job_id(job)} was changed meanwhile: its version is {row['version']}")
            await connection.execute(self._sql["cancel_elements_of_job"], tenant_id, job)
            await self._refuse_if_needed(connection, tenant_id, job)
            change = JobStatusChange(
                connection, members, tenant_id, row, rules.get(row["rule_id"]), await members.now()
            )
            if row["status"] != JobStatus.CANCELLED:
                await change.become(JobStatus.CANCELLED, author)
            if running == "cancel":
                await change.stop_running()
            else:
                await _refuse_if_running(connection, tenant_id, job)
            by = author_view(author) or ChangeAuthor("", "")
            await connection.execute(
                self._sql["begin_purge"], tenant_id, job, msgspec.json.encode(by).decode()
            )

    async def _refuse_if_needed(self, connection: Connection, tenant_id: int, job: int) -> None:
        """The job and its elements are locked. Who makes a child of one of them waits, and finds the purge then."""
        children = await connection.fetch(self._sql["living_children"], tenant_id, job, _MOST_NAMED)
        if children:
            raise Conflict(
                f"other jobs depend on job {job_id(job)}: cancel them, or edit what they depend on, first: "
                f"{_named(children)}"
            )
        elements = await connection.fetch(self._sql["living_elements"], tenant_id, job, _MOST_NAMED)
        if elements:
            raise Conflict(f"jobs of its elements have not ended: cancel them first: {_named(elements)}")

    async def progress(self, tenant_id: int, job: int) -> PurgeView:
        row = await self._database.fetchrow(self._sql["purge_of_job"], tenant_id, job)
        if row is None:
            raise NotFound("purge of job", job_id(job))
        return _view(row)

    async def delete_some(self, job: int | None = None) -> bool:
        async with self._database.transaction() as connection:
            purge = await connection.fetchrow(self._sql["take_purge"], job)
            if purge is None:
                return False
            return await _Batch(connection, purge).delete()


class _Batch:
    """One batch of a purge, whose row is locked."""

    def __init__(self, connection: Connection, purge: asyncpg.Record) -> None:
        self._connection = connection
        self._purge = purge
        self._job = (purge["tenant_id"], purge["job_id"])
        self._sql = queries("purge_job")

    async def delete(self) -> bool:
        """Whether there may be more: of this purge, or of another."""
        rows = await self._connection.fetch(
            self._sql["times_to_purge"], *self._job, self._purge["before"], _TIMES
        )
        if rows:
            await self._delete_at([row["at"] for row in rows])
            return True
        if await self._connection.fetchval(self._sql["is_any_unnumbered"], self._job[1]):
            return True
        if await self._delete_of_job():
            return True
        await self._end()
        return True

    async def _delete_at(self, times: Sequence[datetime]) -> None:
        await lock_logs(self._connection, [self._job[1]])
        tenant_id, job = self._job
        await self._note(min(times), await delete_executions(self._connection, [tenant_id], [job], times))

    async def _delete_of_job(self) -> bool:
        """Whether there may be more."""
        removed = {name: await self._execute(query, _ROWS) for query, name in _OF_JOB.items()}
        await self._note(self._purge["before"], removed)
        return max(removed.values()) == _ROWS

    async def _end(self) -> None:
        await self._connection.execute(self._sql["purge_belongings"], *self._job)
        await self._connection.execute(self._sql["purge_job"], *self._job)
        await self._connection.execute(self._sql["end_purge"], self._job[1], self._purge["has_ended"])
        if self._purge["requested_by"] and not self._purge["has_ended"]:
            detail = f'{{"by":{self._purge["requested_by"]}}}'
            event = NewEvent(self._job[0], EventKind.JOB_PURGED, self._job[1], detail=detail)
            await write_events(self._connection, [event])

    async def _execute(self, query: str, argument: object) -> int:
        return rows_written(await self._connection.execute(self._sql[query], *self._job, argument))

    async def _note(self, before: datetime, removed: Mapping[str, int]) -> None:
        counts = msgspec.json.decode(self._purge["removed"], type=dict[str, int])
        for name, count in removed.items():
            counts[name] = counts.get(name, 0) + count
        text = msgspec.json.encode(counts).decode()
        await self._connection.execute(self._sql["note_removed"], self._job[1], before, text)


async def _refuse_if_running(connection: Connection, tenant_id: int, job: int) -> None:
    running = await UnstartedExecutions(connection, tenant_id, job).count_running()
    if running:
        raise Conflict(
            f"{running} executions of job {job_id(job)} run: wait for their end, or stop them with running=cancel"
        )


def _named(rows: Sequence[asyncpg.Record]) -> str:
    return ", ".join(job_id(row["id"]) for row in rows)


def _view(row: asyncpg.Record) -> PurgeView:
    by = stored((row["requested_by"] or "null").encode(), ChangeAuthor)
    return PurgeView(
        job_id=job_id(row["job_id"]),
        status="running" if row["ended_at"] is None else "completed",
        requested_at=row["requested_at"],
        requested_by=by if by and by.key else None,
        ended_at=row["ended_at"],
        removed=msgspec.json.decode(row["removed"], type=dict[str, int]),
        is_in_archive=row["is_in_archive"],
    )
