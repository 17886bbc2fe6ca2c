"""Lists workflows: graphs of jobs that depend on each other."""

import asyncpg

from tickwork.model.field_types import Page
from tickwork.model.public_ids import job_id
from tickwork.model.workflow_list import WorkflowStates, WorkflowView
from tickwork.store.page_cursor import WorkflowPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_MOST_JOBS = 2000  # of one workflow that are counted
_SEEN = 200  # jobs with children that are looked through for one page
_NEWEST = 2**63 - 1


class PostgresWorkflowStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("workflow_list")

    async def page(self, tenant_id: int, limit: int, cursor: str | None) -> Page[WorkflowView]:
        begin = decode_cursor(cursor, WorkflowPlace).id if cursor else _NEWEST
        parents = await self._database.fetch(self._sql["parents_before"], tenant_id, begin, _SEEN)
        firsts = [row["id"] for row in parents if row["is_first"]][:limit]
        rows = await self._database.fetch(self._sql["workflows"], tenant_id, firsts, _MOST_JOBS + 1)
        end = firsts[-1] if len(firsts) == limit else parents[-1]["id"] if len(parents) == _SEEN else None
        return Page(
            [_workflow_of(row) for row in rows],
            encode_cursor(WorkflowPlace("workflows", end)) if end else None,
        )


def _workflow_of(row: asyncpg.Record) -> WorkflowView:
    return WorkflowView(
        job_id=job_id(row["id"]),
        name=row["name"],
        key=row["key"],
        task=row["task"],
        jobs=min(row["jobs"], _MOST_JOBS),
        truncated=row["jobs"] > _MOST_JOBS,
        states=WorkflowStates(**{name: row[name] for name in WorkflowStates.__struct_fields__}),
        scheduled_for=row["scheduled_for"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
