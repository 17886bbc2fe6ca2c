-- How to read these queries: README.md

-- name: ensure_lanes
-- Creates the lanes that do not exist yet.
INSERT INTO tickwork.lane (tenant_id, queue, task, placement)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[]) AS l (queue, task, placement)
ORDER BY 2, 3, 4
ON CONFLICT DO NOTHING;

-- name: ensure_limiters
-- Creates limiters for keys that no job has named before.
INSERT INTO tickwork.limiter (tenant_id, kind, name)
SELECT $1, 'key', key FROM unnest($2::text[]) AS key
ORDER BY key
ON CONFLICT DO NOTHING;

-- name: find_lanes
-- The lanes with these queues, tasks and placements, and whether the queue has a limit on what may wait.
SELECT l.id, l.queue, l.task, l.placement, g.max_backlog IS NOT NULL AS is_bounded
FROM unnest($2::text[], $3::text[], $4::text[]) AS wanted (queue, task, placement)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.lane
    WHERE tenant_id = $1 AND queue = wanted.queue AND task = wanted.task AND placement = wanted.placement
    OFFSET 0
) l
LEFT JOIN tickwork.limiter g ON g.tenant_id = l.tenant_id AND g.kind = 'queue' AND g.name = l.queue;

-- name: ensure_rules
-- Creates the rules that do not exist yet.
INSERT INTO tickwork.rule (tenant_id, timing, catch_up)
SELECT $1, * FROM unnest($2::text[], $3::text[]) AS r (timing, catch_up)
ORDER BY 2, 3
ON CONFLICT DO NOTHING;

-- name: lock_rules
-- Locks rules by timing and by id, before anything is decided about their jobs.
SELECT r.id, r.timing, r.catch_up, r.next_at, r.last_at, r.cursor_priority, r.cursor_job
FROM tickwork.rule r
WHERE r.tenant_id + 0 = $1 AND r.id = ANY(ARRAY(
    SELECT named.id FROM unnest($2::text[], $3::text[]) AS wanted (timing, catch_up)
    CROSS JOIN LATERAL (
        SELECT id FROM tickwork.rule
        WHERE tenant_id = $1 AND timing = wanted.timing AND catch_up = wanted.catch_up
        OFFSET 0
    ) named
    UNION ALL SELECT unnest($4::bigint[])))
ORDER BY r.id
FOR UPDATE OF r;

-- name: arm_rule
-- Gives a rule its next due time, after no job had needed one.
UPDATE tickwork.rule SET next_at = $2 WHERE id = $1 AND next_at IS NULL;

-- name: new_job_ids
-- Ids for new jobs.
SELECT nextval('tickwork.job_id') AS id FROM generate_series(1, $1);

-- name: insert_first_executions
-- Creates the executions of new jobs that are due at once or have only one due time.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
SELECT $1, at, job_id, tickwork.each($4::int[], lane_id), tickwork.each($5::smallint[], priority),
    'schedule', 'pending',
    CASE WHEN tickwork.each($6::boolean[], depends) THEN 'infinity' ELSE at END,
    tickwork.each($7::boolean[], followed)
FROM (
    SELECT tickwork.each($2::timestamptz[], due) AS at, * FROM unnest(
        $2::timestamptz[], $3::bigint[], $4::int[], $5::smallint[], $6::boolean[], $7::boolean[])
        AS c (due, job_id, lane_id, priority, depends, followed)
) c;

-- name: jobs_by_key
-- The jobs with these keys, and the rules to lock before the jobs are read.
SELECT j.* FROM (SELECT DISTINCT unnest($2::text[]) AS key) wanted CROSS JOIN LATERAL (
    SELECT id, key, rule_id FROM tickwork.job
    WHERE tenant_id = $1 AND key = wanted.key AND key IS NOT NULL AND status <> 'cancelled'
    OFFSET 0
) j;

-- name: lock_jobs_by_key
-- Locks the jobs with these keys, in the order of their ids.
SELECT id, rule_id, scheduled_for, lane_id, priority, status, deferred, version, definition, key, active_from,
    active_until, overlap::text, followed, depends
