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
-- Records when executions started: running ones, or ones that were cancelled before their start was known. What was
-- reported first stays, and nothing starts in the future, apart from the error of a worker's clock: time limits count
-- from then.
UPDATE tickwork.execution e
SET started_at = least(e.started_at, o.started_at, e.finished_at, tickwork.clock() + interval '1 second')
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

-- name: revoke_ended
-- Tells workers to stop attempts that a node has ended, and awaits no report of them.
INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason, needs_report)
SELECT ended.*, $6, false
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[])
    AS ended (tenant_id, scheduled_for, job_id, attempt, worker_id)
ON CONFLICT DO NOTHING;

-- name: lock_jobs_of_attempts
-- Locks jobs before their executions, so that a pause is either seen by this transaction or finds what it leaves
-- waiting.
SELECT FROM tickwork.job WHERE id = ANY($1::bigint[]) ORDER BY id + 0 FOR KEY SHARE;

-- name: lock_running
-- Locks executions whose attempt did not complete, with what decides how they go on. A lost attempt has no number: the
-- one that the dead worker had is meant.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.failures, e.losses, e.started_at, e.worker_id,
    (SELECT j.definition FROM tickwork.job j WHERE j.id = e.job_id) AS definition, tickwork.clock() AS now, l.task
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[])
    AS o (tenant_id, scheduled_for, job_id, worker_id, attempt)
JOIN tickwork.execution e
    ON e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
    AND e.worker_id = o.worker_id AND (o.attempt IS NULL OR e.attempt = o.attempt) AND e.status = 'running'
JOIN tickwork.lane l ON l.id = e.lane_id
FOR UPDATE OF e;

-- name: settle
-- Ends executions that did not complete, or makes them wait for another attempt in the lane that their job has now. If
-- the job is paused, they wait for that, too.
UPDATE tickwork.execution e
SET status = v.status,
    ready_at = CASE WHEN v.ready_at IS NOT NULL AND e.trigger = 'schedule' AND EXISTS (
        SELECT FROM tickwork.job j WHERE j.id = e.job_id AND j.status = 'paused' OFFSET 0
    ) THEN 'infinity' ELSE v.ready_at END,
    attempt = v.attempt, failures = v.failures, losses = v.losses,
    started_at = v.started_at, finished_at = v.finished_at, reason = v.reason,
    lane_id = CASE WHEN v.ready_at IS NULL THEN e.lane_id
                   ELSE coalesce((SELECT j.lane_id FROM tickwork.job j WHERE j.id = e.job_id), e.lane_id) END,
    worker_id = CASE WHEN v.ready_at IS NULL THEN e.worker_id END,
    progress = CASE WHEN v.ready_at IS NULL THEN e.progress END
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::tickwork.execution_status[], $5::timestamptz[],
            $6::int[], $7::smallint[], $8::smallint[], $9::timestamptz[], $10::timestamptz[], $11::text[])
    AS v (tenant_id, scheduled_for, job_id, status, ready_at, attempt, failures, losses,
          started_at, finished_at, reason)
WHERE e.tenant_id = ANY(ARRAY[v.tenant_id]) AND e.scheduled_for = v.scheduled_for AND e.job_id = v.job_id;

-- name: note_attempts
-- Records attempts that did not complete.
INSERT INTO tickwork.attempt
    (tenant_id, scheduled_for, job_id, attempt, outcome, worker_id, started_at, finished_at, error)
SELECT * FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::tickwork.attempt_outcome[],
                     $6::int[], $7::timestamptz[], $8::timestamptz[], $9::bytea[])
ON CONFLICT DO NOTHING;

-- name: keep_dead_letters
-- Makes executions that have just failed dead letters.
INSERT INTO tickwork.dead_letter (tenant_id, scheduled_for, job_id, lane_id, failed_at, error_type, fingerprint)
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.lane_id, e.finished_at, f.error_type, f.fingerprint
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::text[], $5::bigint[])
    AS f (tenant_id, scheduled_for, job_id, error_type, fingerprint)
JOIN tickwork.execution e
    ON e.tenant_id = ANY(ARRAY[f.tenant_id]) AND e.scheduled_for = f.scheduled_for AND e.job_id = f.job_id
ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
SET lane_id = excluded.lane_id, failed_at = excluded.failed_at, error_type = excluded.error_type,
    fingerprint = excluded.fingerprint;

-- name: close_leases
-- Deletes leases of which everything has ended.
DELETE FROM tickwork.lease WHERE id = ANY($1::bigint[]);
