-- How to read these queries: README.md

-- name: heartbeat
-- Extends the lease of a REST worker, unless it has ended, and writes what it measured and changed.
UPDATE tickwork.worker
SET lease_until = tickwork.clock() + $4::interval, load = coalesce($5::jsonb, load),
    labels = coalesce($6::jsonb, labels), resources = coalesce($7::jsonb, resources)
WHERE tenant_id = $1 AND id = $3 AND connection = 0 AND ended_at IS NULL AND coalesce(key_id, $2) = $2
RETURNING draining;

-- name: why_refused
-- Why a heartbeat found no worker. A worker without a key may be used with any key of its tenant. The workers of a
-- database that was restored count as connected until they are ended, but have no lease.
SELECT tenant_id IS NULL AS built_in, connection > 0 AND lease_until > tickwork.clock() AS connected,
    coalesce(key_id <> $3, false) AS foreign
FROM tickwork.worker
WHERE (tenant_id = $1 OR tenant_id IS NULL) AND id = $2;

-- name: lock_worker
-- Locks a REST worker, so that no other transaction gives it anything, and returns it as it registered.
SELECT name, tasks, queues, weights, slots, labels, resources, draining FROM tickwork.worker
WHERE tenant_id = $1 AND coalesce(key_id, $2) = $2 AND id = $3 AND connection = 0 AND ended_at IS NULL
FOR NO KEY UPDATE;

-- name: running_on_rest_worker
-- What a REST worker has, one execution to each lease, with all that is needed to run it.
SELECT l.id AS lease_id, e.tenant_id, tickwork.micros(e.scheduled_for), e.job_id, e.lane_id, e.attempt,
    tickwork.micros(e.scheduled_for) AS ready_at, given.task, given.payload, given.target, j.timeout, e.priority,
    CASE WHEN j.depends THEN tickwork.outcomes_of_parents(e.job_id, e.scheduled_for) END AS parents,
    CASE WHEN j.rule_id IS NULL THEN j.trace_origin END AS trace_origin,
    e.started_at IS NOT NULL AS begun
FROM tickwork.lease l
CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = e.job_id OFFSET 0) j
CROSS JOIN LATERAL tickwork.given(e.tenant_id, e.scheduled_for, e.job_id, e.attempt) AS given
WHERE l.worker_id = $1
ORDER BY l.id;

-- name: close_ended_leases
-- Deletes leases of executions that ended without a report of the worker, for example by a cancellation.
DELETE FROM tickwork.lease WHERE worker_id = $1 AND id <> ALL($2::bigint[]);

-- name: is_there_news
-- Whether an execution is due that a worker with these tasks and queues might be given, or the worker is to drain.
SELECT EXISTS (SELECT FROM tickwork.worker w WHERE w.id = $4 AND w.draining) OR EXISTS (
    SELECT FROM tickwork.lane l
    CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.lane_id = l.id AND e.priority = level.priority AND e.ready_at <= tickwork.clock()
        LIMIT 1
    ) due
    WHERE l.tenant_id = $1 AND l.task = ANY($2::text[]) AND ($3::text[] = '{}' OR l.queue = ANY($3::text[]))
) AS news;

-- name: ask_to_drain
-- Makes a worker drain, if it was registered with this key or no key is given. It learns this with its next heartbeat.
UPDATE tickwork.worker SET draining = true
WHERE tenant_id = $1 AND id = $2 AND ended_at IS NULL AND ($3::int IS NULL OR coalesce(key_id, $3) = $3)
RETURNING id;

-- name: attempt_state
-- The state of an attempt that a REST worker reports on: whether the worker has it, what became of it, and its lease.
SELECT e.status::text AS status, e.attempt, e.worker_id, e.started_at, e.reason, e.lane_id, w.connection,
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
-- Records when an attempt of a REST worker started. A repeated report does not change it.
UPDATE tickwork.execution e SET started_at = coalesce(e.started_at, tickwork.clock())
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3 AND e.attempt = $4 AND e.status = 'running'
    AND EXISTS (SELECT FROM tickwork.worker w
                WHERE w.id = e.worker_id AND w.connection = 0 AND coalesce(w.key_id, $5) = $5)
RETURNING e.started_at;

-- name: forget_revocation
-- Deletes the revocation of an attempt whose worker has stopped it.
DELETE FROM tickwork.revocation r
WHERE r.tenant_id = $1 AND r.scheduled_for = $2 AND r.job_id = $3 AND r.attempt = $4
    AND EXISTS (SELECT FROM tickwork.worker w WHERE w.id = r.worker_id AND coalesce(w.key_id, $5) = $5);
