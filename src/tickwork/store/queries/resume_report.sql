-- How to read these queries: README.md

-- name: rules_past_due
-- The rules that are past their due time, the most overdue first.
SELECT r.id, r.timing, r.catch_up, r.next_at, r.last_at, r.cursor_priority, r.cursor_job, tickwork.clock() AS now
FROM tickwork.rule r WHERE r.next_at <= tickwork.clock() ORDER BY r.next_at LIMIT $1;

-- name: jobs_past_due
-- Some of the active jobs of each of these rules, in the order of the rules.
SELECT j.id, j.rule_id, j.name, j.key, j.task, t.name AS tenant
FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (rule_id, place)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job WHERE rule_id = wanted.rule_id AND status = 'active' ORDER BY priority, id LIMIT $2
) j
JOIN tickwork.tenant t ON t.id = j.tenant_id
ORDER BY wanted.place, j.priority, j.id
LIMIT $2;

-- name: count_jobs_past_due
-- How many active jobs have rules that are past their due time, up to a limit.
SELECT count(*) AS jobs FROM (
    SELECT FROM tickwork.rule r
    CROSS JOIN LATERAL (SELECT FROM tickwork.job WHERE rule_id = r.id AND status = 'active' LIMIT $1) j
    WHERE r.next_at <= tickwork.clock() LIMIT $1
) counted;

-- snippet: interrupted
-- Executions that run as far as the database knows, on workers without a lease. What HTTP targets have accepted counts
-- only if the database was restored since: otherwise they still report.
FROM tickwork.cluster c
CROSS JOIN tickwork.lease l
LEFT JOIN tickwork.worker w ON w.id = l.worker_id
CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE CASE WHEN l.worker_id = 0 THEN c.restored_at >= c.paused_at AND l.leased_at <= c.restored_until
           ELSE w.id IS NULL OR w.ended_at IS NOT NULL OR w.lease_until < tickwork.clock() END

-- name: interrupted
-- Some of the executions that were interrupted, the first that were handed over first.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.started_at, e.worker, j.name, j.task, j.definition,
    t.name AS tenant
FROM (
    SELECT e.*, w.name AS worker, l.id AS lease_id
-- include: interrupted
    ORDER BY l.id LIMIT $1
) e
CROSS JOIN LATERAL (SELECT name, task, definition FROM tickwork.job WHERE id = e.job_id OFFSET 0) j
JOIN tickwork.tenant t ON t.id = e.tenant_id
ORDER BY e.lease_id;

-- name: count_interrupted
-- How many executions were interrupted, up to a limit.
SELECT count(*) AS executions FROM (
    SELECT
-- include: interrupted
    LIMIT $1
) counted;

-- snippet: overdue
-- Executions that are due and wait to be handed over: of each lane and priority those that waited longest.
FROM tickwork.lane l
CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, attempt FROM tickwork.execution
    WHERE lane_id = l.id AND priority = level.priority AND ready_at <= tickwork.clock()
    ORDER BY ready_at LIMIT $1
) e

-- name: overdue
-- Some of the executions that are overdue, and one-time jobs that have none yet, the most overdue first.
SELECT o.tenant_id, o.scheduled_for, o.job_id, o.attempt, j.name, j.task, j.rule_id IS NULL AS one_time,
    t.name AS tenant
FROM (
    SELECT e.*
-- include: overdue
    UNION ALL
    SELECT * FROM (
        SELECT tenant_id, scheduled_for, id, 1 FROM tickwork.job
        WHERE deferred AND scheduled_for <= tickwork.clock() AND status <> 'paused' ORDER BY scheduled_for LIMIT $1
    ) deferred
) o
CROSS JOIN LATERAL (SELECT name, task, rule_id FROM tickwork.job WHERE id = o.job_id OFFSET 0) j
JOIN tickwork.tenant t ON t.id = o.tenant_id
ORDER BY o.scheduled_for, o.job_id LIMIT $1;

-- name: count_overdue_executions
-- How many executions are overdue, with one-time jobs that have none yet, up to a limit.
SELECT count(*) AS executions FROM (
    SELECT
-- include: overdue
    UNION ALL
    SELECT FROM tickwork.job WHERE deferred AND scheduled_for <= tickwork.clock() AND status <> 'paused'
    LIMIT $1
) counted;
