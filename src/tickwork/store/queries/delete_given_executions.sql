-- How to read these queries: README.md

-- snippet: sent
-- The tenants $1, jobs $2 and due times $3 of executions. A tenant or a job that all of them have is sent once.
    SELECT tickwork.each($1::int[], tenant_id) AS tenant_id, tickwork.each($2::bigint[], job_id) AS job_id, at
    FROM unnest($1::int[], $2::bigint[], $3::timestamptz[]) AS sent (tenant_id, job_id, at)
    OFFSET 0

-- snippet: at_due_times
-- At the due times of executions: what a DELETE deletes.
USING (
-- include: sent
) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id;

-- name: delete_attempts
-- Deletes attempts.
DELETE FROM tickwork.attempt e
-- include: at_due_times

-- name: delete_logs
-- Deletes logs.
DELETE FROM tickwork.log e
-- include: at_due_times

-- name: delete_dead_letters
-- Deletes dead letters.
DELETE FROM tickwork.dead_letter e
-- include: at_due_times

-- name: delete_attempt_versions
-- Deletes which attempts had an earlier version of the job.
DELETE FROM tickwork.attempt_version e
-- include: at_due_times

-- name: delete_retry_payloads
-- Deletes the payloads of retries.
DELETE FROM tickwork.retry_payload e
-- include: at_due_times

-- name: delete_usage
-- Deletes what attempts have used.
DELETE FROM tickwork.process_usage e
-- include: at_due_times

-- name: delete_checkpoints
-- Deletes checkpoints.
DELETE FROM tickwork.checkpoint e
-- include: at_due_times

-- name: delete_cancelled_fan_outs
-- Deletes that the elements of a fan-out are to be cancelled.
DELETE FROM tickwork.cancelled_fan_out e
-- include: at_due_times

-- name: delete_callback_waits
-- Ends waits for HTTP targets, with their leases.
DELETE FROM tickwork.lease WHERE id = ANY(ARRAY(
    SELECT e.lease_id FROM (
-- include: sent
    ) o
    CROSS JOIN LATERAL (
        SELECT lease_id FROM tickwork.callback_wait
        WHERE tenant_id = o.tenant_id AND scheduled_for = o.at AND job_id = o.job_id
        OFFSET 0
    ) e));

-- name: delete_unended
-- Deletes that the index of jobs is to look at a job again.
DELETE FROM tickwork.job_unended e
-- include: at_due_times

-- name: delete_awaited
-- Deletes what executions waited for.
DELETE FROM tickwork.awaited e
USING (
-- include: sent
) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.child_id = o.job_id AND e.child_at = o.at;

-- name: delete_off_schedule
-- Deletes the records of off-schedule executions.
DELETE FROM tickwork.off_schedule_execution e
USING (
-- include: sent
) o
WHERE e.job_id = ANY(ARRAY[o.job_id]) AND e.scheduled_for = o.at;

-- name: delete_executions
-- Deletes executions.
DELETE FROM tickwork.execution e
-- include: at_due_times
