"""The lanes that jobs are in, made where they do not exist yet."""

from collections.abc import Sequence
from typing import NamedTuple

from tickwork.model.job import JobSpec
from tickwork.store.pool import Connection
from tickwork.store.query import queries

LaneName = tuple[str, str, str]  # queue, task, terms


class JobLane(NamedTuple):
    id: int
    is_bounded: bool  # only so much may wait in its queue


def lane_name(spec: JobSpec) -> LaneName:
    return spec.queue, spec.task, spec.terms


async def ensure_lanes(
    connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
) -> dict[LaneName, JobLane]:
    sql = queries("define")
    wanted = sorted({lane_name(spec) for spec in specs})
    columns = [[*column] for column in zip(*wanted, strict=True)] or [[], [], []]
    rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    if len(rows) < len(wanted):
        keys = {limit.key for spec in specs for limit in spec.request.limits}
        if keys:
            await connection.execute(sql["ensure_gates"], tenant_id, sorted(keys))
        await connection.execute(sql["ensure_lanes"], tenant_id, *columns)
        rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    return {(row["queue"], row["task"], row["terms"]): JobLane(row["id"], row["is_bounded"]) for row in rows}
