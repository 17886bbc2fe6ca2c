"""Deletes tenants with everything that they have, a bounded batch in each transaction.

The first transaction revokes the tenant's keys, so that nobody asks for anything any more. Each later one looks at the
same list from its beginning and deletes from the first table that has something. So what somebody creates meanwhile is
deleted, too, and if a node dies, any other goes on: there is no place to keep. The tenant itself goes last.

A new table that belongs to tenants needs a query here. `tests/api/test_purge_tenant.py` names one that was forgotten.
"""

from collections.abc import Mapping

import asyncpg
import msgspec
import structlog

from tickwork.model.access import DEFAULT_TENANT, Author
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.job_change_record import ChangeAuthor, author_view
from tickwork.model.tenant import TenantPurgeView
from tickwork.store.batch_columns import stored
from tickwork.store.delete_given_executions import delete_executions
from tickwork.store.lock_schedule_rules import retry_on_conflict
from tickwork.store.log_store import lock_logs
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries, rows_written

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_EXECUTIONS = 1000  # of one batch
_ROWS = 5000  # of one batch of any other table

# The queries that delete some rows each, in order, and how what they delete is called in the answer.
_OF_TENANT = {
    "purge_attempts_of_tenant": None,
    "purge_logs_of_tenant": None,
    "purge_checkpoints_of_tenant": None,
    "purge_backfills_of_tenant": None,
    "purge_dead_letters_of_tenant": "dead_letters",
    "purge_attempt_versions_of_tenant": None,
    "purge_retry_payloads_of_tenant": None,
    "purge_usage_of_tenant": None,
    "purge_fan_outs_of_tenant": None,
    "purge_unended_of_tenant": None,
    "purge_awaited_of_tenant": None,
    "purge_dependencies_of_tenant": None,
    "purge_jobs_of_tenant": "jobs",
    "purge_restored_of_tenant": None,
    "purge_new_events_of_tenant": "events",
    "purge_events_of_tenant": "events",
    "purge_error_groups_of_tenant": None,
    "purge_statistics_of_tenant": "statistics",
    "purge_fired_of_tenant": None,
    "purge_pulse_of_tenant": None,
    "purge_wanted_pulse_of_tenant": None,
    "purge_notifications_of_tenant": "notifications",
    "purge_messages_of_tenant": "messages",
    "purge_notification_rules_of_tenant": None,
    "purge_exceeded_limits_of_tenant": None,
    "purge_pings_of_tenant": "pings",
    "purge_breakers_of_tenant": None,
    "purge_held_of_tenant": None,
    "purge_answers_of_tenant": None,
    "purge_heartbeats_of_tenant": None,
    "purge_failing_of_tenant": None,
    "purge_moved_of_tenant": None,
    "purge_unchecked_of_tenant": None,
    "purge_versions_of_tenant": None,
    "purge_job_retentions_of_tenant": None,
    "purge_marks_of_tenant": None,
    "purge_default_retentions_of_tenant": None,
    "purge_job_changes_of_tenant": None,
    "purge_terms_of_tenant": None,
    "purge_segments_of_tenant": None,
    "purge_purges_of_tenant": None,
    "purge_watched_queues_of_tenant": None,
    "purge_queue_priorities_of_tenant": None,
    "purge_limiters_of_tenant": None,
    "purge_tasks_of_tenant": "tasks",
    "purge_lanes_of_tenant": None,
    "purge_workers_of_tenant": "workers",
}
# Once no worker and no delivery of the tenant is left. Deleting a key or a channel tells nobody.
_AT_LAST = ("purge_revocations_of_tenant", "purge_channels_of_tenant", "purge_keys_of_tenant")


class PostgresTenantPurgeStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("purge_tenant")

    async def begin(self, name: str, author: Author | None) -> None:
        by = msgspec.json.encode(author_view(author) or ChangeAuthor("", "")).decode()
        async with self._database.transaction() as connection:
            tenant = await connection.fetchval(self._sql["lock_tenant"], name)
            if tenant is None:
                raise NotFound("tenant", name)
            if tenant == 0 or name == DEFAULT_TENANT:
                raise Conflict(f"the tenant {name} belongs to the installation and cannot be deleted")
            await connection.execute(self._sql["begin_tenant_purge"], tenant, name, by)
            await connection.execute(self._sql["revoke_keys_of_tenant"], tenant)

    async def progress(self, name: str) -> TenantPurgeView:
        row = await self._database.fetchrow(self._sql["purge_of_tenant"], name)
        if row is None:
            raise NotFound("purge of tenant", name)
        return _view(row)

    async def delete_some(self, name: str | None = None) -> bool:
        return await retry_on_conflict(lambda: self._delete_some(name))

    async def _delete_some(self, name: str | None) -> bool:
        async with self._database.transaction() as connection:
            purge = await connection.fetchrow(self._sql["take_tenant_purge"], name)
            if purge is None:
                return False
            return await _Batch(connection, purge).delete()


class _Batch:
    """One batch of a purge, whose row is locked."""

    def __init__(self, connection: Connection, purge: asyncpg.Record) -> None:
        self._connection = connection
        self._purge = purge
        self._tenant: int = purge["tenant_id"]
        self._sql = queries("purge_tenant")

    async def delete(self) -> bool:
        """Whether there may be more at once."""
        await self._execute("revoke_keys_of_tenant")
        if await self._execute("purge_rules_of_tenant", _ROWS):
            return True
        if await self._connection.fetchval(self._sql["has_rules"], self._tenant):
            return False  # they fire at this moment
        if await self._delete_executions():
            return True
        for query, name in _OF_TENANT.items():
            if count := await self._execute(query, _ROWS):
                await self._note({name: count} if name else {})
                return True
        if await self._connection.fetchval(self._sql["is_tenant_in_use"], self._tenant):
            return False
        await self._end()
        return True

    async def _delete_executions(self) -> bool:
        rows = await self._connection.fetch(self._sql["executions_of_tenant"], self._tenant, _EXECUTIONS)
        if not rows:
            return False
        await self._execute("stop_running_of_tenant")
        times, jobs = [row["scheduled_for"] for row in rows], [row["job_id"] for row in rows]
        await lock_logs(self._connection, jobs)
        await self._note(await delete_executions(self._connection, [self._tenant], jobs, times))
        return True

    async def _end(self) -> None:
        for query in _AT_LAST:
            await self._execute(query, *([_ROWS] if query == "purge_revocations_of_tenant" else []))
        await self._execute("delete_tenant")
        await self._execute("end_tenant_purge", self._purge["has_ended"])
        _log.info("tenant purged", tenant=self._purge["name"])

    async def _execute(self, query: str, *arguments: object) -> int:
        """How many rows it has deleted or written."""
        return rows_written(await self._connection.execute(self._sql[query], self._tenant, *arguments))

    async def _note(self, removed: Mapping[str, int]) -> None:
        counts = msgspec.json.decode(self._purge["removed"], type=dict[str, int])
        for name, count in removed.items():
            counts[name] = counts.get(name, 0) + count
        await self._execute("note_removed_of_tenant", msgspec.json.encode(counts).decode())


def _view(row: asyncpg.Record) -> TenantPurgeView:
    by = stored((row["requested_by"] or "null").encode(), ChangeAuthor)
    return TenantPurgeView(
        name=row["name"],
        status="running" if row["ended_at"] is None else "completed",
        requested_at=row["requested_at"],
        requested_by=by if by and by.key else None,
        ended_at=row["ended_at"],
        removed=msgspec.json.decode(row["removed"], type=dict[str, int]),
        is_in_archive=row["is_in_archive"],
    )
