-- How to read these queries: README.md

-- name: cancel_elements_of_job
-- Cancels the jobs of the elements of a job: nobody runs them again. Locked, they get no new children either.
UPDATE tickwork.job SET status = 'cancelled' WHERE tenant_id = $1 AND element_of = $2;

-- name: living_children
-- Some jobs that depend on a job or on one of its elements, and would wait for it in vain.
SELECT c.id FROM tickwork.dependency d JOIN tickwork.job c ON c.id = d.child_id
WHERE d.parent_id = ANY(ARRAY[$2::bigint] || ARRAY(
        SELECT x.id FROM tickwork.job x WHERE x.tenant_id = $1 AND x.element_of = $2))
    AND d.tenant_id = $1 AND c.status <> 'cancelled'
    AND (c.rule_id IS NOT NULL OR c.deferred OR EXISTS (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = c.tenant_id AND e.scheduled_for = c.scheduled_for AND e.job_id = c.id
            AND e.finished_at IS NULL
        OFFSET 0))
ORDER BY c.id LIMIT $3;

-- name: living_elements
-- Some jobs of the elements of a job that have not ended.
SELECT x.id FROM tickwork.job x CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution e
    WHERE e.tenant_id = x.tenant_id AND e.scheduled_for = x.scheduled_for AND e.job_id = x.id
        AND e.finished_at IS NULL
    OFFSET 0
) unended
WHERE x.tenant_id = $1 AND x.element_of = $2
ORDER BY x.id LIMIT $3;

-- name: begin_purge
-- Notes that a job is to be deleted, and the jobs of its elements with it.
WITH elements AS (
    -- The jobs of its elements.
    INSERT INTO tickwork.purge (job_id, tenant_id)
    SELECT id, $1 FROM tickwork.job WHERE tenant_id = $1 AND element_of = $2
    ON CONFLICT DO NOTHING
)
INSERT INTO tickwork.purge (job_id, tenant_id, requested_by) VALUES ($2, $1, $3::jsonb) ON CONFLICT DO NOTHING;

-- name: purge_of_job
-- How far a purge has come, and whether the archive may still have something of the job.
SELECT job_id, requested_at, requested_by, ended_at, removed,
    left_archive_at IS NULL AND EXISTS (SELECT FROM tickwork.archive_part) AS is_in_archive
FROM tickwork.purge WHERE tenant_id = $1 AND job_id = $2;

-- name: take_purge
-- Locks a purge that has something to delete: the one that is named, or the oldest. One that has ended is looked at
-- once more, because somebody may have been writing about the job.
SELECT job_id, tenant_id, before, removed, requested_by, ended_at IS NOT NULL AS has_ended FROM tickwork.purge
WHERE NOT swept AND (ended_at IS NULL OR $1::bigint IS NULL AND ended_at < tickwork.clock() - interval '1 minute')
    AND job_id = coalesce($1, job_id)
ORDER BY requested_at LIMIT 1
FOR UPDATE SKIP LOCKED;

-- name: times_to_purge
-- The latest due times of a job before a time.
SELECT at FROM tickwork.due_times_of_job($1, $2, '-infinity', $3, $4) AS at;

-- name: note_removed
-- Notes how far a purge has come.
UPDATE tickwork.purge SET before = $2, removed = $3::jsonb WHERE job_id = $1;

-- name: is_any_unnumbered
-- Whether events of a job wait for their numbers: they are counted then, and deleted after that.
SELECT EXISTS (SELECT FROM tickwork.new_event WHERE job_id = $1);

-- name: purge_events
-- Deletes some events of a job, and error groups that no other job has an event of.
WITH chosen AS MATERIALIZED (
    -- The events, but not the one that tells of a purge.
    SELECT number, fingerprint FROM tickwork.event
    WHERE tenant_id = $1 AND job_id = $2 AND kind <> 'job.purged' LIMIT $3
), alone AS (
    -- Groups of errors that only this job had.
    DELETE FROM tickwork.error_group g
    WHERE g.tenant_id = $1 AND g.fingerprint = ANY(ARRAY(SELECT DISTINCT fingerprint FROM chosen))
        AND NOT EXISTS (
            SELECT FROM tickwork.event e
            WHERE e.tenant_id = $1 AND e.fingerprint = g.fingerprint AND e.job_id IS DISTINCT FROM $2 OFFSET 0)
)
DELETE FROM tickwork.event WHERE number = ANY(ARRAY(SELECT number FROM chosen));

