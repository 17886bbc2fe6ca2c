-- name: timing_of_job
-- When a job is due, and whether it still is.
SELECT j.status::text AS status, r.timing
FROM tickwork.job j LEFT JOIN tickwork.rule r ON r.id = j.rule_id
WHERE j.tenant_id = $1 AND j.id = $2;

-- name: to_fill
-- Of these due times, in the same order, those a backfill would run.
SELECT due.scheduled_for
FROM unnest($3::timestamptz[]) WITH ORDINALITY AS due (scheduled_for, place)
LEFT JOIN tickwork.execution e
    ON e.tenant_id = $1 AND e.scheduled_for = due.scheduled_for AND e.job_id = $2
    AND e.scheduled_for BETWEEN $5 AND $6
WHERE e.job_id IS NULL OR ($4::text = 'failed' AND e.status IN ('failed', 'skipped'))
ORDER BY due.place;

-- name: create_backfill
-- A backfill that goes on from here by itself; one with nothing to do has ended.
INSERT INTO tickwork.backfill
    (tenant_id, job_id, begin_at, end_at, times, max_active, run_order, policy, status, ended_at)
SELECT $1, $2, $3, $4, $5::timestamptz[], $6, $7, $8, CASE WHEN nothing THEN 'completed' ELSE 'running' END,
    CASE WHEN nothing THEN tickwork.clock() END
FROM (SELECT cardinality($5::timestamptz[]) = 0 AS nothing) AS todo
RETURNING id;

-- name: backfills
-- One page of a tenant's backfills, newest first: those of a job, or one by its id.
SELECT id, job_id, begin_at, end_at, run_order, policy, max_active, total, made, cardinality(active) AS active,
    completed, failed, status, created_at, ended_at
FROM tickwork.backfill
WHERE tenant_id = $1 AND ($2::bigint IS NULL OR job_id = $2) AND ($3::bigint IS NULL OR id = $3) AND id < $4
ORDER BY id DESC
LIMIT $5;

-- name: next_backfill
-- The backfill after that one which is under way, and what it may run next.
SELECT id, made, times[made + 1 : made + max_active] AS times
FROM tickwork.backfill
WHERE ended_at IS NULL AND id > $1
ORDER BY id
LIMIT 1;

-- name: take_backfill
-- Locks a backfill that stands where it is believed to stand; its job stays as it is meanwhile.
SELECT b.status, j.status::text AS job_status
FROM tickwork.backfill b JOIN tickwork.job j ON j.id = b.job_id
WHERE b.id = $1 AND b.made = $2 AND b.ended_at IS NULL
FOR UPDATE OF b SKIP LOCKED
FOR SHARE OF j SKIP LOCKED;

-- name: count_ended
-- Counts those of a backfill's executions that have ended since the last time.
WITH found AS (
    SELECT coalesce(array_agg(e.scheduled_for) FILTER (WHERE e.finished_at IS NULL), '{}') AS active,
        count(*) FILTER (WHERE e.status = 'completed') AS completed,
        count(*) FILTER (WHERE e.status = 'failed') AS failed
    FROM tickwork.backfill b
    CROSS JOIN LATERAL unnest(b.active) AS a (scheduled_for)
    JOIN tickwork.execution e
        ON e.tenant_id = b.tenant_id AND e.scheduled_for = a.scheduled_for AND e.job_id = b.job_id
    WHERE b.id = $1
)
UPDATE tickwork.backfill b
SET active = found.active, completed = b.completed + found.completed, failed = b.failed + found.failed
FROM found
WHERE b.id = $1 AND cardinality(found.active) < cardinality(b.active);

-- name: make_backfilled
-- Gives a backfill's next due times their executions, as many as there is room for. They become ready one a moment
-- after the other, so that they are handed out in that order. Due times that somebody else made by now are passed over.
WITH b AS (
    SELECT f.*, f.times[f.made + 1 : f.made + least($2, f.max_active - cardinality(f.active))] AS wanted
    FROM tickwork.backfill f WHERE f.id = $1
), due AS (
    SELECT d.scheduled_for, tickwork.clock() + d.place * interval '1 microsecond' AS ready_at
    FROM b CROSS JOIN LATERAL unnest(b.wanted) WITH ORDINALITY AS d (scheduled_for, place)
), again AS (
    UPDATE tickwork.execution e
    SET status = 'pending', trigger = 'backfill', ready_at = due.ready_at, attempt = e.attempt + 1, failures = 0,
        losses = 0, worker_id = NULL, started_at = NULL, finished_at = NULL, blocked_by = NULL, reason = NULL,
        lane_id = j.lane_id, priority = j.priority
    FROM b JOIN tickwork.job j ON j.id = b.job_id CROSS JOIN due
    WHERE b.policy = 'failed' AND e.tenant_id = b.tenant_id AND e.scheduled_for = due.scheduled_for
        AND e.job_id = b.job_id AND e.status IN ('failed', 'skipped')
    RETURNING e.scheduled_for
), new AS (
    INSERT INTO tickwork.execution (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)
    SELECT j.tenant_id, due.scheduled_for, j.id, j.lane_id, j.priority, 'backfill', 'pending', due.ready_at
    FROM b JOIN tickwork.job j ON j.id = b.job_id CROSS JOIN due
    ORDER BY due.scheduled_for
    ON CONFLICT DO NOTHING
    RETURNING scheduled_for
), filled AS (
    SELECT scheduled_for FROM again UNION ALL SELECT scheduled_for FROM new
), noted AS (
    INSERT INTO tickwork.extra (job_id, scheduled_for, backfill_id)
    SELECT b.job_id, filled.scheduled_for, b.id FROM b CROSS JOIN filled
    ON CONFLICT (job_id, scheduled_for) DO UPDATE SET backfill_id = excluded.backfill_id
)
UPDATE tickwork.backfill f
SET made = f.made + cardinality(b.wanted), active = f.active || ARRAY(SELECT scheduled_for FROM filled)
FROM b
WHERE f.id = b.id AND b.wanted <> '{}'
RETURNING (SELECT count(*) FROM filled) AS made,
    cardinality(b.wanted) - (SELECT count(*) FROM filled) AS passed_over;

-- name: lock_backfill
-- Locks a backfill that is to be cancelled.
SELECT job_id, status, active FROM tickwork.backfill WHERE tenant_id = $1 AND id = $2 FOR UPDATE;

-- name: cancel_backfilled
-- Ends the executions of a backfill that wait.
UPDATE tickwork.execution
SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = 'backfill cancelled'
WHERE tenant_id = $1 AND job_id = $2 AND scheduled_for = ANY($3::timestamptz[]) AND status = 'pending';

-- name: stop_backfill
-- Makes no more of it.
UPDATE tickwork.backfill SET status = 'cancelled' WHERE id = $1;

-- name: end_backfill
-- Ends a backfill that has nothing left to run.
UPDATE tickwork.backfill
SET status = CASE WHEN status = 'running' THEN 'completed' ELSE status END, ended_at = tickwork.clock()
WHERE id = $1 AND ended_at IS NULL AND active = '{}' AND (made = total OR status = 'cancelled');