FROM tickwork.job
WHERE id = ANY(ARRAY(
        SELECT j.id FROM unnest($2::text[]) AS wanted (key) CROSS JOIN LATERAL (
            SELECT id FROM tickwork.job
            WHERE tenant_id = $1 AND key = wanted.key AND key IS NOT NULL AND status <> 'cancelled'
            OFFSET 0
        ) j))
    AND status <> 'cancelled'
ORDER BY id + 0
FOR UPDATE;

-- name: rule_of_job
-- The rule to lock before the job itself is read.
SELECT rule_id FROM tickwork.job WHERE tenant_id = $1 AND id = $2;

-- name: lock_job
-- Locks a job to change it.
SELECT id, rule_id, scheduled_for, lane_id, priority, status, deferred, version, definition, active_from, active_until,
    runs_left, overlap::text, followed, depends
FROM tickwork.job WHERE tenant_id = $1 AND id = $2
FOR UPDATE;

-- name: set_job_status
-- Pauses, resumes or cancels a job. A resumed job has the due times from now on.
UPDATE tickwork.job
SET status = $3::tickwork.job_status, version = version + 1, updated_at = $4,
    active_from = CASE WHEN $3::tickwork.job_status = 'active' THEN $4 ELSE active_from END
WHERE tenant_id = $1 AND id = $2;

-- name: set_runs
-- Sets the last due time of a job with a limited number of runs, or while it is paused the number of runs left.
UPDATE tickwork.job SET active_until = $3, runs_left = $4 WHERE tenant_id = $1 AND id = $2;

-- name: ended_as
-- How the execution of a one-time job ended, if it has.
SELECT status::text FROM tickwork.execution
WHERE tenant_id = $1 AND job_id = $2 AND scheduled_for = $3 AND finished_at IS NOT NULL;

-- name: make_due
-- Makes a one-time job due now, because its due time passed while it was paused.
UPDATE tickwork.job SET scheduled_for = $3, deferred = false WHERE tenant_id = $1 AND id = $2;

-- name: note_past_rule
-- Records which rule a job belonged to, for its history.
INSERT INTO tickwork.past_rule (job_id, rule_id, until) VALUES ($1, $2, tickwork.clock()) ON CONFLICT DO NOTHING;

-- name: note_off_schedule
-- Records an execution that no rule created.
INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: remember_unended
-- Records all executions of a job that have not ended, because its overlap policy was `allow` until now.
INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
SELECT $2, at FROM tickwork.waiting_times($1, $2, $3) AS at
UNION
SELECT e.job_id, e.scheduled_for
FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE $2 = ANY(l.job_ids) AND e.job_id = $2
ON CONFLICT DO NOTHING;

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

-- name: pause_waiting
-- Makes the waiting executions of a job wait until it is resumed, whatever else they waited for.
UPDATE tickwork.execution e SET ready_at = 'infinity', reason = NULL
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM tickwork.waiting_times($1, $2, $3) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: resume_waiting
-- Lets the waiting executions of a job go on, except those that wait for other jobs.
UPDATE tickwork.execution e SET ready_at = greatest(e.scheduled_for, tickwork.clock()), reason = NULL
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM tickwork.waiting_times($1, $2, $3) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id
    AND NOT isfinite(e.ready_at) AND e.blocked_by IS NULL
    AND NOT tickwork.awaits_parents(e.job_id, e.scheduled_for);

-- name: cancel_waiting
-- Cancels the waiting executions of a job.
UPDATE tickwork.execution e
SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = $4
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM tickwork.waiting_times($1, $2, $3) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: move_waiting
-- Moves the waiting executions of a job to another lane or priority.
UPDATE tickwork.execution e SET lane_id = $4, priority = $5
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM tickwork.waiting_times($1, $2, $3) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id
    AND isfinite(e.ready_at) IS NOT NULL;

-- name: find_tasks
-- What workers said about these tasks: the shape of their payloads, and the defaults of their jobs.
SELECT name, parameters, defaults FROM tickwork.task WHERE tenant_id = $1 AND name = ANY($2::text[]);

-- name: task_names
-- The names of all tasks that a tenant's workers have offered.
SELECT name FROM tickwork.task WHERE tenant_id = $1 ORDER BY name LIMIT 1000;

-- name: definition
-- A job as it was defined.
SELECT definition, payload, version FROM tickwork.job WHERE tenant_id = $1 AND id = $2;
