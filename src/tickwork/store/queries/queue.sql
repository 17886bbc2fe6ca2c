-- How to read these queries: README.md

-- name: queue_names
-- One page of a tenant's queues by name: those that jobs have named, and those with settings.
WITH RECURSIVE named AS (
    -- Those that jobs have named, by leaps: a queue may have a million lanes.
    (SELECT queue FROM tickwork.lane WHERE tenant_id = $1 AND queue > $2 ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT following.queue FROM named CROSS JOIN LATERAL (
        SELECT queue FROM tickwork.lane WHERE tenant_id = $1 AND queue > named.queue ORDER BY queue LIMIT 1
    ) following
)
SELECT name FROM (
    (SELECT queue AS name FROM named LIMIT $3)
    UNION
    SELECT name FROM tickwork.limiter WHERE tenant_id = $1 AND kind = 'queue' AND name > $2
    UNION
    SELECT queue FROM tickwork.queue_priority WHERE tenant_id = $1 AND queue > $2
    UNION
    SELECT queue FROM tickwork.default_retention WHERE tenant_id = $1 AND queue > $2
) known
ORDER BY name
LIMIT $3;

-- name: is_queue
-- Whether a job has named the queue, or it has settings.
SELECT EXISTS (SELECT FROM tickwork.lane WHERE tenant_id = $1 AND queue = $2)
    OR EXISTS (SELECT FROM tickwork.limiter WHERE tenant_id = $1 AND kind = 'queue' AND name = $2)
    OR EXISTS (SELECT FROM tickwork.queue_priority WHERE tenant_id = $1 AND queue = $2)
    OR EXISTS (SELECT FROM tickwork.default_retention WHERE tenant_id = $1 AND queue = $2) AS known;

-- name: queue_settings
-- The settings of some of a tenant's queues.
SELECT asked.name, coalesce(g.paused, false) AS paused, g.max_running, g.rate, g.max_backlog, g.max_workers,
    coalesce(p.priority, 2) AS priority, r.age, r.last
FROM unnest($2::text[]) AS asked (name)
LEFT JOIN tickwork.limiter g ON g.tenant_id = $1 AND g.kind = 'queue' AND g.name = asked.name
LEFT JOIN tickwork.queue_priority p ON p.tenant_id = $1 AND p.queue = asked.name
LEFT JOIN tickwork.default_retention r ON r.tenant_id = $1 AND r.queue = asked.name;

-- name: queue_backlogs
-- The lanes and priorities of queues in which an execution is due, and for how long the oldest has waited.
SELECT l.queue, l.id AS lane_id, level.priority,
    extract(epoch FROM tickwork.clock() - oldest.ready_at)::float8 AS waited
FROM tickwork.lane l
CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
CROSS JOIN LATERAL (
    SELECT e.ready_at FROM tickwork.execution e
    WHERE e.lane_id = l.id AND e.priority = level.priority AND e.ready_at <= tickwork.clock()
    ORDER BY e.ready_at LIMIT 1
) oldest
WHERE l.tenant_id = $1 AND l.queue = ANY($2::text[]);

-- name: queues_of_lanes
-- The queues that lanes belong to.
SELECT id, queue FROM tickwork.lane WHERE id = ANY($1::int[]);

-- name: queue_depths
-- How many executions wait in each queue, given its lanes and priorities, up to a limit: urgent ones are counted first.
SELECT q.queue AS name, counted.depths
FROM (SELECT DISTINCT queue FROM unnest($1::text[]) AS named (queue)) q
CROSS JOIN LATERAL (
    SELECT ARRAY[count(*) FILTER (WHERE priority = 0), count(*) FILTER (WHERE priority = 1),
                 count(*) FILTER (WHERE priority = 2), count(*) FILTER (WHERE priority = 3)] AS depths
    FROM (
        SELECT backlog.priority
        FROM (
            SELECT lane_id, priority
            FROM unnest($1::text[], $2::int[], $3::smallint[]) AS each (queue, lane_id, priority)
            WHERE each.queue = q.queue
            ORDER BY priority OFFSET 0
        ) backlog
        CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution e
            WHERE e.lane_id = backlog.lane_id AND e.priority = backlog.priority AND e.ready_at <= tickwork.clock()
            LIMIT $4
        ) waiting
        LIMIT $4
    ) seen
) counted;

-- name: running_by_queue
-- How many executions of each queue are with workers.
SELECT l.queue AS name, count(*) AS running
FROM tickwork.lease s
CROSS JOIN LATERAL tickwork.running_of_lease(s) AS e
JOIN tickwork.lane l ON l.id = e.lane_id
WHERE e.tenant_id = $1 AND l.queue = ANY($2::text[])
GROUP BY l.queue;

