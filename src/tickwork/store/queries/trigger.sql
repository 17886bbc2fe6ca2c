-- name: take_due_rules
-- Locks the rules whose time has come, earliest first, leaving those that others hold.
SELECT id, tenant_id, timing, catch_up, next_at, last_at, cursor_priority, cursor_job, tickwork.clock() AS now
FROM tickwork.rule
WHERE next_at <= tickwork.clock() + $1::interval
ORDER BY next_at
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: pick_jobs
-- The next jobs of each round in firing order, each with the execution of its own that is still in its way.
SELECT r.number, j.id, j.tenant_id, j.lane_id, j.priority, j.task, j.payload, j.target, j.timeout,
    CASE WHEN j.overlap = 'skip' THEN coalesce(
        (SELECT coalesce(blocker.scheduled_for, before.scheduled_for)
         FROM tickwork.execution before
         LEFT JOIN tickwork.execution blocker
             ON blocker.tenant_id = before.tenant_id AND blocker.scheduled_for = before.blocked_by
             AND blocker.job_id = before.job_id
         WHERE before.tenant_id = j.tenant_id AND before.scheduled_for = r.last_at AND before.job_id = j.id
             AND (before.finished_at IS NULL
                  OR (before.blocked_by IS NOT NULL AND blocker.finished_at IS NULL AND blocker.job_id IS NOT NULL))),
        (SELECT other.scheduled_for
         FROM tickwork.extra
         JOIN tickwork.execution other
             ON other.tenant_id = j.tenant_id AND other.scheduled_for = extra.scheduled_for
             AND other.job_id = extra.job_id
         WHERE extra.job_id = j.id AND other.finished_at IS NULL
         LIMIT 1)) END AS blocked_by
FROM unnest($1::int[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::smallint[], $6::bigint[])
    AS r (number, rule_id, scheduled_for, last_at, cursor_priority, cursor_job)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job
    WHERE rule_id = r.rule_id AND status = 'active' AND active_from <= r.scheduled_for
        AND (priority, id) > (r.cursor_priority, r.cursor_job)
    ORDER BY priority, id
    LIMIT $7
) j
ORDER BY r.number, j.priority, j.id;

-- name: insert_executions
-- Writes one chunk of a round: held by a worker, waiting for one, or skipped because the last one still runs.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, worker_id, ready_at, finished_at,
     blocked_by, reason)
SELECT tenant_id, scheduled_for, job_id, lane_id, priority, 'schedule',
    CASE WHEN blocked_by IS NOT NULL THEN 'skipped' WHEN worker_id IS NOT NULL THEN 'running'
         ELSE 'pending' END::tickwork.execution_status,
    worker_id,
    CASE WHEN blocked_by IS NULL AND worker_id IS NULL THEN scheduled_for END,
    CASE WHEN blocked_by IS NOT NULL THEN tickwork.clock() END,
    blocked_by,
    CASE WHEN blocked_by IS NOT NULL THEN 'overlap' END
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::smallint[], $6::int[], $7::timestamptz[])
    AS c (tenant_id, scheduled_for, job_id, lane_id, priority, worker_id, blocked_by);

-- name: insert_executions_carefully
-- The same, when some of these due times have an execution already: one that was stopped before its time, because
-- the job was moved or held, begins anew; any other stands.
INSERT INTO tickwork.execution AS e
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)
SELECT tenant_id, scheduled_for, job_id, lane_id, priority, 'schedule', 'pending', scheduled_for
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::smallint[])
    AS c (tenant_id, scheduled_for, job_id, lane_id, priority)
ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
SET status = 'pending', ready_at = excluded.ready_at, finished_at = NULL, reason = NULL, worker_id = NULL,
    lane_id = excluded.lane_id, priority = excluded.priority, attempt = e.attempt + 1
WHERE e.status = 'skipped' AND e.reason IN ('paused', 'rescheduled');

-- name: advance_rules
-- Moves each rule on: further into its round, or past it to the next due time.
UPDATE tickwork.rule r
SET next_at = CASE WHEN NOT a.looks_empty
        OR EXISTS (SELECT FROM tickwork.job WHERE rule_id = r.id AND status = 'active') THEN a.next_at END,
    last_at = a.last_at, cursor_priority = a.cursor_priority, cursor_job = a.cursor_job
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::smallint[], $5::bigint[], $6::boolean[])
    AS a (id, next_at, last_at, cursor_priority, cursor_job, looks_empty)
WHERE r.id = a.id;

-- name: note_rounds
-- Keeps what became of each due time: fired, or a range that was missed and why.
INSERT INTO tickwork.round (rule_id, scheduled_for, missed, missed_until, reason)
SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::timestamptz[], $5::text[])
ON CONFLICT DO NOTHING;

-- name: promote_held_jobs
-- Gives one-time jobs their executions once a partition exists for their time.
WITH promoted AS (
    UPDATE tickwork.job SET held = false
    WHERE id IN (SELECT id FROM tickwork.job WHERE held AND scheduled_for < $1
                 ORDER BY scheduled_for LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING *
)
INSERT INTO tickwork.execution (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)
SELECT tenant_id, scheduled_for, id, lane_id, priority, 'schedule', 'pending', scheduled_for
FROM promoted WHERE status = 'active';

-- name: next_due
-- The earliest rule, for metrics and health.
SELECT next_at FROM tickwork.rule WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1;
