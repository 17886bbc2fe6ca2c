-- How to read these queries: README.md

-- snippet: next_sealed
-- The next executions of the sealed part after a key, by the key.
FROM (
    SELECT * FROM tickwork.sealed_execution
    WHERE (tenant_id, scheduled_for, job_id) > ($1::int, $2::timestamptz, $3::bigint)
    ORDER BY tenant_id, scheduled_for, job_id LIMIT $4
) e
LEFT JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = e.job_id OFFSET 0) j ON true

-- name: sealed_executions
-- The next executions of the sealed part, as users see them, and to whom they belong.
SELECT e.tenant_id, t.name AS tenant, e.job_id, e.scheduled_for, coalesce(l.task, '') AS task,
    coalesce(l.queue, '') AS queue, e.trigger::text AS trigger, e.attempt, e.worker_id, e.started_at, e.finished_at,
    e.result, e.reason, e.priority, coalesce(j.definition, '{}') AS definition, j.key AS job_key, j.tags,
    last.error, e.status::text AS status, NULL::text AS waiting_for, e.scheduled_for AS due_at, e.progress, e.failures
-- include: next_sealed
LEFT JOIN LATERAL (SELECT name FROM tickwork.tenant WHERE id = e.tenant_id OFFSET 0) t ON true
LEFT JOIN LATERAL (SELECT task, queue FROM tickwork.lane WHERE id = e.lane_id OFFSET 0) l ON true
LEFT JOIN LATERAL (
    SELECT a.error FROM tickwork.sealed_attempt a
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.outcome = 'failed'
        AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
    ORDER BY a.attempt DESC LIMIT 1
) last ON true
ORDER BY e.tenant_id, e.scheduled_for, e.job_id;

-- name: sealed_inputs
-- What the last attempts of the same executions were given ($5: the error of a worker's clock).
SELECT e.attempt AS number, coalesce(j.version, 0) AS version, coalesce(j.task, '') AS task, j.payload, j.target,
    noted.version AS noted_version, kept.version AS kept_version, kept.task AS kept_task,
    kept.payload AS kept_payload, kept.target AS kept_target,
    own.payload AS own_payload, own.given_by, own.given_at
-- include: next_sealed
LEFT JOIN LATERAL (
    SELECT version FROM tickwork.attempt_version
    WHERE tenant_id = e.tenant_id AND scheduled_for = e.scheduled_for AND job_id = e.job_id AND attempt = e.attempt
    OFFSET 0
) noted ON true
LEFT JOIN LATERAL (
    SELECT version, task, payload, target FROM tickwork.job_version
    WHERE job_id = e.job_id
        AND (version = noted.version OR noted.version IS NULL AND until > e.finished_at + $5::interval)
    ORDER BY until, version LIMIT 1
) kept ON true
LEFT JOIN LATERAL (
    SELECT payload, given_by, given_at FROM tickwork.retry_payload
    WHERE tenant_id = e.tenant_id AND scheduled_for = e.scheduled_for AND job_id = e.job_id AND attempt <= e.attempt
    ORDER BY attempt DESC LIMIT 1
) own ON true
ORDER BY e.tenant_id, e.scheduled_for, e.job_id;

-- name: sealed_attempts
-- The attempts at the executions from one key to another.
SELECT tenant_id, scheduled_for, job_id, attempt, outcome::text AS outcome, worker_id, started_at, finished_at, error
FROM tickwork.sealed_attempt
WHERE (tenant_id, scheduled_for, job_id) >= ($1::int, $2::timestamptz, $3::bigint)
    AND (tenant_id, scheduled_for, job_id) <= ($4::int, $5::timestamptz, $6::bigint)
ORDER BY tenant_id, scheduled_for, job_id, attempt;

-- name: sealed_usage
-- What the processes of the attempts at some executions have used.
SELECT u.scheduled_for, u.job_id, u.attempt, u.cpu_seconds, u.peak_memory
FROM unnest($1::timestamptz[], $2::bigint[]) AS wanted (scheduled_for, job_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.process_usage
    WHERE scheduled_for = wanted.scheduled_for AND job_id = wanted.job_id OFFSET 0
) u;

-- name: sealed_log
-- The next chunks of logs of the sealed part after a key.
SELECT tenant_id, scheduled_for, job_id, attempt, first_line, lines FROM tickwork.sealed_log
WHERE (tenant_id, scheduled_for, job_id, attempt, first_line)
    > ($1::int, $2::timestamptz, $3::bigint, $4::int, $5::int)
ORDER BY tenant_id, scheduled_for, job_id, attempt, first_line LIMIT $6;

-- name: sealed_checkpoints
-- The next checkpoints of the sealed part after a key.
SELECT tenant_id, scheduled_for, job_id, attempt, number, stored_at, took, step, value FROM tickwork.sealed_checkpoint
WHERE (tenant_id, scheduled_for, job_id, step) > ($1::int, $2::timestamptz, $3::bigint, $4::text)
ORDER BY tenant_id, scheduled_for, job_id, step LIMIT $5;

-- name: count_sealed_executions
-- How many executions of users the sealed part has.
SELECT count(*) AS count FROM tickwork.sealed_execution WHERE tenant_id > 0;
