-- How to read these queries: README.md

-- name: tasks
-- The tasks of a tenant, or only the one that is named, with the live workers that offer them.
SELECT t.name, t.parameters, t.description, t.defaults, t.offered_at, t.disabled_at, t.disabled_by, t.disabled_reason,
    t.retired_at, t.retired_by, t.replacement,
    ARRAY(SELECT w.id FROM tickwork.worker w
          WHERE w.tenant_id = t.tenant_id AND w.ended_at IS NULL AND t.name = ANY(w.tasks) ORDER BY w.id) AS workers
FROM tickwork.task t WHERE t.tenant_id = $1 AND ($2::text IS NULL OR t.name = $2)
ORDER BY t.name;

-- name: declare_task
-- Describes a task, unless live workers offer it and describe it otherwise: they know better.
INSERT INTO tickwork.task AS t (tenant_id, name, parameters, description, defaults, offered_at)
VALUES ($1, $2, $3, $4, $5, NULL)
ON CONFLICT (tenant_id, name) DO UPDATE
SET parameters = excluded.parameters, description = excluded.description, defaults = excluded.defaults
WHERE (t.parameters, t.description, t.defaults)
        IS NOT DISTINCT FROM (excluded.parameters, excluded.description, excluded.defaults)
    OR NOT EXISTS (SELECT FROM tickwork.worker w
                   WHERE w.tenant_id = $1 AND w.ended_at IS NULL AND w.lease_until > tickwork.clock()
                       AND $2 = ANY(w.tasks))
RETURNING t.name;

-- name: disable_task
-- Makes the executions of a task wait. Repeated, it changes only the reason.
UPDATE tickwork.task SET disabled_at = coalesce(disabled_at, tickwork.clock()), disabled_by = $3, disabled_reason = $4
WHERE tenant_id = $1 AND name = $2
RETURNING name;

-- name: enable_task
-- Lets the executions of a task go on.
UPDATE tickwork.task SET disabled_at = NULL, disabled_by = NULL, disabled_reason = NULL
WHERE tenant_id = $1 AND name = $2
RETURNING name;

-- name: retire_task
-- Lets a task have no new jobs, and if $5 cancels those that it has.
UPDATE tickwork.task SET retired_at = tickwork.clock(), retired_by = $3, replacement = $4, cancels_jobs = $5
WHERE tenant_id = $1 AND name = $2
RETURNING name;

-- name: take_back_task
-- Lets a retired task have new jobs again.
UPDATE tickwork.task SET retired_at = NULL, retired_by = NULL, replacement = NULL, cancels_jobs = false
WHERE tenant_id = $1 AND name = $2
RETURNING name;

-- name: cancelling_tasks
-- The retired tasks whose jobs are being cancelled, and whether they were retired so long ago that all jobs that were
-- created before are in the index of jobs.
SELECT tenant_id, name, retired_at < tickwork.clock() - $1::interval AS is_settled
FROM tickwork.task WHERE cancels_jobs
ORDER BY tenant_id, name;

-- name: end_cancelling
-- Records that the jobs of a retired task are cancelled.
UPDATE tickwork.task SET cancels_jobs = false WHERE tenant_id = $1 AND name = $2 AND cancels_jobs;
