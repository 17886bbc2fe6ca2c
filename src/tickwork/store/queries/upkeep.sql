-- name: partitions
-- The partitions that exist, by the day they hold.
SELECT to_date(substring(c.relname FROM '\d{8}$'), 'YYYYMMDD') AS day
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'tickwork.execution'::regclass
ORDER BY day;

-- name: lock_partitions
-- One node at a time makes and drops partitions.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork partitions', 0));

-- name: is_settled
-- Whether nothing in a day is left to do.
SELECT NOT EXISTS (SELECT FROM tickwork.execution
                   WHERE scheduled_for >= $1 AND scheduled_for < $2 AND finished_at IS NULL) AS settled;

-- name: forget_rounds
-- Rounds whose executions are gone.
DELETE FROM tickwork.round WHERE scheduled_for < $1;

-- name: forget_extras
-- Extra runs whose executions are gone.
DELETE FROM tickwork.extra WHERE scheduled_for < $1;

-- name: forget_workers
-- Workers that left long ago.
DELETE FROM tickwork.worker WHERE ended_at < tickwork.clock() - $1::interval;
