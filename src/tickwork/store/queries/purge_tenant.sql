-- How to read these queries: README.md

-- name: lock_tenant
-- Locks a tenant that is to be deleted: nobody makes a key for it meanwhile.
SELECT id FROM tickwork.tenant WHERE name = $1 FOR UPDATE;

-- name: begin_tenant_purge
-- Notes that a tenant is to be deleted.
INSERT INTO tickwork.tenant_purge (tenant_id, name, requested_by) VALUES ($1, $2, $3::jsonb) ON CONFLICT DO NOTHING;

-- name: revoke_keys_of_tenant
-- Revokes the keys of a tenant, also one that was made at the moment in which its purge began.
UPDATE tickwork.api_key SET revoked_at = tickwork.clock() WHERE tenant_id = $1 AND revoked_at IS NULL;

-- name: purge_of_tenant
-- How far the latest purge of a tenant of this name has come, and whether the archive may still have something of it.
SELECT name, requested_at, requested_by, ended_at, removed,
    left_archive_at IS NULL AND EXISTS (SELECT FROM tickwork.archive_part) AS is_in_archive
FROM tickwork.tenant_purge WHERE name = $1 ORDER BY tenant_id DESC LIMIT 1;

-- name: take_tenant_purge
-- Locks a purge that has something to delete: the one that is named, or the oldest. One that has ended is looked at
-- once more, because somebody may have been writing for the tenant.
SELECT tenant_id, name, removed, ended_at IS NOT NULL AS has_ended FROM tickwork.tenant_purge
WHERE NOT swept AND (ended_at IS NULL OR $1::text IS NULL AND ended_at < tickwork.clock() - interval '1 minute')
    AND name = coalesce($1, name)
ORDER BY requested_at LIMIT 1
FOR UPDATE SKIP LOCKED;

-- name: note_removed_of_tenant
-- Notes how much a purge has deleted.
UPDATE tickwork.tenant_purge SET removed = $2::jsonb WHERE tenant_id = $1;

-- name: end_tenant_purge
-- Notes that a purge has ended, or that it was looked at once more ($2).
UPDATE tickwork.tenant_purge SET ended_at = coalesce(ended_at, tickwork.clock()), swept = $2 WHERE tenant_id = $1;

-- name: purge_rules_of_tenant
-- Deletes some rules of a tenant: from then on nothing fires by them. One that fires now is left to the next step.
WITH chosen AS MATERIALIZED (
    -- The rules.
    SELECT id FROM tickwork.rule WHERE tenant_id = $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), rounds AS (
    -- Their rounds.
    DELETE FROM tickwork.round WHERE rule_id = ANY(ARRAY(SELECT id FROM chosen))
)
DELETE FROM tickwork.rule WHERE id = ANY(ARRAY(SELECT id FROM chosen));

-- name: has_rules
-- Whether a tenant has rules.
SELECT EXISTS (SELECT FROM tickwork.rule WHERE tenant_id = $1);

-- name: stop_running_of_tenant
-- Cancels the executions of a tenant that workers and HTTP targets have, and tells these to stop them.
WITH running AS MATERIALIZED (
    -- What they have of the tenant.
    SELECT e.tenant_id, e.scheduled_for, e.job_id
    FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
    WHERE $1 = ANY(l.tenant_ids) AND e.tenant_id = $1
    ORDER BY 1, 2, 3
), ended AS (
    -- The same, cancelled.
    UPDATE tickwork.execution e SET status = 'cancelled', finished_at = tickwork.clock(), reason = 'tenant deleted'
    FROM running r
    WHERE e.tenant_id = ANY(ARRAY[r.tenant_id]) AND e.scheduled_for = r.scheduled_for AND e.job_id = r.job_id
        AND e.status = 'running'
    RETURNING e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.worker_id
)
INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
SELECT ended.*, 'tenant deleted' FROM ended
ON CONFLICT DO NOTHING;

-- name: executions_of_tenant
-- Some executions of a tenant, those that are due last first: these have not run.
SELECT scheduled_for, job_id FROM tickwork.execution WHERE tenant_id = $1
ORDER BY scheduled_for DESC, job_id LIMIT $2;

