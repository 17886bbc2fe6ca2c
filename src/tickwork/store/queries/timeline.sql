-- How to read these queries: README.md

-- snippet: bar
-- What an execution e, which is due, is on the time line: its state, and from when to when it lasts. Follows SELECT.
    CASE WHEN e.finished_at IS NOT NULL OR e.status = 'running' THEN e.status::text
         WHEN e.attempt > 1 AND isfinite(e.ready_at) AND e.ready_at > tickwork.clock() THEN 'retrying'
         ELSE 'pending' END AS state,
    CASE WHEN e.status IN ('pending', 'skipped') THEN e.scheduled_for ELSE coalesce(e.started_at, e.scheduled_for) END
        AS begins,
    CASE WHEN e.status = 'skipped' THEN e.scheduled_for
         WHEN e.attempt > 1 AND isfinite(e.ready_at) AND e.ready_at > tickwork.clock() THEN e.ready_at
         ELSE e.finished_at END AS ends,
    CASE WHEN e.status = 'completed' THEN date_part('epoch', e.finished_at - e.started_at) END AS run_time

-- snippet: bars
-- The executions of a row r that are due in the same step of length $5 and have the same state. Follows SELECT.
    r.state, count(*) AS executions, min(r.begins) AS begins,
    CASE WHEN bool_and(r.ends IS NOT NULL) THEN max(r.ends) END AS ends,
    min(r.scheduled_for) AS scheduled_for, min(r.job_id) AS job_id,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY r.run_time) AS run_time

-- name: recent_of_range
-- How many of the latest executions of a tenant that were due in a range belong to each job and task, and how long they
-- ran; $4 are looked at.
SELECT s.job_id, l.task, count(*) AS executions, count(*) FILTER (WHERE s.status = 'failed') AS failed,
    coalesce(date_part('epoch', sum(s.finished_at - s.started_at)), 0) AS seconds
FROM (
    SELECT job_id, lane_id, status, started_at, finished_at FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for >= $2 AND scheduled_for < $3
    ORDER BY tenant_id DESC, scheduled_for DESC, job_id DESC
    LIMIT $4
) s
JOIN tickwork.lane l ON l.id = s.lane_id
GROUP BY s.job_id, l.task;

-- name: failed_in_range
-- The jobs and tasks of executions of a tenant that failed for good and were due in a range; of the latest $4.
SELECT f.job_id, l.task, count(*) AS failed
FROM (
    SELECT job_id, lane_id FROM tickwork.event
    WHERE tenant_id = $1 AND kind = 'execution.failed' AND scheduled_for >= $2 AND scheduled_for < $3
    ORDER BY scheduled_for DESC
    LIMIT $4
) f
JOIN tickwork.lane l ON l.id = f.lane_id
GROUP BY f.job_id, l.task;

-- name: running_now
-- The executions of a tenant that run, $2 at most.
SELECT e.job_id, l.task, e.scheduled_for, coalesce(e.started_at, e.scheduled_for) AS started_at
FROM (
    SELECT e.job_id, e.lane_id, e.scheduled_for, e.started_at
    FROM tickwork.lease CROSS JOIN LATERAL tickwork.running_of_lease(lease) AS e
    WHERE e.tenant_id = $1 AND e.scheduled_for <= tickwork.clock()
    LIMIT $2
) e
JOIN tickwork.lane l ON l.id = e.lane_id;

-- name: bars_of_job
-- The executions of the job $2 that were due in a range, in steps; $6 due times are looked at, the latest first.
WITH due AS MATERIALIZED (
    -- Its due times.
    SELECT at FROM tickwork.due_times_of_job($1, $2, $3, $4, $6)
), run AS (
    -- What became of them.
    SELECT e.scheduled_for, $2::bigint AS job_id,
    -- include: bar
    FROM due CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = $2 OFFSET 0
    ) e
)
SELECT (SELECT count(*) FROM due) AS seen, (SELECT min(at) FROM due) AS seen_from, bar.*
FROM (SELECT) AS always LEFT JOIN (
    SELECT
    -- include: bars
    FROM run r
    GROUP BY date_bin($5::interval, r.scheduled_for, $3), r.state
) bar ON true;

-- name: bars_of_tasks
-- The executions of a tenant that were due in a range, by task and in steps; $6 are looked at, the latest first.
WITH due AS MATERIALIZED (
    -- The executions.
    SELECT scheduled_for, job_id, lane_id, status, attempt, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for >= $3 AND scheduled_for < $4
    ORDER BY tenant_id DESC, scheduled_for DESC, job_id DESC
    LIMIT $6
), run AS (
    -- What became of them, by task.
    SELECT l.task, e.scheduled_for, e.job_id,
    -- include: bar
    FROM due e JOIN tickwork.lane l ON l.id = e.lane_id
    WHERE l.task = ANY($2::text[])
)
SELECT (SELECT count(*) FROM due) AS seen, bar.*
FROM (SELECT) AS always LEFT JOIN (
    SELECT r.task,
    -- include: bars
    FROM run r
    GROUP BY r.task, date_bin($5::interval, r.scheduled_for, $3), r.state
) bar ON true;
