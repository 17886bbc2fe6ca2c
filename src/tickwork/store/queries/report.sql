-- How to read these queries: README.md

-- name: attempt_standing
-- How an attempt stands that a REST worker reports on: whether the worker has it, what became of it, and its lease.
SELECT e.status::text AS status, e.attempt, e.worker_id, e.started_at, e.reason, w.connection,
    coalesce(w.key_id <> $5, false) AS foreign,
    a.outcome::text AS outcome,
    ARRAY(SELECT l.id FROM tickwork.lease l
          WHERE l.worker_id = e.worker_id AND l.job_ids = ARRAY[e.job_id] AND l.scheduled_fors = ARRAY[e.scheduled_for]
    ) AS leases
FROM tickwork.execution e
LEFT JOIN tickwork.worker w ON w.id = e.worker_id
LEFT JOIN tickwork.attempt a ON a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for
    AND a.job_id = e.job_id AND a.attempt = $4
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3;

-- name: begin_attempt
-- Records when an attempt of a REST worker started. Said again, the first time stands.
UPDATE tickwork.execution e SET started_at = coalesce(e.started_at, tickwork.clock())
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3 AND e.attempt = $4 AND e.status = 'running'
    AND EXISTS (SELECT FROM tickwork.worker w
                WHERE w.id = e.worker_id AND w.connection = 0 AND coalesce(w.key_id, $5) = $5)
RETURNING e.started_at;

-- name: forget_stop
-- Deletes a stop request that the worker knows of.
DELETE FROM tickwork.revocation r
WHERE r.tenant_id = $1 AND r.scheduled_for = $2 AND r.job_id = $3 AND r.attempt = $4
    AND EXISTS (SELECT FROM tickwork.worker w WHERE w.id = r.worker_id AND coalesce(w.key_id, $5) = $5);
