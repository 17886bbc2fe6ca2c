-- How to read these queries: README.md

-- name: is_any_rule_due
-- Whether the time of any rule has come: most of the times that a node looks, it has not.
SELECT EXISTS (SELECT FROM tickwork.rule WHERE next_at <= tickwork.clock() + $1::interval) AS is_any;

-- name: take_due_rules
-- Locks rules whose time has come and which nobody else has locked: some that are late and as many that are on time, so
-- that working off an outage never delays the present.
SELECT id, timing, catch_up, next_at, last_at, cursor_priority, cursor_job, tickwork.clock() AS now
FROM (
    -- Rules that were due long ago, the most overdue first.
    SELECT * FROM tickwork.rule
    WHERE next_at <= tickwork.clock() - $2::interval
    ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED
) late
UNION ALL
SELECT id, timing, catch_up, next_at, last_at, cursor_priority, cursor_job, tickwork.clock()
FROM (
    -- Rules that are due now or in a moment.
    SELECT * FROM tickwork.rule
    WHERE next_at > tickwork.clock() - $2::interval AND next_at <= tickwork.clock() + $1::interval
    ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED
) on_time;

-- name: take_due_rule
-- Locks one rule if its time has come and nobody else has locked it.
SELECT id, timing, catch_up, next_at, last_at, cursor_priority, cursor_job, tickwork.clock() AS now
FROM tickwork.rule
WHERE id = $2 AND next_at <= tickwork.clock() + $1::interval
FOR UPDATE SKIP LOCKED;

-- name: stop_rule
-- Stops a rule that cannot be fired: it has no due time any more, its jobs have failed, and the due time is noted as
-- missed for the reason given.
WITH stopped AS (
    -- The rule, unless it is stopped already.
    SELECT id, next_at FROM tickwork.rule WHERE id = $1 AND next_at IS NOT NULL FOR UPDATE
), sleeping AS (
    -- The rule without a due time.
    UPDATE tickwork.rule r SET next_at = NULL, cursor_priority = NULL, cursor_job = NULL
    FROM stopped WHERE r.id = stopped.id
), failed AS (
    -- Its active jobs.
    UPDATE tickwork.job j SET status = 'failed', updated_at = tickwork.clock(), version = version + 1
    FROM stopped WHERE j.rule_id = stopped.id AND j.status = 'active'
)
INSERT INTO tickwork.round (rule_id, scheduled_for, missed, missed_until, reason)
SELECT id, next_at, 1, next_at, $2 FROM stopped
ON CONFLICT (rule_id, scheduled_for) DO UPDATE
SET missed = 1, missed_until = excluded.missed_until, reason = excluded.reason;

-- name: pick_jobs
-- The next jobs of each round in firing order. Jobs that depend on others are left out: their executions are created
-- together with those of the jobs they depend on.
SELECT r.number, j.id, j.tenant_id, j.lane_id, j.priority, j.task, j.payload, j.target, j.timeout, j.overlap::text,
    j.followed, j.trace_origin
FROM unnest($1::int[], $2::bigint[], $3::timestamptz[], $4::smallint[], $5::bigint[])
    AS r (number, rule_id, scheduled_for, cursor_priority, cursor_job)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job
    WHERE rule_id = r.rule_id AND status = 'active' AND active_from <= r.scheduled_for
        AND (active_until IS NULL OR active_until >= r.scheduled_for)
        AND (priority, id) > (r.cursor_priority, r.cursor_job) AND NOT depends
    ORDER BY priority, id
    LIMIT $6
) j
ORDER BY r.number, j.priority, j.id;

-- name: insert_executions
-- Writes the executions of one chunk: running on a worker, waiting for a worker or for the execution before them, or
-- skipped. Times come in microseconds, which are cheaper to send than dates.
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, worker_id, ready_at, finished_at,
     blocked_by, reason, followed, attempt)