-- name: purge_messages_of_tenant
-- Deletes some messages to channels of a tenant, and notes their deliveries to be deleted.
WITH chosen AS MATERIALIZED (
    -- The messages, but none that is being delivered.
    SELECT id, job_id FROM tickwork.notification_message WHERE tenant_id = $1 AND status <> 'sending' LIMIT $2
), deliveries AS (
    -- The jobs that delivered them.
    INSERT INTO tickwork.purge (job_id, tenant_id)
    SELECT j.id, j.tenant_id FROM chosen JOIN tickwork.job j ON j.id = chosen.job_id ON CONFLICT DO NOTHING
)
DELETE FROM tickwork.notification_message WHERE id = ANY(ARRAY(SELECT id FROM chosen));

-- name: purge_jobs_of_tenant
-- Deletes some jobs of a tenant, with what is known by their ids.
WITH chosen AS MATERIALIZED (
    -- The jobs.
    SELECT id FROM tickwork.job WHERE tenant_id = $1 LIMIT $2
), flapping AS (
    -- That they are flapping.
    DELETE FROM tickwork.flapping_job WHERE job_id = ANY(ARRAY(SELECT id FROM chosen))
), past AS (
    -- Their past rules.
    DELETE FROM tickwork.past_rule WHERE job_id = ANY(ARRAY(SELECT id FROM chosen))
), off_schedule AS (
    -- Their executions by hand.
    DELETE FROM tickwork.off_schedule_execution WHERE job_id = ANY(ARRAY(SELECT id FROM chosen))
), incidents AS (
    -- The incidents that were opened for them.
    DELETE FROM tickwork.incident WHERE subject = ANY(ARRAY(SELECT format('job %s', id) FROM chosen))
)
DELETE FROM tickwork.job WHERE id = ANY(ARRAY(SELECT id FROM chosen));

-- name: purge_limiters_of_tenant
-- Deletes some limits of a tenant, with who runs under them.
WITH chosen AS MATERIALIZED (
    -- The limits.
    SELECT id FROM tickwork.limiter WHERE tenant_id = $1 LIMIT $2
), slots AS (
    -- Who runs under them.
    DELETE FROM tickwork.slot WHERE limiter_id = ANY(ARRAY(SELECT id FROM chosen))
)
DELETE FROM tickwork.limiter WHERE id = ANY(ARRAY(SELECT id FROM chosen));

-- name: purge_workers_of_tenant
-- Deletes some workers of a tenant that have ended.
DELETE FROM tickwork.worker WHERE id = ANY(ARRAY(
    SELECT id FROM tickwork.worker WHERE tenant_id = $1 AND ended_at IS NOT NULL LIMIT $2));

-- name: is_tenant_in_use
-- Whether a worker of a tenant may still report, or a message of it is being delivered.
SELECT EXISTS (SELECT FROM tickwork.worker WHERE tenant_id = $1 AND ended_at IS NULL)
    OR EXISTS (SELECT FROM tickwork.notification_message WHERE tenant_id = $1 AND status = 'sending');

-- name: purge_channels_of_tenant
-- Deletes the channels of a tenant, with what they are about to tell.
WITH gone AS (
    -- The channels.
    DELETE FROM tickwork.channel WHERE tenant_id = $1 RETURNING id
), windows AS (
    -- What is gathered for them.
    DELETE FROM tickwork.notification_window WHERE channel_id = ANY(ARRAY(SELECT id FROM gone))
), incidents AS (
    -- The incidents that they were told of.
    DELETE FROM tickwork.incident WHERE channel_id = ANY(ARRAY(SELECT id FROM gone))
)
DELETE FROM tickwork.flapping_job WHERE channel_id = ANY(ARRAY(SELECT id FROM gone));

-- name: purge_keys_of_tenant
-- Deletes the keys of a tenant, with their sessions.
WITH gone AS (
    -- The keys.
    DELETE FROM tickwork.api_key WHERE tenant_id = $1 RETURNING id
), sessions AS (
    -- Their sessions.
    DELETE FROM tickwork.session WHERE key_id = ANY(ARRAY(SELECT id FROM gone))
)
DELETE FROM tickwork.sign_in_link WHERE key_id = ANY(ARRAY(SELECT id FROM gone));

-- name: delete_tenant
-- Deletes a tenant that has nothing left. Its name is free.
DELETE FROM tickwork.tenant WHERE id = $1;

-- name: purge_attempts_of_tenant
-- Deletes some attempts without an execution.
DELETE FROM tickwork.attempt e USING (
    SELECT DISTINCT scheduled_for, job_id FROM (
        SELECT scheduled_for, job_id FROM tickwork.attempt WHERE tenant_id = $1 LIMIT $2) x
) o
WHERE e.tenant_id = $1 AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id;

