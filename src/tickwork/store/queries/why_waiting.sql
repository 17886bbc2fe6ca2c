-- How to read these queries: README.md

-- name: execution_facts
-- An execution with what may keep it from running.
SELECT e.status::text AS status, e.scheduled_for, CASE WHEN isfinite(e.ready_at) THEN e.ready_at END AS ready_at,
    coalesce(e.ready_at = 'infinity', false) AS is_suspended, e.attempt, e.started_at, e.finished_at, e.reason,
    e.priority, e.lane_id, l.queue, l.task, l.placement, j.status = 'paused' AS job_paused, j.target, w.name AS worker,
    e.worker_id, e.blocked_by, blocker.status AS blocker_status, tickwork.clock() AS now,
    e.trigger IN ('schedule', 'manual')
        AND NOT tickwork.was_tried(e.tenant_id, e.scheduled_for, e.job_id, e.attempt) AS is_untried
FROM tickwork.execution e
JOIN tickwork.lane l ON l.id = e.lane_id
JOIN tickwork.job j ON j.id = e.job_id
LEFT JOIN tickwork.worker w ON w.id = e.worker_id
LEFT JOIN LATERAL (
    SELECT b.status::text AS status FROM tickwork.execution b
    WHERE b.tenant_id = e.tenant_id AND b.scheduled_for = e.blocked_by AND b.job_id = e.job_id
    OFFSET 0
) blocker ON true
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3;

-- name: awaited_parents
-- What an execution waits for and what that waits for in turn, the nearest first, up to a limit, with the status of
-- each.
SELECT k.parent_id, k.parent_at, k.is_parent, coalesce(e.status, 'not due yet') AS status
FROM (SELECT * FROM tickwork.awaited_by($1, $2) LIMIT $3) k
LEFT JOIN LATERAL (
    SELECT e.status::text AS status FROM tickwork.execution e
    WHERE e.tenant_id = k.tenant_id AND e.scheduled_for = k.parent_at AND e.job_id = k.parent_id
    OFFSET 0
) e ON true;

-- name: breaker_of_execution
-- The circuit breaker that holds this execution, if one does.
SELECT b.destination, b.reason, b.last_error, CASE WHEN b.state = 'open' THEN b.probe_at END AS probe_at
FROM tickwork.held_by_breaker h
JOIN tickwork.breaker b ON b.tenant_id = h.tenant_id AND b.destination = h.destination
WHERE h.tenant_id = $1 AND h.destination = $2 AND h.priority = $3 AND h.scheduled_for = $4 AND h.job_id = $5;

-- name: limiters_of_lane
-- The limiters of a queue and of keys.
SELECT g.id, g.kind, g.name, g.paused, g.max_running, g.rate, g.max_workers,
    greatest(g.used_until, tickwork.clock()) AS used_until
FROM tickwork.limiter g
WHERE g.tenant_id = $1 AND (g.kind = 'queue' AND g.name = $2 OR g.kind = 'key' AND g.name = ANY($3::text[]));

-- name: running_under_limiter
-- Some of the executions that run under a limiter.
SELECT e.job_id, e.scheduled_for
FROM tickwork.slot s
JOIN tickwork.lease l ON l.id = s.lease_id
CROSS JOIN LATERAL tickwork.running_of_lease(l, s.first, s.last) AS e
WHERE s.limiter_id = $1
LIMIT $2;

-- name: candidate_workers
-- Live workers that may serve a tenant, those that offer a task or run commands first.
SELECT w.id, w.name, w.draining, w.queues, w.labels, w.resources, w.slots, w.commands,
    $2::text = ANY(w.tasks) AS offers_task
FROM tickwork.worker w
WHERE w.ended_at IS NULL AND w.lease_until > tickwork.clock() AND (w.tenant_id = $1 OR w.tenant_id IS NULL)
ORDER BY offers_task DESC, w.commands = '{}', w.id
LIMIT $3;

-- name: task_state
-- Whether a task is known or disabled, and why the payload of a job does not fit it.
SELECT t.name IS NOT NULL AS is_known, t.disabled_at, t.disabled_by, t.disabled_reason,
    (SELECT mismatch FROM tickwork.unchecked_job WHERE job_id = $3) AS mismatch
FROM (SELECT) always LEFT JOIN tickwork.task t ON t.tenant_id = $1 AND t.name = $2;

-- name: last_seen
-- Until when the latest worker of this name had a lease.
SELECT max(lease_until) AS lease_until FROM tickwork.worker
WHERE (tenant_id = $1 OR tenant_id IS NULL) AND name = $2;

-- name: running_by_worker
-- What workers have, by the placement of its lanes.
SELECT s.worker_id, l.placement, count(*) AS count
FROM tickwork.lease s
CROSS JOIN LATERAL tickwork.running_of_lease(s) AS e
JOIN tickwork.lane l ON l.id = e.lane_id
WHERE s.worker_id = ANY($1::int[])
GROUP BY s.worker_id, l.placement;

-- name: count_ahead
-- How many executions are ahead of one in its lane and priority, up to a limit.
SELECT count(*) AS ahead FROM (
    SELECT FROM tickwork.execution WHERE lane_id = $1 AND priority = $2 AND ready_at < $3 LIMIT $4
) first;