SELECT tenant_id, to_timestamp(at / 1e6::float8), job_id, lane_id, priority, 'schedule',
    CASE WHEN reason IS NOT NULL THEN 'skipped' WHEN worker_id IS NOT NULL THEN 'running'
         ELSE 'pending' END::tickwork.execution_status,
    worker_id,
    CASE WHEN reason IS NULL AND worker_id IS NULL
         THEN CASE WHEN blocked_by IS NULL THEN to_timestamp(ready / 1e6::float8) ELSE 'infinity' END END,
    CASE WHEN reason IS NOT NULL THEN tickwork.clock() END,
    blocked_by, reason, followed, attempt
FROM (
    SELECT tickwork.each($1::int[], tenant_id) AS tenant_id, tickwork.each($2::bigint[], at) AS at, job_id,
        tickwork.each($4::int[], lane_id) AS lane_id, tickwork.each($5::smallint[], priority) AS priority,
        tickwork.each($6::bigint[], ready) AS ready, tickwork.each($7::int[], worker_id) AS worker_id,
        blocked_by, reason, tickwork.each($10::boolean[], followed) AS followed,
        tickwork.each($11::int[], attempt) AS attempt
    FROM unnest($1::int[], $2::bigint[], $3::text::bigint[], $4::int[], $5::smallint[], $6::bigint[], $7::int[],
                $8::timestamptz[], $9::text[], $10::boolean[], $11::int[])
        AS c (tenant_id, at, job_id, lane_id, priority, ready, worker_id, blocked_by, reason, followed, attempt)
) c;

-- name: give_up_unstarted
-- Skips executions that have waited for longer than their job says is useful and were not tried yet, whatever they wait
-- for, up to a limit.
WITH bounded AS MATERIALIZED (
    -- Lanes that say within which time their executions are to start.
    SELECT l.id, (l.placement::json ->> 'start_within')::float8 AS start_within FROM tickwork.lane l
    WHERE l.placement LIKE '%"start_within":%'
), late AS MATERIALIZED (
    -- Their executions that did not: ready, or waiting for something else. The locks keep them from starting.
    SELECT e.* FROM bounded b
    CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT tenant_id, scheduled_for, job_id, b.start_within FROM tickwork.execution
        WHERE lane_id = b.id AND priority = level.priority AND ready_at IS NOT NULL
            AND (ready_at <= tickwork.clock() OR ready_at = 'infinity')
            AND scheduled_for <= tickwork.clock() - make_interval(secs => b.start_within)
            AND trigger IN ('schedule', 'manual')
            AND NOT tickwork.was_tried(tenant_id, scheduled_for, job_id, attempt)
        LIMIT $1
        FOR NO KEY UPDATE SKIP LOCKED
    ) e
    WHERE b.start_within IS NOT NULL
    LIMIT $1
), freed AS (
    -- They wait for no parents any more.
    DELETE FROM tickwork.awaited a USING late WHERE a.child_id = late.job_id AND a.child_at = late.scheduled_for
)
UPDATE tickwork.execution e
SET status = 'skipped', ready_at = NULL, finished_at = tickwork.clock(),
    reason = format('not started within %s s of its due time', late.start_within)
FROM late
WHERE e.tenant_id = ANY(ARRAY[late.tenant_id]) AND e.scheduled_for = late.scheduled_for AND e.job_id = late.job_id
    AND e.status = 'pending';

-- name: release_queued
-- Lets executions run that waited for an execution before them which has ended. One may have to wait for another still:
-- for what that execution was cancelled waiting for, or for an earlier manual run. Those of a paused job wait for its
-- resumption: jobs are locked before their status is read. Executions of a job that another transaction has locked
-- are left for the next time.
UPDATE tickwork.execution e
SET blocked_by = free.behind,
    ready_at = CASE WHEN free.behind IS NOT NULL OR free.paused THEN 'infinity'
                    ELSE greatest(e.scheduled_for, tickwork.clock()) END
