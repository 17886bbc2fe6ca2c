-- name: blocker_of_job
-- The latest execution of a job that has not ended, given the due times that were fired last.
SELECT max(tickwork.blocker($1, $2, at)) FROM unnest($3::timestamptz[]) AS at;

-- name: queued
-- How many executions of a job wait for one another.
SELECT count(*) FROM tickwork.execution
WHERE tenant_id = $1 AND job_id = $2 AND blocked_by IS NOT NULL AND ready_at IS NOT NULL;

-- name: queue_execution
-- Lets an execution wait for the one before it.
UPDATE tickwork.execution SET ready_at = 'infinity', blocked_by = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';
