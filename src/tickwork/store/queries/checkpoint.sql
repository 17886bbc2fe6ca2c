-- How to read these queries: README.md

-- name: lock_attempts
-- Locks executions that their workers still have, and says which attempts these are, and whether each was locked. It
-- waits for no row, so it cannot be part of a deadlock.
WITH current AS MATERIALIZED (
    -- The executions whose attempt still runs.
    SELECT o.place, e.tenant_id, e.scheduled_for, e.job_id, e.worker_id, e.attempt
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[])
        WITH ORDINALITY AS o (tenant_id, scheduled_for, job_id, worker_id, attempt, place)
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
        AND e.worker_id = o.worker_id AND e.attempt = o.attempt AND e.status = 'running'
), locked AS MATERIALIZED (
    -- Those that no other transaction has locked.
    SELECT c.place
    FROM current c
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.scheduled_for AND e.job_id = c.job_id
        AND e.worker_id = c.worker_id AND e.attempt = c.attempt AND e.status = 'running'
    FOR NO KEY UPDATE OF e SKIP LOCKED
)
SELECT place, place IN (SELECT place FROM locked) AS is_locked FROM current;

-- name: stored_so_far
-- How many steps executions have stored, how many bytes these have, and which state is the latest.
SELECT k.place, count(*) FILTER (WHERE c.step <> '') AS steps,
    coalesce(sum(octet_length(c.value)) FILTER (WHERE c.step <> ''), 0)::bigint AS bytes,
    coalesce(max(c.attempt) FILTER (WHERE c.step = ''), 0) AS state_attempt,
    coalesce(max(c.number) FILTER (WHERE c.step = ''), 0) AS state_number
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[])
    WITH ORDINALITY AS k (tenant_id, scheduled_for, job_id, place)
CROSS JOIN LATERAL (
    SELECT step, attempt, number, value FROM tickwork.checkpoint
    WHERE tenant_id = k.tenant_id AND scheduled_for = k.scheduled_for AND job_id = k.job_id
    OFFSET 0
) c
GROUP BY k.place;

-- name: results_of_steps
-- The results of those of these steps that are stored.
SELECT s.place, c.value
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::text[])
    WITH ORDINALITY AS s (tenant_id, scheduled_for, job_id, step, place)
CROSS JOIN LATERAL (
    SELECT value FROM tickwork.checkpoint
    WHERE tenant_id = s.tenant_id AND scheduled_for = s.scheduled_for AND job_id = s.job_id AND step = s.step
    OFFSET 0
) c;

-- name: store_checkpoints
-- Stores steps, and states in place of older ones.
INSERT INTO tickwork.checkpoint
    (tenant_id, scheduled_for, job_id, attempt, number, step, value, took, stored_at)
SELECT new.*, tickwork.clock()
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::text[], $7::bytea[], $8::real[])
    AS new (tenant_id, scheduled_for, job_id, attempt, number, step, value, took)
ON CONFLICT (tenant_id, scheduled_for, job_id, step) DO UPDATE
SET attempt = excluded.attempt, number = excluded.number, value = excluded.value, stored_at = excluded.stored_at;

-- name: recall_checkpoints
-- What earlier attempts of executions have stored, the steps in their order.
SELECT k.place, c.step, c.value
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[])
    WITH ORDINALITY AS k (tenant_id, scheduled_for, job_id, place)
CROSS JOIN LATERAL (
    SELECT step, number, value FROM tickwork.checkpoint
    WHERE tenant_id = k.tenant_id AND scheduled_for = k.scheduled_for AND job_id = k.job_id
    OFFSET 0
) c
ORDER BY k.place, c.number, c.step;

-- name: checkpoint_of_execution
-- What the attempts of an execution have stored, the steps in their order. One row without a step if that is nothing,
-- and none if there is no such execution.
SELECT c.* FROM tickwork.execution e
LEFT JOIN LATERAL (
    SELECT step, attempt, number, stored_at, took, value FROM tickwork.checkpoint
    WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
    OFFSET 0
) c ON true
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3
ORDER BY c.number, c.step;

-- name: lock_execution_of_checkpoint
-- Locks an execution, so that no attempt of it starts meanwhile, and says how it stands.
SELECT status::text AS status FROM tickwork.execution
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
FOR UPDATE;

-- name: delete_checkpoint
-- Deletes what the attempts of an execution have stored.
DELETE FROM tickwork.checkpoint WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3;
