"""What of a job has not ended and may be in the way of its next execution.

Firing asks for thousands of jobs at once, joining late and run now for one: all by the same query.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tickwork.model.overlap import Blocker
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries

_LOOKS_UP_LISTS = 17  # since this version PostgreSQL looks up a list that is the last part of a key


class FiredLast(NamedTuple):
    """A due time that a rule fired, and which of the jobs that are asked about it fired there."""

    tenant_id: int
    scheduled_for: datetime | None
    jobs: slice


async def find_blockers(
    connection: Connection, fired: Sequence[FiredLast], jobs: Sequence[int]
) -> dict[int, Blocker]:
    """By job. What a rule fired last goes before off-schedule executions, later ones before earlier ones."""
    looks_up_lists = connection.get_server_version().major >= _LOOKS_UP_LISTS
    sql = queries("overlap_blockers")["blockers" if looks_up_lists else "blockers_one_by_one"]
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
    """`fired`: the due times that the job's rule fired last, or the only one of a one-time job."""
    only = slice(0, 1)
    found = await find_blockers(connection, [FiredLast(tenant_id, at, only) for at in fired], [job])
    return found.get(job)
