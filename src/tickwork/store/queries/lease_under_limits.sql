-- How to read these queries: README.md

-- name: lock_workers
-- Of the given workers, those that may still be given work on this connection, locked to stay so until the commit.
SELECT w.id
FROM tickwork.worker w
JOIN unnest($1::int[], $2::int[]) AS mine (id, connection) ON mine.id = w.id AND mine.connection = w.connection
WHERE w.ended_at IS NULL AND NOT w.draining AND w.lease_until > tickwork.clock()
FOR KEY SHARE OF w;

-- name: find_lanes_by_id
-- Lanes with what their executions have in common.
SELECT id, tenant_id, queue, task, placement FROM tickwork.lane WHERE id = ANY($1::int[]);

-- name: lock_limiters
-- Locks the limiters of these queues and keys.
SELECT g.id, g.tenant_id, g.kind, g.name, g.paused, g.max_running, g.rate,
    greatest(g.used_until, tickwork.clock()) AS used_until, tickwork.clock() AS now, g.max_workers
FROM unnest($1::int[], $2::text[], $3::text[]) AS wanted (tenant_id, kind, name)
JOIN tickwork.limiter g ON g.tenant_id = wanted.tenant_id AND g.kind = wanted.kind AND g.name = wanted.name
ORDER BY g.id
FOR UPDATE OF g;

-- name: handed_over_by_limiter
-- How many executions have a slot under each limiter: at least as many as still run.
SELECT limiter_id, sum(last - first + 1)::bigint AS running
FROM tickwork.slot
WHERE limiter_id = ANY($1::int[])
GROUP BY limiter_id;

-- name: running_by_limiter
-- How many executions run under each limiter.
SELECT s.limiter_id, count(*) AS running
FROM tickwork.slot s
JOIN tickwork.lease l ON l.id = s.lease_id
CROSS JOIN LATERAL tickwork.running_of_lease(l, s.first, s.last)
WHERE s.limiter_id = ANY($1::int[])
GROUP BY s.limiter_id;

-- name: workers_by_limiter
-- Which workers have executions that run under each limiter. What an HTTP target has, no worker has (0).
SELECT DISTINCT s.limiter_id, l.worker_id
FROM tickwork.slot s
JOIN tickwork.lease l ON l.id = s.lease_id
WHERE s.limiter_id = ANY($1::int[]) AND l.worker_id <> 0
    AND EXISTS (SELECT FROM tickwork.running_of_lease(l, s.first, s.last));

-- name: use_rates
-- Records until when the rates of limiters are used up.
UPDATE tickwork.limiter g SET used_until = u.used_until
FROM unnest($1::int[], $2::timestamptz[]) AS u (id, used_until) WHERE g.id = u.id;

-- name: write_lease
-- Records in one row what a worker was given.
INSERT INTO tickwork.lease (worker_id, tenant_ids, scheduled_fors, job_ids)
SELECT $1, $2::int[], ARRAY(SELECT to_timestamp(at / 1e6::float8) FROM unnest($3::bigint[]) AS at), $4::text::bigint[]
RETURNING id;

-- name: take_slots
-- Records which parts of a lease count under which limiters.
INSERT INTO tickwork.slot (lease_id, limiter_id, first, last)
SELECT $1, * FROM unnest($2::int[], $3::int[], $4::int[]);

-- name: forget_slots
-- Deletes the slots of leases that are closed; they no longer count anyway.
DELETE FROM tickwork.slot s
WHERE NOT EXISTS (SELECT FROM tickwork.lease l WHERE l.id = s.lease_id);