-- snippet: says_job
-- What JSON about the job $2 holds.
convert_to(format('"id":"%s"', tickwork.job_name($2)), 'UTF8')

-- name: purge_notifications
-- Deletes some notifications that tell of a job.
DELETE FROM tickwork.notification WHERE id = ANY(ARRAY(
    SELECT n.id FROM tickwork.notification n, (
        SELECT
-- include: says_job
        AS text
    ) said
    WHERE n.tenant_id = $1 AND (position(said.text IN n.first) > 0 OR position(said.text IN n.last) > 0)
    LIMIT $3));

-- name: purge_messages
-- Deletes some messages that told of a job, and notes their deliveries to be deleted.
WITH chosen AS MATERIALIZED (
    -- The messages, but none that is being delivered.
    SELECT m.id, m.job_id FROM tickwork.notification_message m, (
        SELECT
-- include: says_job
        AS text
    ) said
    WHERE m.tenant_id = $1 AND m.status <> 'sending' AND position(said.text IN m.content) > 0
    LIMIT $3
), deliveries AS (
    -- The jobs that delivered them.
    INSERT INTO tickwork.purge (job_id, tenant_id)
    SELECT j.id, j.tenant_id FROM chosen JOIN tickwork.job j ON j.id = chosen.job_id ON CONFLICT DO NOTHING
)
DELETE FROM tickwork.notification_message WHERE id = ANY(ARRAY(SELECT id FROM chosen));

-- name: purge_belongings
-- Deletes the rows that a job has at most one of, or few.
WITH heartbeats AS (
    -- Its heartbeat URL.
    DELETE FROM tickwork.heartbeat WHERE tenant_id = $1 AND job_id = $2
), failing AS (
    -- That it is failing.
    DELETE FROM tickwork.failing_job WHERE tenant_id = $1 AND job_id = $2
), flapping AS (
    -- That it is flapping.
    DELETE FROM tickwork.flapping_job WHERE job_id = $2
), incidents AS (
    -- The incidents that were opened for it.
    DELETE FROM tickwork.incident WHERE subject = format('job %s', $2)
), moved AS (
    -- That it was moved to another lane.
    DELETE FROM tickwork.moved_job WHERE tenant_id = $1 AND job_id = $2
), past AS (
    -- Its past rules.
    DELETE FROM tickwork.past_rule WHERE job_id = $2
), held AS (
    -- What a circuit breaker held of it.
    DELETE FROM tickwork.held_by_breaker WHERE tenant_id = $1 AND job_id = $2
), followed AS (
    -- What waited for it.
    DELETE FROM tickwork.awaited WHERE tenant_id = $1 AND parent_id = $2
), parents AS (
    -- Its dependencies, and those of other jobs on it.
    DELETE FROM tickwork.dependency WHERE tenant_id = $1 AND (child_id = $2 OR parent_id = $2)
), versions AS (
    -- What it was before it was edited.
    DELETE FROM tickwork.job_version WHERE job_id = $2
), restored AS (
    -- What somebody brought back from the archive.
    DELETE FROM tickwork.restored_execution WHERE tenant_id = $1 AND job_id = $2
), retention AS (
    -- How much of its history is kept.
    DELETE FROM tickwork.job_retention WHERE tenant_id = $1 AND job_id = $2
), mark AS (
    -- How far that was done.
    DELETE FROM tickwork.retention_mark WHERE job_id = $2
)
DELETE FROM tickwork.backfill WHERE tenant_id = $1 AND job_id = $2;

-- name: purge_job
-- Deletes a job, and tells the index of jobs.
WITH gone AS (
    -- The job.
    DELETE FROM tickwork.job WHERE tenant_id = $1 AND id = $2 RETURNING *
)
INSERT INTO tickwork.job_change
    (tenant_id, job_id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for)
SELECT tenant_id, id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for FROM gone;

-- name: end_purge
-- Notes that a purge has ended, or that it was looked at once more ($2).
UPDATE tickwork.purge SET ended_at = coalesce(ended_at, tickwork.clock()), swept = $2 WHERE job_id = $1;
