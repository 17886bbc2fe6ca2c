-- How to read these queries: README.md

-- name: note_unchecked
-- Records jobs whose task nobody has described yet.
INSERT INTO tickwork.unchecked_job (job_id, tenant_id, task)
SELECT job_id, $1, task FROM unnest($2::bigint[], $3::text[]) AS c (job_id, task)
ON CONFLICT (job_id) DO UPDATE SET task = excluded.task, mismatch = NULL;

-- name: checkable_jobs
-- Some jobs whose task is known by now. It leaps from one awaited task to the next, however many jobs await it.
WITH RECURSIVE awaited AS (
    -- The tasks that jobs await.
    (SELECT tenant_id, task FROM tickwork.unchecked_job WHERE mismatch IS NULL ORDER BY tenant_id, task LIMIT 1)
    UNION ALL
    SELECT following.tenant_id, following.task
    FROM awaited
    CROSS JOIN LATERAL (
        SELECT tenant_id, task FROM tickwork.unchecked_job
        WHERE mismatch IS NULL AND (tenant_id, task) > (awaited.tenant_id, awaited.task)
        ORDER BY tenant_id, task LIMIT 1
    ) following
)
SELECT u.tenant_id, u.job_id
FROM awaited a
JOIN tickwork.task t ON t.tenant_id = a.tenant_id AND t.name = a.task
CROSS JOIN LATERAL (
    SELECT tenant_id, job_id FROM tickwork.unchecked_job
    WHERE mismatch IS NULL AND tenant_id = a.tenant_id AND task = a.task
    LIMIT $1
) u
LIMIT $1;

-- name: forget_unchecked
-- Deletes the note about a job that was checked, or is gone.
DELETE FROM tickwork.unchecked_job WHERE job_id = $1;

-- name: note_mismatch
-- Records why the payload of a job does not fit its task.
UPDATE tickwork.unchecked_job SET mismatch = $2 WHERE job_id = $1;

-- name: recheck_mismatched
-- Lets jobs be checked again whose payload did not fit, because their tasks were described anew.
UPDATE tickwork.unchecked_job SET mismatch = NULL
WHERE tenant_id = $1 AND task = ANY($2::text[]) AND mismatch IS NOT NULL;

-- name: due_mismatches
-- Executions that are due, of jobs whose payload does not fit their task.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.lane_id, u.mismatch
FROM tickwork.lane l
JOIN tickwork.task t ON t.tenant_id = l.tenant_id AND t.name = l.task
CROSS JOIN generate_series(0, 3) AS level (priority)
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, attempt, lane_id FROM tickwork.execution
    WHERE lane_id = l.id AND execution.priority = level.priority AND ready_at <= tickwork.clock()
    ORDER BY ready_at LIMIT $1
) e
JOIN tickwork.unchecked_job u ON u.job_id = e.job_id AND u.mismatch IS NOT NULL
WHERE l.placement LIKE '%"awaits_task":true%'
LIMIT $1;

-- name: fail_mismatch
-- Fails an execution whose payload does not fit its task, unless its job was changed meanwhile.
UPDATE tickwork.execution SET status = 'failed', ready_at = NULL, finished_at = tickwork.clock(), reason = $6
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4 AND lane_id + 0 = $5
    AND status = 'pending' AND ready_at IS DISTINCT FROM 'infinity';

-- snippet: no_longer_awaits
-- That a job was deleted, cancelled or edited, so that it no longer awaits a task.
NOT EXISTS (
    SELECT FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
    WHERE j.id = u.job_id AND j.status <> 'cancelled' AND l.placement LIKE '%"awaits_task":true%'
    OFFSET 0
)

-- name: forget_moved
-- Deletes notes about jobs that no longer await a task.
DELETE FROM tickwork.unchecked_job u
WHERE
-- include: no_longer_awaits
;

-- name: forget_if_moved
-- Deletes the note about a job that no longer awaits a task.
DELETE FROM tickwork.unchecked_job u
WHERE u.job_id = $1 AND
-- include: no_longer_awaits
;