-- name: purge_logs_of_tenant
-- Deletes some logs without an execution.
DELETE FROM tickwork.log e USING (
    SELECT DISTINCT scheduled_for, job_id FROM (
        SELECT scheduled_for, job_id FROM tickwork.log WHERE tenant_id = $1 LIMIT $2) x
) o
WHERE e.tenant_id = $1 AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id;

-- name: purge_checkpoints_of_tenant
-- Deletes some checkpoints without an execution.
DELETE FROM tickwork.checkpoint e USING (
    SELECT DISTINCT scheduled_for, job_id FROM (
        SELECT scheduled_for, job_id FROM tickwork.checkpoint WHERE tenant_id = $1 LIMIT $2) x
) o
WHERE e.tenant_id = $1 AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id;

-- name: purge_backfills_of_tenant
-- Deletes backfills.
DELETE FROM tickwork.backfill WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.backfill WHERE tenant_id = $1 LIMIT $2));

-- name: purge_dead_letters_of_tenant
-- Deletes dead letters that are left.
DELETE FROM tickwork.dead_letter WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.dead_letter WHERE tenant_id = $1 LIMIT $2));

-- name: purge_attempt_versions_of_tenant
-- Deletes which attempts had an earlier version of their job.
DELETE FROM tickwork.attempt_version WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.attempt_version WHERE tenant_id = $1 LIMIT $2));

-- name: purge_retry_payloads_of_tenant
-- Deletes the payloads of retries.
DELETE FROM tickwork.retry_payload WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.retry_payload WHERE tenant_id = $1 LIMIT $2));

-- name: purge_usage_of_tenant
-- Deletes what attempts have used.
DELETE FROM tickwork.process_usage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.process_usage WHERE tenant_id = $1 LIMIT $2));

-- name: purge_fan_outs_of_tenant
-- Deletes that the elements of fan-outs are to be cancelled.
DELETE FROM tickwork.cancelled_fan_out WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.cancelled_fan_out WHERE tenant_id = $1 LIMIT $2));

-- name: purge_unended_of_tenant
-- Deletes that the index of jobs is to look at jobs again.
DELETE FROM tickwork.job_unended WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_unended WHERE tenant_id = $1 LIMIT $2));

-- name: purge_awaited_of_tenant
-- Deletes what executions waited for.
DELETE FROM tickwork.awaited WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.awaited WHERE tenant_id = $1 LIMIT $2));

-- name: purge_dependencies_of_tenant
-- Deletes dependencies.
DELETE FROM tickwork.dependency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.dependency WHERE tenant_id = $1 LIMIT $2));

-- name: purge_restored_of_tenant
-- Deletes what somebody brought back from the archive.
DELETE FROM tickwork.restored_execution WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.restored_execution WHERE tenant_id = $1 LIMIT $2));

-- name: purge_new_events_of_tenant
-- Deletes events that have no number yet.
DELETE FROM tickwork.new_event WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.new_event WHERE tenant_id = $1 LIMIT $2));

-- name: purge_events_of_tenant
-- Deletes events.
DELETE FROM tickwork.event WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.event WHERE tenant_id = $1 LIMIT $2));

-- name: purge_error_groups_of_tenant
-- Deletes groups of errors.
DELETE FROM tickwork.error_group WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.error_group WHERE tenant_id = $1 LIMIT $2));

-- name: purge_statistics_of_tenant
-- Deletes statistics.
DELETE FROM tickwork.statistic WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.statistic WHERE tenant_id = $1 LIMIT $2));

-- name: purge_fired_of_tenant
-- Deletes that something is to be counted.
DELETE FROM tickwork.fired_to_count WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.fired_to_count WHERE tenant_id = $1 LIMIT $2));

-- name: purge_pulse_of_tenant
-- Deletes what its pulse was.
DELETE FROM tickwork.pulse WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.pulse WHERE tenant_id = $1 LIMIT $2));

-- name: purge_wanted_pulse_of_tenant
-- Deletes that somebody looks at its pulse.
DELETE FROM tickwork.pulse_wanted WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.pulse_wanted WHERE tenant_id = $1 LIMIT $2));

-- name: purge_notifications_of_tenant
-- Deletes notifications.
DELETE FROM tickwork.notification WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.notification WHERE tenant_id = $1 LIMIT $2));

-- name: purge_notification_rules_of_tenant
-- Deletes rules of who is told of what.
DELETE FROM tickwork.notification_rule WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.notification_rule WHERE tenant_id = $1 LIMIT $2));

