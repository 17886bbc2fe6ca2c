-- How to read these queries: README.md

-- name: find_tasks
-- How these tasks were described: the schema of their payloads, and the defaults of their jobs.
SELECT name, parameters, defaults, retired_at IS NOT NULL AS retired, replacement
FROM tickwork.task WHERE tenant_id = $1 AND name = ANY($2::text[]);

-- name: task_names
-- The names of all tasks of a tenant that may get new jobs.
SELECT name FROM tickwork.task WHERE tenant_id = $1 AND retired_at IS NULL ORDER BY name LIMIT 1000;

-- name: channel_names
-- The names of all channels of a tenant.
SELECT name FROM tickwork.channel WHERE tenant_id = $1 ORDER BY name;

-- name: definition
-- A job as it was defined.
SELECT definition, payload, version FROM tickwork.job WHERE tenant_id = $1 AND id = $2;

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

-- name: new_job_ids
-- Ids for new jobs.
SELECT nextval('tickwork.job_id') AS id FROM generate_series(1, $1);

-- name: insert_first_executions
-- Creates the executions of new jobs that are due at once or have only one due time.
WITH noted AS (
    -- The minutes in which they are due: what is fired then is counted from the executions.
    INSERT INTO tickwork.fired_to_count (at, tenant_id)
    SELECT minute.at, $1 FROM (
        SELECT DISTINCT date_trunc('minute', due) AS at FROM unnest($2::timestamptz[]) AS due
    ) minute
    WHERE NOT EXISTS (SELECT FROM tickwork.fired_to_count f WHERE f.at = minute.at AND f.tenant_id = $1)
)
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

-- snippet: columns
-- Everything that decides how a job changes.
    id, rule_id, scheduled_for, lane_id, priority, status, deferred, version, definition, key, active_from,
    active_until, runs_left, overlap::text, followed, depends

-- name: lock_jobs_by_key
-- Locks the jobs with these keys, in the order of their ids.
SELECT
-- include: columns
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

-- name: lock_job
-- Locks a job to change it.
SELECT
-- include: columns
FROM tickwork.job
WHERE tenant_id = $1 AND id = $2
FOR UPDATE;

-- name: set_job_status
-- Pauses, resumes or cancels a job. A resumed job has the due times from now on.
UPDATE tickwork.job
SET status = $3::tickwork.job_status, version = version + 1, updated_at = $4,
    active_from = CASE WHEN $3::tickwork.job_status = 'active' THEN $4 ELSE active_from END
WHERE tenant_id = $1 AND id = $2;

-- name: note_change
-- Says who changes a job and which fields, for the event that this transaction writes.
SELECT set_config('tickwork.job_change', $1, true);

-- name: replaced_payload
-- The payload of a job, unless it is this one.
SELECT payload FROM tickwork.job WHERE tenant_id = $1 AND id = $2 AND payload <> $3;

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
