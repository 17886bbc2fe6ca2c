"""Jobs in bulk: one of each kind is created through the API, and the rest are copies of it made inside the
database, because what is measured comes afterwards."""

from collections.abc import Callable

from tickwork.bench.stage import Stage
from tickwork.model.ids import parse_job_id

_COPY = """
INSERT INTO tickwork.job
    (rule_id, active_from, created_at, updated_at, tenant_id, lane_id, timeout, overlap, on_worker_lost, priority,
     task, payload, target, definition)
SELECT rule_id, active_from, created_at, updated_at, tenant_id, lane_id, timeout, overlap, on_worker_lost, priority,
    task, convert_to(format(form, $2 + step), 'UTF8'), target, definition
FROM (SELECT *, replace(convert_from(payload, 'UTF8'), format('"n":%s', $2::int), '"n":%s') AS form
      FROM tickwork.job WHERE id = $1) AS original,
    generate_series($3::int, $4::int) AS step
"""
_AT_ONCE = 50_000


async def copy_job(on: Stage, job: str, number: int, jobs: int, copied: Callable[[int], None]) -> None:
    """So many of this job, itself included, numbered from its own number on in their payloads."""
    original = parse_job_id(job)
    copied(1)
    for begin in range(1, jobs, _AT_ONCE):
        end = min(begin + _AT_ONCE, jobs)
        await on.database.execute(_COPY, original, number, begin, end - 1, timeout=600)
        copied(end - begin)
