"""Finds executions of a job that have not ended, and so block its next one by the overlap policy.

Firing asks for thousands of jobs at once, a job update and a manual run for one, all with the same query.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tickwork.model.overlap import Blocker
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries

_LOOKS_UP_LISTS = 17  # since this version PostgreSQL uses an index for a list that is the last part of a key


class FiredLast(NamedTuple):
    """The last due time that a rule fired, and which of the given jobs belong to that rule."""

    tenant_id: int
    scheduled_for: datetime | None
    jobs: slice


async def find_blockers(
    connection: Connection, fired: Sequence[FiredLast], jobs: Sequence[int]
) -> dict[int, Blocker]:
    """The blocker of each job: the execution by its rule before off-schedule ones, later before earlier ones."""
    looks_up_lists = connection.get_server_version().major >= _LOOKS_UP_LISTS
    sql = queries("find_overlap_blockers")["blockers" if looks_up_lists else "blockers_one_by_one"]
    rows = await connection.fetch(
        sql,
        [each.tenant_id for each in fired],
        [each.scheduled_for for each in fired],
        [each.jobs.start + 1 for each in fired],
        [each.jobs.stop for each in fired],
        jobs,
    )
    if not rows:
        return {}
    best_last = sorted(rows, key=lambda row: (not row["off_schedule"], row["scheduled_for"]))
    return {job: Blocker(at, queued) for job, _, at, queued in best_last}


async def find_blocker(
    connection: Connection, tenant_id: int, job: int, fired: Sequence[datetime | None]
) -> Blocker | None:
    """`fired`: the last due times that the job's rule fired, or the only one of a one-time job."""
    only = slice(0, 1)
    found = await find_blockers(connection, [FiredLast(tenant_id, at, only) for at in fired], [job])
    return found.get(job)
