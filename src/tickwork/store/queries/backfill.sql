-- How to read these queries: README.md

-- name: due_times_of_job
-- The schedule of a job, and what limits its due times.
SELECT j.status::text AS status, r.timing, j.active_until, j.depends
FROM tickwork.job j LEFT JOIN tickwork.rule r ON r.id = j.rule_id
WHERE j.tenant_id = $1 AND j.id = $2;

-- name: times_to_fill
-- Of these due times, in the same order, those that a backfill would run.
SELECT due.scheduled_for
FROM unnest($3::timestamptz[]) WITH ORDINALITY AS due (scheduled_for, place)
LEFT JOIN LATERAL (
    SELECT status FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = due.scheduled_for AND job_id = $2
    OFFSET 0
) e ON true
WHERE e.status IS NULL OR ($4::text = 'failed' AND e.status IN ('failed', 'skipped'))
ORDER BY due.place;

-- name: create_backfill
-- Creates a backfill. It goes on by itself from here; one with nothing to do has already ended.
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
-- The next backfill by id that has not ended, and the due times that it may run next.
SELECT id, made, times[made + 1 : made + max_active] AS times
FROM tickwork.backfill
WHERE ended_at IS NULL AND id > $1
ORDER BY id
LIMIT 1;

-- name: take_backfill
-- Locks a backfill that is as far as it is believed to be; its job cannot change meanwhile.
SELECT b.tenant_id, b.job_id, b.status, b.policy, b.max_active, b.active, j.lane_id, j.priority,
    j.status::text AS job_status
FROM tickwork.backfill b JOIN tickwork.job j ON j.id = b.job_id
WHERE b.id = $1 AND b.made = $2 AND b.ended_at IS NULL
FOR UPDATE OF b SKIP LOCKED
FOR SHARE OF j SKIP LOCKED;

-- name: count_active
-- Of executions that had not ended, which still have not, and how the others ended.
SELECT coalesce(array_agg(a.scheduled_for) FILTER (WHERE e.finished_at IS NULL), '{}') AS active,
    count(*) FILTER (WHERE e.status = 'completed') AS completed, count(*) FILTER (WHERE e.status = 'failed') AS failed
FROM unnest($3::timestamptz[]) AS a (scheduled_for)
CROSS JOIN LATERAL (
    SELECT status, finished_at FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = a.scheduled_for AND job_id = $2
    OFFSET 0
) e;

-- name: insert_backfilled
-- Creates the executions of due times and returns which. They become ready one microsecond after the other, so that
-- they are claimed in that order. An execution that exists by now is left alone, or runs again if it failed and the
-- policy says so.
WITH remembered AS (
    -- The blockers of skipped executions, if they have not ended: later executions must still find them.
    INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
    SELECT $2, e.blocked_by FROM unnest($3::timestamptz[]) AS at CROSS JOIN LATERAL (
        SELECT blocked_by FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = at AND job_id = $2 AND $6::text = 'failed' AND status = 'skipped'
        OFFSET 0
    ) e
    WHERE EXISTS (
        SELECT FROM tickwork.execution b
        WHERE b.tenant_id = $1 AND b.scheduled_for = e.blocked_by AND b.job_id = $2 AND b.finished_at IS NULL
        OFFSET 0)
    ON CONFLICT DO NOTHING
), alive AS (
    -- The dead letters of these due times: deleted, and so locked before their executions.
    DELETE FROM tickwork.dead_letter
    WHERE tenant_id = $1 AND job_id = $2 AND scheduled_for = ANY($3::timestamptz[]) AND $6::text = 'failed'
    RETURNING scheduled_for
), again AS (
    -- Failed and skipped executions, made to wait again.
    UPDATE tickwork.execution e
    SET status = 'pending', trigger = 'backfill', attempt = e.attempt + 1, failures = 0, losses = 0, worker_id = NULL,
        started_at = NULL, finished_at = NULL, blocked_by = NULL, reason = NULL, lane_id = $4, priority = $5,
        ready_at = tickwork.clock() + array_position($3, e.scheduled_for) * interval '1 microsecond'
    FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM unnest($3::timestamptz[]) AS at OFFSET 0) o
    WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id
        AND $6::text = 'failed' AND e.status IN ('failed', 'skipped') AND (SELECT count(*) FROM alive) >= 0
    RETURNING e.scheduled_for
), new AS (
    -- Executions of due times that had none.
    INSERT INTO tickwork.execution
        (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
    SELECT $1, due.scheduled_for, $2, $4, $5, 'backfill', 'pending',
        tickwork.clock() + due.place * interval '1 microsecond', (SELECT followed FROM tickwork.job WHERE id = $2)
    FROM unnest($3::timestamptz[]) WITH ORDINALITY AS due (scheduled_for, place)
    ORDER BY due.scheduled_for
    ON CONFLICT DO NOTHING
    RETURNING scheduled_for
), made AS (
    -- All due times that got an execution.
    SELECT scheduled_for FROM again UNION ALL SELECT scheduled_for FROM new
), noted AS (
    -- The same, recorded as off-schedule executions of the backfill.
    INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for, backfill_id)
    SELECT $2, scheduled_for, $7 FROM made
    ON CONFLICT (job_id, scheduled_for) DO UPDATE SET backfill_id = excluded.backfill_id
)
SELECT scheduled_for FROM made;

-- name: note_progress
-- Records how far a backfill has come.
UPDATE tickwork.backfill
SET made = made + $2, active = $3, completed = completed + $4, failed = failed + $5
WHERE id = $1;

-- name: lock_backfill
-- Locks a backfill that is to be cancelled.
SELECT tenant_id, job_id, status, active FROM tickwork.backfill WHERE tenant_id = $1 AND id = $2 FOR UPDATE;

-- name: cancel_backfilled
-- Cancels the executions of a backfill that wait.
UPDATE tickwork.execution e
SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = 'backfill cancelled'
FROM (SELECT $1::int AS tenant_id, at, $2::bigint AS job_id FROM unnest($3::timestamptz[]) AS at OFFSET 0) o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.at AND e.job_id = o.job_id AND e.status = 'pending';

-- name: stop_backfill
-- Cancels a backfill: it creates no more executions.
UPDATE tickwork.backfill SET status = 'cancelled' WHERE id = $1;

-- snippet: write_ended
-- Writes the event of a backfill that has ended, `ended`.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
SELECT b.tenant_id, 'backfill.ended', b.job_id, (SELECT lane_id FROM tickwork.job WHERE id = b.job_id),
    json_build_object('backfill_id', 'b' || substr(tickwork.job_name(b.id), 2), 'status', b.status, 'total', b.total,
                      'completed', b.completed, 'failed', b.failed)::text
FROM ended b;

-- name: give_up_backfill
-- Cancels a backfill that cannot go on. The executions that it created go on.
WITH ended AS (
    -- The backfill.
    UPDATE tickwork.backfill SET status = 'cancelled', active = '{}', ended_at = tickwork.clock()
    WHERE id = $1 AND ended_at IS NULL
    RETURNING *
)
-- include: write_ended

-- name: end_backfill
-- Ends a backfill that has nothing left to run.
WITH ended AS (
    -- The backfill.
    UPDATE tickwork.backfill
    SET status = CASE WHEN status = 'running' THEN 'completed' ELSE status END, ended_at = tickwork.clock()
    WHERE id = $1 AND ended_at IS NULL AND active = '{}' AND (made = total OR status = 'cancelled')
    RETURNING *
)
-- include: write_ended
