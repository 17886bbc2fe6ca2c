-- name: partitions
-- The partitions that exist, by the day or month they hold.
SELECT substring(c.relname FROM '\d+$') AS label
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'tickwork.execution'::regclass;

-- name: lock_partitions
-- One node at a time makes and drops partitions.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork partitions', 0));

-- name: is_settled
-- Whether nothing in a partition is left to do, and no backfill of late is to be seen in it. What waits and what workers
-- hold is known without a look at the rest.
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
-- Rounds of times whose executions are about to go, rule by rule, as that is how they are found.
DELETE FROM tickwork.round WHERE ctid = ANY(ARRAY(
    SELECT old.ctid FROM tickwork.rule r CROSS JOIN LATERAL (
        SELECT ctid FROM tickwork.round WHERE rule_id = r.id AND scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3
    ) old
    LIMIT $3));

-- name: forget_off_schedule
-- Off-schedule executions that are about to go.
DELETE FROM tickwork.off_schedule_execution WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.off_schedule_execution WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

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
-- What executions waited for that are about to go.
DELETE FROM tickwork.awaited WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.awaited WHERE child_at >= $1 AND child_at < $2 LIMIT $3));

-- name: forget_dead_letters
-- Dead letters whose executions are about to go.
DELETE FROM tickwork.dead_letter WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.dead_letter WHERE scheduled_for >= $1 AND scheduled_for < $2 LIMIT $3));

-- name: forget_backfills
-- Backfills that ended long ago.
DELETE FROM tickwork.backfill WHERE ended_at < tickwork.clock() - $1::interval;

-- name: forget_workers
-- Workers that left long ago.
DELETE FROM tickwork.worker WHERE ended_at < tickwork.clock() - $1::interval;

-- name: lock_past_jobs
-- Locks some jobs that were due one time before the history that is kept, in the order of their times.
SELECT scheduled_for, id FROM tickwork.job
WHERE rule_id IS NULL AND (scheduled_for, id) > ($1, $2) AND scheduled_for < tickwork.clock() - $3::interval AND NOT deferred
ORDER BY scheduled_for, id
LIMIT $4
FOR UPDATE SKIP LOCKED;

-- name: forget_jobs
-- Deletes those of these jobs to which nothing refers: no execution, no other run of them, no job that depends on them.
WITH gone AS (
    DELETE FROM tickwork.job j
    WHERE id = ANY($1::bigint[])
        AND NOT EXISTS (
            SELECT FROM tickwork.execution e
            WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
            OFFSET 0)
        AND NOT EXISTS (SELECT FROM tickwork.off_schedule_execution x WHERE x.job_id = j.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM tickwork.dependency d WHERE d.parent_id = j.id OFFSET 0)
    RETURNING id
), past AS (
    DELETE FROM tickwork.past_rule WHERE job_id = ANY(ARRAY(SELECT id FROM gone))
)
DELETE FROM tickwork.dependency WHERE child_id = ANY(ARRAY(SELECT id FROM gone));

-- name: try_to_store
-- Takes a megabyte of room, to be undone: shows whether the disk has any.
CREATE TABLE tickwork.trial AS SELECT repeat('x', 1800) AS filler FROM generate_series(1, 600);
