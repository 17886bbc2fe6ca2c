-- How to read these queries: README.md

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
