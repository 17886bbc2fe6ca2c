-- name: heartbeat
-- A worker that speaks plain REST keeps what it holds, unless it has been taken from it already.
UPDATE tickwork.worker SET lease_until = tickwork.clock() + $4::interval
WHERE tenant_id = $1 AND id = $3 AND connection = 0 AND ended_at IS NULL AND coalesce(key_id, $2) = $2
RETURNING draining;

-- name: why_unheard
-- Why a heartbeat found nobody. Workers without a tenant are built in; those from before keys were noted are anybody's.
SELECT tenant_id IS NULL AS built_in, connection > 0 AS connected, coalesce(key_id <> $3, false) AS foreign
FROM tickwork.worker
WHERE (tenant_id = $1 OR tenant_id IS NULL) AND id = $2;

-- name: lock_worker
-- A worker that speaks plain REST as it registered. Until the commit nobody else hands it anything.
SELECT name, tasks, queues, weights, slots, labels, resources, draining FROM tickwork.worker
WHERE tenant_id = $1 AND coalesce(key_id, $2) = $2 AND id = $3 AND connection = 0 AND ended_at IS NULL
FOR NO KEY UPDATE;

-- name: running_on_rest_worker
-- What a worker that speaks plain REST holds, one execution to each lease, with all that is needed to run it.
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
-- Leases of what has ended in other ways than by a report of the worker, such as by a cancellation.
DELETE FROM tickwork.lease WHERE worker_id = $1 AND id <> ALL($2::bigint[]);

-- name: is_there_news
-- Whether something is due that a worker with these tasks and queues might be handed, or it is to drain.
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
-- The worker takes nothing new; without a key, whoever registered it. Whoever has it on a connection tells it at its next beat; one that speaks plain REST
-- hears it from the answer to its next heartbeat.
UPDATE tickwork.worker SET draining = true
WHERE tenant_id = $1 AND id = $2 AND ended_at IS NULL AND ($3::int IS NULL OR coalesce(key_id, $3) = $3)
RETURNING id;
