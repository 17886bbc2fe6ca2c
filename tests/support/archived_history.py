"""History of some days that is there to be archived, and what of it the archive must have."""

from datetime import datetime, timedelta

import asyncpg

_DAY = timedelta(days=1)


async def write_history(
    connection: asyncpg.Connection,
    begin: datetime,
    days: int,
    jobs: int = 3,
    *,
    tenant: int = 1,
    first_job: int = 1,
) -> None:
    """Each day, each of the jobs runs once: the first completes, the second fails after three attempts with a log, the
    third is skipped."""
    lane = await connection.fetchval(
        "INSERT INTO tickwork.lane (tenant_id, queue, task) VALUES ($1, 'default', 'demo') "
        "ON CONFLICT (tenant_id, queue, task, placement) DO UPDATE SET queue = excluded.queue RETURNING id",
        tenant,
    )
    worker = await connection.fetchval(
        "INSERT INTO tickwork.worker (tenant_id, token, name, host, version, tasks, queues, slots, lease_until, "
        "ended_at) VALUES ($1, decode(repeat('00', 32), 'hex'), 'ann', 'here', '1', '{demo}', '{}', 1, $2, $2) "
        "RETURNING id",
        tenant,
        begin + days * _DAY,
    )
    await connection.execute(
        "INSERT INTO tickwork.rule (id, tenant_id, timing, catch_up) OVERRIDING SYSTEM VALUE "
        "VALUES ($1::int, $1::int, '{}', '{}') ON CONFLICT DO NOTHING",
        tenant,
    )
    await connection.execute(
        "INSERT INTO tickwork.round (rule_id, scheduled_for) "
        "SELECT $1, at FROM generate_series($2::timestamptz, $3::timestamptz, '1 day') AS at ON CONFLICT DO NOTHING",
        tenant,
        begin,
        begin + (days - 1) * _DAY,
    )
    await connection.execute(
        """
        INSERT INTO tickwork.job (id, rule_id, active_from, created_at, updated_at, tenant_id, lane_id, timeout,
            overlap, priority, task, payload, name, tags, definition)
        SELECT n, $1::int, $3, $3, $3, $1::int, $2, 60, 'skip', 2, 'demo', '{"n":1}', 'job ' || n, '{nightly}',
            convert_to(format('{"task":"demo","name":"job %s"}', n), 'UTF8')
        FROM generate_series($4::int, $5::int) AS n ON CONFLICT DO NOTHING
        """,
        tenant,
        lane,
        begin,
        first_job,
        first_job + jobs - 1,
    )
    await connection.execute(
        """
        INSERT INTO tickwork.execution (scheduled_for, job_id, tenant_id, lane_id, worker_id, status, trigger, priority,
            attempt, failures, started_at, finished_at, result, reason)
        SELECT due.at, n, $1, $2, CASE WHEN n % 3 <> 0 THEN $3::int END,
            (ARRAY['skipped', 'completed', 'failed'])[n % 3 + 1]::tickwork.execution_status,
            'schedule', 2, CASE n % 3 WHEN 2 THEN 3 ELSE 1 END, CASE n % 3 WHEN 2 THEN 3 ELSE 0 END,
            CASE WHEN n % 3 <> 0 THEN due.at END, due.at + interval '1 second',
            CASE WHEN n % 3 = 1 THEN '{"ok":true}'::bytea END, CASE WHEN n % 3 = 0 THEN 'queue full' END
        FROM generate_series($4::timestamptz, $5::timestamptz, '1 day') AS due (at),
            generate_series($6::int, $7::int) AS n
        """,
        tenant,
        lane,
        worker,
        begin,
        begin + (days - 1) * _DAY,
        first_job,
        first_job + jobs - 1,
    )
    await connection.execute(
        """
        INSERT INTO tickwork.attempt (scheduled_for, job_id, tenant_id, attempt, outcome, worker_id, started_at,
            finished_at, error)
        SELECT e.scheduled_for, e.job_id, e.tenant_id, a, 'failed', e.worker_id, e.started_at, e.finished_at,
            convert_to(format('{"type":"ValueError","message":"no %s"}', a), 'UTF8')
        FROM tickwork.execution e, generate_series(1, 3) AS a WHERE e.status = 'failed' AND e.tenant_id = $1
        ON CONFLICT DO NOTHING
        """,
        tenant,
    )
    await connection.execute(
        """
        INSERT INTO tickwork.log (scheduled_for, job_id, tenant_id, attempt, first_line, line_count, lines)
        SELECT e.scheduled_for, e.job_id, e.tenant_id, 3, 0, 2,
            convert_to(format('[[%s,"info","first"],[%s,"error","second"]]', tickwork.micros(e.started_at),
                tickwork.micros(e.started_at)), 'UTF8')
        FROM tickwork.execution e WHERE e.status = 'failed' AND e.tenant_id = $1 ON CONFLICT DO NOTHING
        """,
        tenant,
    )
