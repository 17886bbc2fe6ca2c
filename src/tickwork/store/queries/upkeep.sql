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
