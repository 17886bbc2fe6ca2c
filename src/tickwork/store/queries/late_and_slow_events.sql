-- How to read these queries: README.md

-- name: lock_watched_until
-- Locks up to when executions have been looked at, unless another node is looking.
SELECT watched_until, tickwork.clock() AS now FROM tickwork.overdue_watch FOR UPDATE SKIP LOCKED;

-- name: set_watched_until
-- Notes up to when executions have been looked at.
UPDATE tickwork.overdue_watch SET watched_until = $1;

-- snippet: untold
-- Unless this event of an attempt of an execution e was written before: it is in the stream, or waits for its number.
    NOT EXISTS (SELECT FROM tickwork.event v WHERE v.tenant_id = e.tenant_id AND v.kind = $1
                AND v.scheduled_for = e.scheduled_for AND v.job_id = e.job_id AND v.attempt = e.attempt OFFSET 0)
    AND (e.scheduled_for, e.job_id, e.attempt) NOT IN (
        SELECT v.scheduled_for, v.job_id, v.attempt FROM tickwork.new_event v
        WHERE v.kind = $1 AND v.scheduled_for IS NOT NULL AND v.attempt IS NOT NULL)

-- name: write_late
-- Writes which executions became late between two times, $2 and $3, and still wait to be started for the first time. A
-- backfill runs what was due long ago. The locks keep them from starting until this is committed.
WITH RECURSIVE backlog AS (
    -- The lanes and priorities in which something waits, by leaps: most of the lanes that ever were have nothing.
    (SELECT lane_id, priority FROM tickwork.execution
     WHERE ready_at IS NOT NULL
     ORDER BY lane_id, priority, ready_at LIMIT 1)
    UNION ALL
    SELECT following.lane_id, following.priority
    FROM backlog
    CROSS JOIN LATERAL (
        SELECT lane_id, priority FROM tickwork.execution
        WHERE ready_at IS NOT NULL AND (lane_id, priority) > (backlog.lane_id, backlog.priority)
        ORDER BY lane_id, priority, ready_at LIMIT 1
    ) following
), overdue AS (
    -- Of each of them those that could have started for $4 by then.
    SELECT e.tenant_id, e.job_id, e.scheduled_for, e.lane_id, e.attempt
    FROM backlog
    CROSS JOIN LATERAL (
        SELECT tenant_id, job_id, scheduled_for, lane_id, attempt FROM tickwork.execution
        WHERE lane_id = backlog.lane_id AND priority = backlog.priority
            AND ready_at > $2::timestamptz - $4::interval AND ready_at <= $3::timestamptz - $4::interval
            AND scheduled_for > $2::timestamptz - $4::interval - interval '1 day'
            AND scheduled_for <= $3::timestamptz - $4::interval
            AND attempt = 1 AND trigger <> 'backfill'
        ORDER BY ready_at LIMIT $5
        FOR NO KEY UPDATE SKIP LOCKED
    ) e
    LIMIT $5
)
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
SELECT e.tenant_id, $1, e.job_id, e.scheduled_for, e.lane_id, e.attempt,
    json_build_object('start_delay', date_part('epoch', $3 - e.scheduled_for), 'so_far', true)::text
FROM overdue e
WHERE
-- include: untold
;

-- name: lock_slow
-- Of these attempts, those that still run: the locks keep them from ending until their events are committed. What is
-- locked already may be ending.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[]) AS o (tenant_id, scheduled_for, job_id, attempt)
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, attempt FROM tickwork.execution
    WHERE tenant_id = ANY(ARRAY[o.tenant_id]) AND scheduled_for = o.scheduled_for AND job_id = o.job_id
        AND attempt = o.attempt AND status = 'running'
    FOR NO KEY UPDATE SKIP LOCKED
) e;

-- name: write_slow
-- Writes that these attempts, which run and are locked, have become slow.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
SELECT e.tenant_id, $1, e.job_id, e.scheduled_for, e.lane_id, e.attempt,
    json_build_object('run_time', date_part('epoch', tickwork.clock() - e.started_at), 'so_far', true)::text
FROM unnest($2::int[], $3::timestamptz[], $4::bigint[]) AS o (tenant_id, scheduled_for, job_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.execution
    WHERE tenant_id = o.tenant_id AND scheduled_for = o.scheduled_for AND job_id = o.job_id
    OFFSET 0
) e
WHERE
-- include: untold
;

-- name: write_completed
-- Writes that executions completed late or slowly, unless that was told while they waited or ran. A backfill runs what
-- was due long ago. Where the job allows itself more time, the event says so: only searches need it then.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
SELECT e.tenant_id, $1, e.job_id, e.scheduled_for, e.lane_id, e.attempt,
    (jsonb_build_object('start_delay', date_part('epoch', e.started_at - e.scheduled_for),
                        'run_time', date_part('epoch', e.finished_at - e.started_at))
     || CASE WHEN allowed.time >= e.finished_at - e.started_at THEN '{"expected": true}' ELSE '{}' END::jsonb)::text
FROM unnest($2::int[], $3::timestamptz[], $4::bigint[], $5::int[]) AS o (tenant_id, scheduled_for, job_id, attempt)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.execution
    WHERE tenant_id = o.tenant_id AND scheduled_for = o.scheduled_for AND job_id = o.job_id
    OFFSET 0
) e
LEFT JOIN LATERAL (
    SELECT make_interval(secs => warn_after) AS time FROM tickwork.job
    WHERE id = e.job_id AND $1 = 'execution.slow'
    OFFSET 0
) allowed ON true
WHERE e.attempt = o.attempt AND e.status = 'completed' AND (e.trigger <> 'backfill' OR $1 <> 'execution.late')
    AND
-- include: untold
;