-- name: purge_exceeded_limits_of_tenant
-- Deletes that a limit is exceeded.
DELETE FROM tickwork.exceeded_limit WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.exceeded_limit WHERE tenant_id = $1 LIMIT $2));

-- name: purge_pings_of_tenant
-- Deletes pings, with their runs.
DELETE FROM tickwork.ping WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.ping WHERE tenant_id = $1 LIMIT $2));

-- name: purge_breakers_of_tenant
-- Deletes circuit breakers.
DELETE FROM tickwork.breaker WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.breaker WHERE tenant_id = $1 LIMIT $2));

-- name: purge_held_of_tenant
-- Deletes what circuit breakers held.
DELETE FROM tickwork.held_by_breaker WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.held_by_breaker WHERE tenant_id = $1 LIMIT $2));

-- name: purge_answers_of_tenant
-- Deletes the answers that were kept for an Idempotency-Key.
DELETE FROM tickwork.idempotency WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.idempotency WHERE tenant_id = $1 LIMIT $2));

-- name: purge_heartbeats_of_tenant
-- Deletes heartbeat URLs.
DELETE FROM tickwork.heartbeat WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.heartbeat WHERE tenant_id = $1 LIMIT $2));

-- name: purge_failing_of_tenant
-- Deletes that jobs are failing.
DELETE FROM tickwork.failing_job WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.failing_job WHERE tenant_id = $1 LIMIT $2));

-- name: purge_moved_of_tenant
-- Deletes that jobs were moved to another lane.
DELETE FROM tickwork.moved_job WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.moved_job WHERE tenant_id = $1 LIMIT $2));

-- name: purge_unchecked_of_tenant
-- Deletes that jobs wait for their task to be known.
DELETE FROM tickwork.unchecked_job WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.unchecked_job WHERE tenant_id = $1 LIMIT $2));

-- name: purge_versions_of_tenant
-- Deletes what jobs were before they were edited.
DELETE FROM tickwork.job_version WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_version WHERE tenant_id = $1 LIMIT $2));

-- name: purge_job_retentions_of_tenant
-- Deletes how much history jobs keep.
DELETE FROM tickwork.job_retention WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_retention WHERE tenant_id = $1 LIMIT $2));

-- name: purge_marks_of_tenant
-- Deletes how far that was done.
DELETE FROM tickwork.retention_mark WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.retention_mark WHERE tenant_id = $1 LIMIT $2));

-- name: purge_default_retentions_of_tenant
-- Deletes how much history queues and the tenant keep.
DELETE FROM tickwork.default_retention WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.default_retention WHERE tenant_id = $1 LIMIT $2));

-- name: purge_job_changes_of_tenant
-- Deletes what the index of jobs is to learn.
DELETE FROM tickwork.job_change WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_change WHERE tenant_id = $1 LIMIT $2));

-- name: purge_terms_of_tenant
-- Deletes the index of jobs.
DELETE FROM tickwork.job_term WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_term WHERE tenant_id = $1 LIMIT $2));

-- name: purge_segments_of_tenant
-- Deletes the segments of the index of jobs.
DELETE FROM tickwork.job_segment WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.job_segment WHERE tenant_id = $1 LIMIT $2));

-- name: purge_purges_of_tenant
-- Deletes the purges of its jobs: the whole archive is searched for the tenant instead.
DELETE FROM tickwork.purge WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.purge WHERE tenant_id = $1 LIMIT $2));

-- name: purge_watched_queues_of_tenant
-- Deletes that queues are watched.
DELETE FROM tickwork.watched_queue WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.watched_queue WHERE tenant_id = $1 LIMIT $2));

-- name: purge_queue_priorities_of_tenant
-- Deletes the priorities of queues.
DELETE FROM tickwork.queue_priority WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.queue_priority WHERE tenant_id = $1 LIMIT $2));

-- name: purge_tasks_of_tenant
-- Deletes tasks.
DELETE FROM tickwork.task WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.task WHERE tenant_id = $1 LIMIT $2));

-- name: purge_revocations_of_tenant
-- Deletes what workers are to stop, once they have been told or are gone.
DELETE FROM tickwork.revocation WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.revocation WHERE tenant_id = $1 LIMIT $2));

-- name: purge_lanes_of_tenant
-- Deletes lanes.
DELETE FROM tickwork.lane WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.lane WHERE tenant_id = $1 LIMIT $2));
