-- name: blocker_of_job
-- An execution of a job that has not ended, given the due times its rule fired last: one of those, the one it was
-- skipped for, or else the latest run by hand. Backfills have a pace of their own and are never in the way.
-- OFFSET 0: looked up by its whole key, never joined.
SELECT coalesce(
    (SELECT max(CASE WHEN last.finished_at IS NULL THEN last.scheduled_for
                     ELSE (SELECT other.scheduled_for FROM tickwork.execution other
                           WHERE other.tenant_id = $1 AND other.scheduled_for = last.blocked_by AND other.job_id = $2
                               AND other.finished_at IS NULL) END)
     FROM tickwork.execution last
     WHERE last.tenant_id = $1 AND last.scheduled_for = ANY($3::timestamptz[]) AND last.job_id = $2),
    (SELECT max(x.scheduled_for) FROM tickwork.extra x
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
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at, blocked_by, reason)
VALUES ($1, $2, $3, $4, $5, 'schedule', 'skipped', tickwork.clock(), $6, 'overlap')
ON CONFLICT DO NOTHING;