FROM (
    -- Executions whose blocker has ended, each with the one it has to wait for instead, if any.
    SELECT q.tenant_id, q.scheduled_for, q.job_id, locked.paused, coalesce((
        -- What the blocker was cancelled waiting for. Executions that wait for each other do not count.
        SELECT unended.scheduled_for
        FROM tickwork.find_unended(q.tenant_id, q.job_id, q.blocked_by) AS unended (scheduled_for)
        WHERE unended.scheduled_for <> q.scheduled_for
    ), (
        -- The latest off-schedule execution before it that has not ended and does not wait for this one.
        SELECT max(x.scheduled_for) FROM tickwork.off_schedule_execution x
        WHERE x.job_id = q.job_id AND x.backfill_id IS NULL AND x.scheduled_for < q.scheduled_for AND EXISTS (
            SELECT FROM tickwork.execution other
            WHERE other.tenant_id = q.tenant_id AND other.scheduled_for = x.scheduled_for AND other.job_id = q.job_id
                AND other.finished_at IS NULL AND other.blocked_by IS DISTINCT FROM q.scheduled_for
            OFFSET 0)
    )) AS behind
    FROM tickwork.execution q
    CROSS JOIN LATERAL (
        -- Its job.
        SELECT j.status = 'paused' AS paused FROM tickwork.job j WHERE j.id = q.job_id FOR KEY SHARE SKIP LOCKED
    ) locked
    WHERE q.blocked_by IS NOT NULL AND q.ready_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM tickwork.execution b
        WHERE b.tenant_id = q.tenant_id AND b.scheduled_for = q.blocked_by AND b.job_id = q.job_id
            AND b.finished_at IS NULL
        OFFSET 0)
    LIMIT $1
    FOR UPDATE OF q SKIP LOCKED
) free
WHERE e.tenant_id = ANY(ARRAY[free.tenant_id]) AND e.scheduled_for = free.scheduled_for AND e.job_id = free.job_id;

-- name: insert_executions_carefully
-- Writes the executions of one chunk when some of these due times have one already. None is given to a worker yet. An
-- execution that was skipped before its due time, because its job was paused or rescheduled, becomes the new one; any
-- other stays as it is.
WITH remembered AS (
    -- The blockers, noted as off-schedule executions: an execution that stays as it is does not point to its blocker.
    INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
    SELECT job_id, blocked_by FROM unnest($3::text::bigint[], $7::timestamptz[]) AS c (job_id, blocked_by)
    WHERE blocked_by IS NOT NULL
    ON CONFLICT DO NOTHING
)
INSERT INTO tickwork.execution AS e
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, finished_at, blocked_by, reason,
     followed)
SELECT tenant_id, to_timestamp(at / 1e6::float8), job_id, lane_id, priority, 'schedule',
    CASE WHEN reason IS NOT NULL THEN 'skipped' ELSE 'pending' END::tickwork.execution_status,
    CASE WHEN reason IS NULL
         THEN CASE WHEN blocked_by IS NULL THEN to_timestamp(ready / 1e6::float8) ELSE 'infinity' END END,
    CASE WHEN reason IS NOT NULL THEN tickwork.clock() END,
    blocked_by, reason, followed
FROM (
    SELECT tickwork.each($1::int[], tenant_id) AS tenant_id, tickwork.each($2::bigint[], at) AS at, job_id,
        tickwork.each($4::int[], lane_id) AS lane_id, tickwork.each($5::smallint[], priority) AS priority,
        tickwork.each($6::bigint[], ready) AS ready, blocked_by, reason,
        tickwork.each($9::boolean[], followed) AS followed
    FROM unnest($1::int[], $2::bigint[], $3::text::bigint[], $4::int[], $5::smallint[], $6::bigint[],
                $7::timestamptz[], $8::text[], $9::boolean[])
        AS c (tenant_id, at, job_id, lane_id, priority, ready, blocked_by, reason, followed)
) c
ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
SET status = excluded.status, ready_at = excluded.ready_at, finished_at = excluded.finished_at,
    blocked_by = excluded.blocked_by, reason = excluded.reason, worker_id = NULL,
    lane_id = excluded.lane_id, priority = excluded.priority, attempt = e.attempt + 1, followed = excluded.followed