-- name: set_queue
-- Sets the limits of a queue. Under a faster rate nothing waits for what was used up under the slower one.
INSERT INTO tickwork.limiter AS g (tenant_id, kind, name, max_running, rate, max_backlog, max_workers)
VALUES ($1, 'queue', $2, $3, $4, $5, $7)
ON CONFLICT (tenant_id, kind, name) DO UPDATE
SET max_running = excluded.max_running, rate = excluded.rate, max_backlog = excluded.max_backlog,
    max_workers = excluded.max_workers,
    used_until = least(g.used_until, tickwork.clock() + $6::interval), updated_at = tickwork.clock()
RETURNING g.id;

-- name: set_queue_priority
-- Sets the priority of a queue among the others.
INSERT INTO tickwork.queue_priority (tenant_id, queue, priority) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, queue) DO UPDATE SET priority = excluded.priority;

-- name: drop_queue_priority
-- Gives a queue the priority `normal`, as those have that nobody has set.
DELETE FROM tickwork.queue_priority WHERE tenant_id = $1 AND queue = $2;

-- name: pause_queue
-- Pauses a queue. It waits for transactions that are giving out executions of the queue: they lock its row.
INSERT INTO tickwork.limiter (tenant_id, kind, name, paused) VALUES ($1, 'queue', $2, true)
ON CONFLICT (tenant_id, kind, name) DO UPDATE SET paused = true, updated_at = tickwork.clock();

-- name: resume_queue
-- Resumes a queue.
UPDATE tickwork.limiter SET paused = false, updated_at = tickwork.clock()
WHERE tenant_id = $1 AND kind = 'queue' AND name = $2;

-- name: forget_queue
-- Deletes the row of a queue that has no settings, so that claiming need not look at it.
DELETE FROM tickwork.limiter
WHERE tenant_id = $1 AND kind = 'queue' AND name = $2 AND NOT paused
    AND max_running IS NULL AND rate IS NULL AND max_backlog IS NULL AND max_workers IS NULL;

-- name: drop_slots
-- Deletes the slots of a limiter, to count them again.
DELETE FROM tickwork.slot WHERE limiter_id = $1;

-- name: count_running
-- Makes what workers already have count under the limiter of its queue: each unbroken part of a lease is a slot.
INSERT INTO tickwork.slot (limiter_id, lease_id, first, last)
SELECT $1, lease_id, min(place), max(place)
FROM (
    SELECT s.id AS lease_id, e.place, e.place - row_number() OVER (PARTITION BY s.id ORDER BY e.place) AS stretch
    FROM tickwork.lease s
    CROSS JOIN LATERAL tickwork.running_of_lease(s) AS e
    JOIN tickwork.lane l ON l.id = e.lane_id
    WHERE e.tenant_id = $2 AND l.queue = $3
) running
GROUP BY lease_id, stretch;

-- name: bounded_lanes
-- The lanes of queues that have a limit on how much may wait.
SELECT l.id
FROM (SELECT tenant_id, name FROM tickwork.limiter WHERE max_backlog IS NOT NULL OFFSET 0) g
CROSS JOIN LATERAL (
    SELECT id FROM tickwork.lane WHERE tenant_id = g.tenant_id AND queue = g.name OFFSET 0
) l;

-- name: backlogs
-- How much waits in the queues with a limit on that, and how much is about to be added to each, given the lane of each
-- addition. Nothing is counted beyond the limit. A fan-out does not count: its elements do, once there are any.
SELECT g.name AS queue, g.max_backlog, wanted.lanes, wanted.coming, (
    SELECT count(*) FROM (
        SELECT FROM tickwork.lane l
        CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
        CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution e
            WHERE e.lane_id = l.id AND e.priority = level.priority AND e.ready_at <= tickwork.clock() + $2::interval
            LIMIT g.max_backlog
        ) waiting
        WHERE l.tenant_id = g.tenant_id AND l.queue = g.name AND l.placement NOT LIKE '%"fans_out":true%'
        LIMIT g.max_backlog
    ) counted) AS depth
FROM (
    SELECT l.tenant_id, l.queue, array_agg(DISTINCT l.id) AS lanes, count(*) AS coming
    FROM unnest($1::int[]) AS each (lane_id) JOIN tickwork.lane l ON l.id = each.lane_id
    GROUP BY l.tenant_id, l.queue
) wanted
JOIN tickwork.limiter g ON g.tenant_id = wanted.tenant_id AND g.kind = 'queue' AND g.name = wanted.queue
WHERE g.max_backlog IS NOT NULL;
