-- How to read these queries: README.md

-- name: partitions
-- The partitions that exist, by the day or month they are for.
SELECT substring(c.relname FROM '\d+$') AS label
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'tickwork.execution'::regclass;

-- name: incomplete_partitions
-- The days and months for which one of these tables has no partition yet, because it is newer than they are.
SELECT DISTINCT substring(c.relname FROM '\d+$') AS label
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid CROSS JOIN unnest($1::text[]) AS t (name)
WHERE i.inhparent = 'tickwork.execution'::regclass
    AND to_regclass('tickwork.' || t.name || '_' || substring(c.relname FROM '\d+$')) IS NULL;

-- name: lock_partitions
-- Lets one node at a time create and drop partitions.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork partitions', 0));

-- name: is_settled
-- Whether nothing in a partition is left to do, and no recent backfill is shown in it. It reads only waiting executions
-- and those that workers have.
SELECT NOT EXISTS (SELECT FROM (
                       SELECT FROM tickwork.execution
                       WHERE scheduled_for >= $1 AND scheduled_for < $2 AND ready_at IS NOT NULL
                       ORDER BY lane_id, priority, ready_at LIMIT 1
                   ) waiting)
    AND NOT EXISTS (SELECT FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
                    WHERE e.scheduled_for >= $1 AND e.scheduled_for < $2)
    AND NOT EXISTS (SELECT FROM tickwork.backfill
                    WHERE begin_at < $2 AND end_at >= $1
                        AND (ended_at IS NULL OR ended_at > tickwork.clock() - $3::interval)) AS settled;

-- name: forget_rounds
-- Deletes rounds of due times whose executions are about to be dropped, rule by rule, as the key wants it.
DELETE FROM tickwork.round WHERE ctid = ANY(ARRAY(
    SELECT old.ctid FROM tickwork.rule r CROSS JOIN LATERAL (
        SELECT ctid FROM tickwork.round WHERE rule_id = r.id AND scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3
    ) old
    LIMIT $3));

-- name: forget_off_schedule
-- Deletes the records of off-schedule executions that are about to be dropped.
DELETE FROM tickwork.off_schedule_execution WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.off_schedule_execution WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: give_up_rounds
-- Skips executions of old rounds that still wait for parents. Those of a backfill are meant to be old and stay.
UPDATE tickwork.execution e
SET status = 'skipped', ready_at = NULL, finished_at = tickwork.clock(),
    reason = 'what it depends on did not complete for as long as history is kept'
FROM (
    SELECT DISTINCT a.tenant_id, a.child_at, a.child_id
    FROM tickwork.awaited a JOIN tickwork.job c ON c.id = a.child_id
    WHERE a.child_at >= $1 AND a.child_at < $2 AND c.rule_id IS NOT NULL
    OFFSET 0
) a
WHERE e.tenant_id = ANY(ARRAY[a.tenant_id]) AND e.scheduled_for = a.child_at AND e.job_id = a.child_id
    AND e.status = 'pending' AND e.trigger = 'schedule';

-- name: forget_awaited
-- Deletes what executions waited for that are about to be dropped.
DELETE FROM tickwork.awaited WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.awaited WHERE child_at >= $1 AND child_at < $2 LIMIT $3));

-- name: forget_dead_letters
-- Deletes dead letters whose executions are about to be dropped.
DELETE FROM tickwork.dead_letter WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.dead_letter WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: forget_attempt_versions
-- Deletes which version of their job attempts had whose executions are about to be dropped.
DELETE FROM tickwork.attempt_version WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.attempt_version WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: forget_retry_payloads
-- Deletes the payloads of retries whose executions are about to be dropped.
DELETE FROM tickwork.retry_payload WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.retry_payload WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: forget_job_versions
-- Deletes what jobs were before they were edited long ago, unless an attempt is known to have had it.
DELETE FROM tickwork.job_version v
WHERE v.until < tickwork.clock() - $1::interval AND NOT EXISTS (
    SELECT FROM tickwork.attempt_version a WHERE a.job_id = v.job_id AND a.version = v.version OFFSET 0);

-- name: forget_purges
-- Deletes that jobs were purged long ago, also from the archive if there is one ($2).
DELETE FROM tickwork.purge
WHERE ended_at < tickwork.clock() - $1::interval AND swept AND (left_archive_at IS NOT NULL OR NOT $2::bool);

-- name: forget_tenant_purges
-- Deletes that tenants were purged long ago, likewise.
DELETE FROM tickwork.tenant_purge
WHERE ended_at < tickwork.clock() - $1::interval AND swept AND (left_archive_at IS NOT NULL OR NOT $2::bool);

-- name: forget_restored
-- Deletes what was brought back from the archive for some time.
DELETE FROM tickwork.restored_execution WHERE until < tickwork.clock();

-- name: forget_usage
-- Deletes what attempts have used whose executions are about to be dropped.
DELETE FROM tickwork.process_usage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.process_usage WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: forget_backfills
-- Deletes backfills that ended long ago.
DELETE FROM tickwork.backfill WHERE ended_at < tickwork.clock() - $1::interval;

-- name: forget_workers
-- Deletes workers that ended long ago.
DELETE FROM tickwork.worker WHERE ended_at < tickwork.clock() - $1::interval;

-- name: forget_moved_jobs
-- Deletes that jobs were moved to another lane long ago: what waited then has ended.
DELETE FROM tickwork.moved_job WHERE moved_at < tickwork.clock() - $1::interval;

-- name: lock_past_jobs
-- Locks some one-time jobs that were due before the history that is kept, in the order of their due times.
SELECT scheduled_for, id FROM tickwork.job
WHERE rule_id IS NULL AND (scheduled_for, id) > ($1, $2) AND scheduled_for < tickwork.clock() - $3::interval
    AND NOT deferred
ORDER BY scheduled_for, id
LIMIT $4
FOR UPDATE SKIP LOCKED;

-- name: forget_jobs
-- Deletes those of these jobs that nothing refers to: no execution, also none that is being archived, no manual run, no
-- child.
WITH gone AS (
    -- The jobs that nothing refers to, deleted.
    DELETE FROM tickwork.job j
    WHERE id = ANY($1::bigint[])
        AND NOT EXISTS (
            SELECT FROM tickwork.execution e
            WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
            OFFSET 0)
        AND NOT EXISTS (
            SELECT FROM tickwork.archive_part p
            WHERE p.state <> 'dropped' AND j.scheduled_for >= p.begin_at AND j.scheduled_for < p.end_at
            OFFSET 0)
        AND NOT EXISTS (SELECT FROM tickwork.off_schedule_execution x WHERE x.job_id = j.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM tickwork.dependency d WHERE d.parent_id = j.id OFFSET 0)
    RETURNING tenant_id, id
), past AS (
    -- Their past rules, deleted.
    DELETE FROM tickwork.past_rule WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
), heartbeats AS (
    -- Their heartbeat URLs, deleted.
    DELETE FROM tickwork.heartbeat WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
), versions AS (
    -- What they were before they were edited, deleted.
    DELETE FROM tickwork.job_version WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
), retention AS (
    -- How much of their history was kept.
    DELETE FROM tickwork.job_retention r USING gone WHERE r.tenant_id = gone.tenant_id AND r.job_id = gone.id
), marks AS (
    -- How far that was done.
    DELETE FROM tickwork.retention_mark WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
)
DELETE FROM tickwork.dependency WHERE child_id = ANY(ARRAY(SELECT id FROM gone));
