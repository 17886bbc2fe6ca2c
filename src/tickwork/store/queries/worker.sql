-- How to read these queries: README.md

-- name: heartbeat
-- Extends the lease of a REST worker, unless it has ended.
UPDATE tickwork.worker SET lease_until = tickwork.clock() + $4::interval
WHERE tenant_id = $1 AND id = $3 AND connection = 0 AND ended_at IS NULL AND coalesce(key_id, $2) = $2
RETURNING draining;

-- name: why_unheard
-- Why a heartbeat found no worker. A worker without a key may be used with any key of its tenant.
SELECT tenant_id IS NULL AS built_in, connection > 0 AS connected, coalesce(key_id <> $3, false) AS foreign
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
    tickwork.micros(e.scheduled_for) AS ready_at, j.task, j.payload, j.target, j.timeout, e.priority,
    CASE WHEN j.depends THEN tickwork.outcomes_of_parents(e.job_id, e.scheduled_for) END AS parents,
    e.started_at IS NOT NULL AS begun
FROM tickwork.lease l
CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = e.job_id OFFSET 0) j
WHERE l.worker_id = $1
ORDER BY l.id;

-- name: close_others
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
-- Makes a worker drain, if it was registered with this key or no key is given. It is told at its next heartbeat.
UPDATE tickwork.worker SET draining = true
WHERE tenant_id = $1 AND id = $2 AND ended_at IS NULL AND ($3::int IS NULL OR coalesce(key_id, $3) = $3)
RETURNING id;
