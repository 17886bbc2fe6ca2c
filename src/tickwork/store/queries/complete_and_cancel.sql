-- How to read these queries: README.md

-- name: complete
-- Completes executions, if they are still with the worker that says so.
UPDATE tickwork.execution e
SET status = 'completed', started_at = to_timestamp(o.started / 1e6::float8),
    finished_at = to_timestamp(o.finished / 1e6::float8), result = o.result
FROM (
    SELECT tickwork.each($1::int[], tenant_id) AS tenant_id,
        to_timestamp(tickwork.each($2::bigint[], at) / 1e6::float8) AS scheduled_for, job_id,
        tickwork.each($4::int[], worker_id) AS worker_id, tickwork.each($5::int[], attempt) AS attempt,
        started, finished, result
    FROM unnest($1::int[], $2::bigint[], $3::text::bigint[], $4::int[], $5::int[], $6::text::bigint[],
                $7::text::bigint[], $8::bytea[])
        AS sent (tenant_id, at, job_id, worker_id, attempt, started, finished, result)
    OFFSET 0
) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
    AND e.worker_id = o.worker_id AND e.attempt = o.attempt AND e.status = 'running';

-- name: note_started
-- Records when executions started: running ones, or ones that were cancelled before their start was known.
UPDATE tickwork.execution e SET started_at = least(o.started_at, e.finished_at)
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::timestamptz[])
    AS o (tenant_id, scheduled_for, job_id, worker_id, attempt, started_at)
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
    AND e.worker_id = o.worker_id AND e.attempt = o.attempt AND e.status = $7::tickwork.execution_status
    AND (e.status = 'running' OR e.started_at IS NULL);

-- name: lock_execution
-- Locks one execution that may have to be cancelled.
SELECT status, attempt, worker_id, started_at FROM tickwork.execution
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
FOR UPDATE;

-- name: cancel_execution
-- Cancels an execution that has not ended.
UPDATE tickwork.execution
SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND finished_at IS NULL;

-- name: revoke
-- Asks the worker that has an execution to stop it.
INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING;
