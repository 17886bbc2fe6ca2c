-- How to read these queries: README.md

-- name: insert_execution
-- Creates one execution, which waits for a worker or for its parents.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
SELECT $1, $2, $3, $4, $5, $6, 'pending',
    CASE WHEN j.depends AND tickwork.awaits_parents($3, $2) THEN 'infinity' ELSE $2 END, j.followed
FROM tickwork.job j WHERE j.id = $3
ON CONFLICT DO NOTHING
RETURNING job_id;

-- name: revive_execution
-- Makes an execution wait again that was stopped before its due time, fenced off from the worker that had it.
UPDATE tickwork.execution
SET status = 'pending', ready_at = CASE WHEN tickwork.awaits_parents($3, $2) THEN 'infinity' ELSE scheduled_for END,
    finished_at = NULL, reason = NULL, worker_id = NULL, attempt = attempt + 1, lane_id = $4, priority = $5
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
    AND status IN ('skipped', 'cancelled') AND reason IN ('paused', 'rescheduled')
    AND scheduled_for > tickwork.clock();

-- name: note_off_schedule
-- Records an execution that no rule created.
INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: queue_execution
-- Makes an execution wait for the one before it.
UPDATE tickwork.execution SET ready_at = 'infinity', blocked_by = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';

-- name: skip_due_time
-- Records that a due time was skipped because of the execution before it.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at, blocked_by, reason, followed)
SELECT $1, $2, $3, $4, $5, 'schedule', 'skipped', tickwork.clock(), $6, $7, followed
FROM tickwork.job WHERE id = $3
ON CONFLICT DO NOTHING;

-- name: note_unended
-- Records all executions of a job that have not ended, because its overlap policy was `allow` until now.
INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
SELECT $2, at FROM tickwork.waiting_times($1, $2, $3) AS at
UNION
SELECT e.job_id, e.scheduled_for
FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE $2 = ANY(l.job_ids) AND e.job_id = $2
ON CONFLICT DO NOTHING;

-- name: stop_ahead
-- Ends executions that were fired ahead of a due time that has not come yet.
UPDATE tickwork.execution e
SET status = $4, ready_at = NULL, finished_at = tickwork.clock(), reason = $5
FROM (
    SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM unnest($3::timestamptz[]) AS at
    WHERE at > tickwork.clock()
    OFFSET 0
) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id AND e.finished_at IS NULL
RETURNING e.scheduled_for, e.attempt, e.worker_id;

-- name: take_back
-- Takes an execution that has not begun away from its worker, to wait until its job is resumed. It is locked whatever
-- its status, because it may be about to be given to that worker.
WITH on_its_way AS (
    -- The execution, locked, if its due time has not come.
    SELECT tenant_id, scheduled_for, job_id, attempt, worker_id, status FROM tickwork.execution
    WHERE tenant_id = $1 AND job_id = $2 AND scheduled_for = $3 AND scheduled_for > tickwork.clock()
    FOR UPDATE
), taken AS (
    -- The same, if a worker has it.
    SELECT * FROM on_its_way WHERE status = 'running'
), noted AS (
    -- Its attempt, recorded as returned.
    INSERT INTO tickwork.attempt (tenant_id, scheduled_for, job_id, attempt, outcome, worker_id, finished_at)
    SELECT tenant_id, scheduled_for, job_id, attempt, 'returned', worker_id, tickwork.clock() FROM taken
)
UPDATE tickwork.execution e
SET status = 'pending', ready_at = 'infinity', worker_id = NULL, attempt = e.attempt + 1
FROM taken
WHERE e.tenant_id = ANY(ARRAY[taken.tenant_id]) AND e.scheduled_for = taken.scheduled_for AND e.job_id = taken.job_id
RETURNING taken.scheduled_for, taken.attempt, taken.worker_id;

-- snippet: waiting_executions
-- The waiting executions of the job $2 of the tenant $1, whose lane is $3: what an UPDATE changes.
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM tickwork.waiting_times($1, $2, $3) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id

-- name: pause_waiting
-- Makes the waiting executions of a job wait until it is resumed, whatever else they waited for.
UPDATE tickwork.execution e SET ready_at = 'infinity', reason = NULL
-- include: waiting_executions
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: resume_waiting
-- Lets the waiting executions of a job go on, except those that wait for other jobs.
UPDATE tickwork.execution e SET ready_at = greatest(e.scheduled_for, tickwork.clock()), reason = NULL
-- include: waiting_executions
    AND NOT isfinite(e.ready_at) AND e.blocked_by IS NULL
    AND NOT tickwork.awaits_parents(e.job_id, e.scheduled_for);

-- name: cancel_waiting
-- Cancels the waiting executions of a job.
UPDATE tickwork.execution e
SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = $4
-- include: waiting_executions
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: move_waiting
-- Moves the waiting executions of a job that is edited to another lane or priority, if it has one now.
UPDATE tickwork.execution e SET lane_id = $4, priority = $5, moved_by = pg_current_xact_id()
-- include: waiting_executions
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: waiting_in_other_lanes
-- The waiting executions of the job $2 that are not in its lane $3, with what their own lane asks for.
SELECT e.scheduled_for, l.placement
FROM tickwork.waiting_times($1, $2, $3) AS at
CROSS JOIN LATERAL (
    SELECT scheduled_for, lane_id FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = at AND job_id = $2
    OFFSET 0
) e
JOIN tickwork.lane l ON l.id = e.lane_id
WHERE e.lane_id <> $3 AND l.placement <> '';

-- name: set_lane
-- Puts a waiting execution into another lane.
UPDATE tickwork.execution SET lane_id = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';

-- name: stop_running
-- Cancels the executions of a job that workers or HTTP targets have, and tells these to stop them.
WITH running AS MATERIALIZED (
    -- What they have of the job.
    SELECT e.tenant_id, e.scheduled_for, e.job_id
    FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
    WHERE $2 = ANY(l.job_ids) AND e.job_id = $2 AND e.tenant_id = $1
    ORDER BY 1, 2, 3
), ended AS (
    -- The same, cancelled.
    UPDATE tickwork.execution e SET status = 'cancelled', finished_at = tickwork.clock(), reason = $3
    FROM running r
    WHERE e.tenant_id = ANY(ARRAY[r.tenant_id]) AND e.scheduled_for = r.scheduled_for AND e.job_id = r.job_id
        AND e.status = 'running'
    RETURNING e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.worker_id
)
INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
SELECT ended.*, $3 FROM ended
ON CONFLICT DO NOTHING;

-- name: count_running_of_job
-- How many executions of a job workers and HTTP targets have.
SELECT count(*) FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE $2 = ANY(l.job_ids) AND e.job_id = $2 AND e.tenant_id = $1;
