"""Manual runs that only a named worker may run: each waits in a lane that is as its job's, with the worker's name."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tickwork.model.requires_limits_fair_share import placement_from_text
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries


class RunOnWorker(NamedTuple):
    """A manual run that waits for a named worker."""

    scheduled_for: datetime
    worker: str


async def lane_on_worker(connection: Connection, tenant_id: int, lane: int, worker: str) -> int:
    """The lane that is as this one, but for one worker only. It is created if need be."""
    sql = queries("create_and_change_job")
    (row,) = await connection.fetch(queries("lease_under_limits")["find_lanes_by_id"], [lane])
    placement = msgspec.structs.replace(placement_from_text(row["placement"]), worker=worker)
    name = ([row["queue"]], [row["task"]], [placement.text()])
    await connection.execute(sql["ensure_lanes"], tenant_id, *name)
    (found,) = await connection.fetch(sql["find_lanes"], tenant_id, *name)
    number: int = found["id"]
    return number


async def runs_on_workers(connection: Connection, tenant_id: int, job: int, lane: int) -> list[RunOnWorker]:
    """The waiting executions of a job that are bound to a worker by their own lane, not by that of the job."""
    sql = queries("add_move_and_stop_unstarted_executions")["waiting_in_other_lanes"]
    rows = await connection.fetch(sql, tenant_id, job, lane)
    named = [(row["scheduled_for"], placement_from_text(row["placement"]).worker) for row in rows]
    return [RunOnWorker(at, worker) for at, worker in named if worker is not None]


async def bind_again(
    connection: Connection, tenant_id: int, job: int, lane: int, runs: Sequence[RunOnWorker]
) -> None:
    """After a change moved them to the job's new lane: each still waits for its worker."""
    for scheduled_for, worker in runs:
        bound = await lane_on_worker(connection, tenant_id, lane, worker)
        await connection.execute(
            queries("add_move_and_stop_unstarted_executions")["set_lane"],
            tenant_id,
            scheduled_for,
            job,
            bound,
        )