WHERE e.status = 'skipped' AND e.reason IN ('paused', 'rescheduled');

-- name: advance_rules
-- Moves each rule on: further into its round, or past it to the next due time. A rule without active jobs gets none.
UPDATE tickwork.rule r
SET next_at = CASE WHEN NOT a.looks_empty
        OR EXISTS (SELECT FROM tickwork.job WHERE rule_id = r.id AND status = 'active' OFFSET 0) THEN a.next_at END,
    last_at = a.last_at, cursor_priority = a.cursor_priority, cursor_job = a.cursor_job
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::smallint[], $5::bigint[], $6::boolean[])
    AS a (id, next_at, last_at, cursor_priority, cursor_job, looks_empty)
WHERE r.id = a.id;

-- name: note_rounds
-- Notes what became of each due time: it was fired, or a range was missed, and why.
INSERT INTO tickwork.round (rule_id, scheduled_for, missed, missed_until, reason)
SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::timestamptz[], $5::text[])
ON CONFLICT DO NOTHING;

-- name: lock_deferred_jobs
-- Locks one-time jobs that have no execution yet and are due soon or were due. Paused ones wait for their resumption.
SELECT id, scheduled_for, depends FROM tickwork.job
WHERE deferred AND scheduled_for < $1 AND status <> 'paused'
ORDER BY scheduled_for LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: promote_deferred_jobs
-- Gives one-time jobs their executions.
WITH promoted AS (
    -- The jobs, which have an execution from now on.
    UPDATE tickwork.job SET deferred = false WHERE id = ANY($1::bigint[])
    RETURNING *
), noted AS (
    -- The minutes in which they are due: what is fired then is counted from the executions.
    INSERT INTO tickwork.fired_to_count (at, tenant_id)
    SELECT minute.at, minute.tenant_id FROM (
        SELECT DISTINCT date_trunc('minute', scheduled_for) AS at, tenant_id FROM promoted
    ) minute
    WHERE NOT EXISTS (
        SELECT FROM tickwork.fired_to_count f WHERE f.at = minute.at AND f.tenant_id = minute.tenant_id)
)
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
SELECT tenant_id, scheduled_for, id, lane_id, priority, 'schedule', 'pending',
    CASE WHEN depends AND tickwork.awaits_parents(id, scheduled_for) THEN 'infinity' ELSE scheduled_for END, followed
FROM promoted WHERE status = 'active';

-- name: fail_deferred_job
-- Fails a one-time job that cannot be given its execution.
UPDATE tickwork.job SET deferred = false, status = 'failed', updated_at = tickwork.clock(), version = version + 1
WHERE id = $1;

-- name: zone_data
-- The time zone data that the timers were computed with.
SELECT version FROM tickwork.zone_data;

-- name: set_zone_data
-- Notes which time zone data the timers were computed with.
INSERT INTO tickwork.zone_data (version) VALUES ($1) ON CONFLICT (one) DO UPDATE SET version = excluded.version;

-- name: lock_rules_after
-- Locks some rules that wait for their due time, to compute it again.
SELECT id, timing, next_at, tickwork.clock() AS now FROM tickwork.rule
WHERE id > $1 AND next_at > tickwork.clock() + $2::interval AND cursor_job IS NULL
ORDER BY id
LIMIT $3
FOR UPDATE;

-- name: set_timers
-- Gives rules other due times.
UPDATE tickwork.rule r SET next_at = t.next_at
FROM unnest($1::bigint[], $2::timestamptz[]) AS t (id, next_at) WHERE r.id = t.id;
