-- name: blocker_of_job
-- An execution of a job that has not ended, given the due times its rule fired last: one of those, what it was skipped
-- for or cancelled waiting for, or else the latest run by hand. Backfills have a pace of their own and are never in the
-- way. OFFSET 0: looked up by its whole key, never joined.
WITH RECURSIVE way AS (
    SELECT fired.* FROM unnest($3::timestamptz[]) AS at CROSS JOIN LATERAL (
        SELECT e.scheduled_for, e.finished_at, e.blocked_by FROM tickwork.execution e
        WHERE e.tenant_id = $1 AND e.scheduled_for = at AND e.job_id = $2 AND e.trigger <> 'backfill'
        OFFSET 0
    ) fired
    UNION
    SELECT before.* FROM way CROSS JOIN LATERAL (
        SELECT b.scheduled_for, b.finished_at, b.blocked_by FROM tickwork.execution b
        WHERE b.tenant_id = $1 AND b.scheduled_for = way.blocked_by AND b.job_id = $2
        OFFSET 0
    ) before
    WHERE way.finished_at IS NOT NULL
)
SELECT coalesce(
    (SELECT max(scheduled_for) FROM way WHERE finished_at IS NULL),
    (SELECT max(x.scheduled_for) FROM tickwork.off_schedule_execution x
     WHERE x.job_id = $2 AND x.backfill_id IS NULL AND EXISTS (
         SELECT FROM tickwork.execution other
         WHERE other.tenant_id = $1 AND other.scheduled_for = x.scheduled_for AND other.job_id = $2
             AND other.finished_at IS NULL
         OFFSET 0)));

-- name: queued
-- How many executions of a job wait for one another.
SELECT count(*) FROM tickwork.execution
WHERE tenant_id = $1 AND job_id = $2 AND blocked_by IS NOT NULL AND ready_at IS NOT NULL;

-- name: queue_execution
-- Lets an execution wait for the one before it.
UPDATE tickwork.execution SET ready_at = 'infinity', blocked_by = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';

-- name: skip_due_time
-- Passes over a due time because the execution before it has not ended.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at, blocked_by, reason, followed)
SELECT $1, $2, $3, $4, $5, 'schedule', 'skipped', tickwork.clock(), $6, 'overlap', followed
FROM tickwork.job WHERE id = $3
ON CONFLICT DO NOTHING;
