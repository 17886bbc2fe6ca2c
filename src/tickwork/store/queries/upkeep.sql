-- name: partitions
-- The partitions that exist, by the day or month they hold.
SELECT substring(c.relname FROM '\d+$') AS label
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'tickwork.execution'::regclass;

-- name: lock_partitions
-- One node at a time makes and drops partitions.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork partitions', 0));

-- name: is_settled
-- Whether nothing in a partition is left to do, and no backfill of late is to be seen in it.
SELECT NOT EXISTS (SELECT FROM tickwork.execution
                   WHERE scheduled_for >= $1 AND scheduled_for < $2 AND finished_at IS NULL)
    AND NOT EXISTS (SELECT FROM tickwork.backfill
                    WHERE begin_at < $2 AND end_at >= $1
                        AND (ended_at IS NULL OR ended_at > tickwork.clock() - $3::interval)) AS settled;

-- name: forget_rounds
-- Rounds whose executions are gone.
DELETE FROM tickwork.round r
WHERE scheduled_for < $1 AND NOT EXISTS (
    SELECT FROM unnest($2::timestamptz[], $3::timestamptz[]) AS kept (begin_at, end_at)
    WHERE r.scheduled_for >= kept.begin_at AND r.scheduled_for < kept.end_at);

-- name: forget_extras
-- Extra runs whose executions are gone.
DELETE FROM tickwork.extra x
WHERE scheduled_for < $1 AND NOT EXISTS (
    SELECT FROM unnest($2::timestamptz[], $3::timestamptz[]) AS kept (begin_at, end_at)
    WHERE x.scheduled_for >= kept.begin_at AND x.scheduled_for < kept.end_at);

-- name: give_up_rounds
-- Rounds of the past that wait for others to complete: nobody has seen to those for as long as history is kept. Those
-- of a backfill are as old as they were wanted.
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
-- What executions that are gone waited for.
DELETE FROM tickwork.awaited a
WHERE child_at < $1 AND NOT EXISTS (
    SELECT FROM unnest($2::timestamptz[], $3::timestamptz[]) AS kept (begin_at, end_at)
    WHERE a.child_at >= kept.begin_at AND a.child_at < kept.end_at);

-- name: forget_dead_letters
-- Dead letters whose executions are gone.
DELETE FROM tickwork.dead_letter d
WHERE scheduled_for < $1 AND NOT EXISTS (
    SELECT FROM unnest($2::timestamptz[], $3::timestamptz[]) AS kept (begin_at, end_at)
    WHERE d.scheduled_for >= kept.begin_at AND d.scheduled_for < kept.end_at);

-- name: forget_backfills
-- Backfills that ended long ago.
DELETE FROM tickwork.backfill WHERE ended_at < tickwork.clock() - $1::interval;

-- name: forget_workers
-- Workers that left long ago.
DELETE FROM tickwork.worker WHERE ended_at < tickwork.clock() - $1::interval;

-- name: forget_jobs
-- Jobs that were due one time, when nothing refers to them any more: asked again under their locks, for somebody may
-- have run them meanwhile.
WITH gone AS (
    DELETE FROM tickwork.job
    WHERE id = ANY(ARRAY(
        SELECT id FROM tickwork.job
        WHERE rule_id IS NULL AND scheduled_for < tickwork.clock() - $1::interval AND NOT held
            AND NOT tickwork.is_referred_to(tenant_id, id, scheduled_for)
        LIMIT $2
        FOR UPDATE SKIP LOCKED
    )) AND NOT tickwork.is_referred_to(tenant_id, id, scheduled_for)
    RETURNING id
), past AS (
    DELETE FROM tickwork.job_past WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
), awaiting AS (
    DELETE FROM tickwork.dependency WHERE child_id = ANY(ARRAY(SELECT id FROM gone))
)
SELECT count(*) FROM gone;
