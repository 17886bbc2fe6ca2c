-- How to read these queries: README.md

-- snippet: recent
-- The latest due times of a job j: of its rule's rounds, of the round that is being fired, of manual runs and of a
-- one-time job. A job that rests has no executions in the rounds since then, however many other jobs of its rule have.
    SELECT DISTINCT at FROM (
        (SELECT scheduled_for AS at FROM tickwork.round
         WHERE rule_id = j.rule_id AND scheduled_for >= j.created_at AND missed = 0
             AND (j.status = 'active' OR scheduled_for <= j.updated_at)
         ORDER BY scheduled_for DESC LIMIT $3)
        UNION ALL
        SELECT next_at FROM tickwork.rule WHERE id = j.rule_id AND cursor_job IS NOT NULL
        UNION ALL
        (SELECT scheduled_for FROM tickwork.off_schedule_execution
         WHERE job_id = j.id ORDER BY scheduled_for DESC LIMIT $3)
        UNION ALL
        SELECT j.scheduled_for WHERE j.scheduled_for IS NOT NULL
    ) times

-- name: job_states
-- How some jobs are doing, by their latest executions. Partitions are read in one place only: to open them all is most
-- of what this costs.
WITH wanted AS MATERIALIZED (
    -- The jobs.
    SELECT id, rule_id, scheduled_for, created_at, updated_at, tenant_id, status, depends FROM tickwork.job
    WHERE id = ANY($2::bigint[]) AND tenant_id = $1
), latest AS MATERIALIZED (
    -- Their latest executions.
    SELECT j.id, j.depends, e.scheduled_for, e.status, e.started_at, e.finished_at, e.ready_at, e.blocked_by
    FROM wanted j
    CROSS JOIN LATERAL (
    -- include: recent
    ) due
    CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = j.id OFFSET 0
    ) e
), blocked AS (
    -- Of each job the latest that was skipped for another, or waits for it.
    SELECT DISTINCT ON (id) id, depends, blocked_by FROM latest
    WHERE blocked_by IS NOT NULL
    ORDER BY id, scheduled_for DESC
), found AS MATERIALIZED (
    -- All of these, and what is in the way of the others, which may be older.
    SELECT id, depends, scheduled_for, status, started_at, finished_at, ready_at FROM latest
    UNION
    SELECT b.id, b.depends, e.scheduled_for, e.status, e.started_at, e.finished_at, e.ready_at
    FROM blocked b CROSS JOIN LATERAL tickwork.unended_execution($1, b.id, b.blocked_by) AS e
), last AS (
    -- The one of each job that ended last.
    SELECT DISTINCT ON (id) id, scheduled_for, status, started_at, finished_at FROM found
    WHERE finished_at IS NOT NULL AND status <> 'skipped'
    ORDER BY id, finished_at DESC
), unended AS (
    -- What those say that have not ended.
    SELECT id, count(*) FILTER (WHERE status = 'running' AND scheduled_for <= tickwork.clock()) AS running,
        bool_or(isfinite(ready_at) AND ready_at < tickwork.clock() - $4::interval) AS is_late,
        bool_or(depends AND status = 'pending' AND tickwork.awaits_failed(id, scheduled_for)) AS is_blocked
    FROM found WHERE finished_at IS NULL
    GROUP BY id
)
SELECT j.id, f.failures_in_a_row, f.failing_since, last.scheduled_for, last.status::text AS status, last.started_at,
    last.finished_at, coalesce(unended.running, 0) AS running, coalesce(unended.is_blocked, false) AS is_blocked,
    j.status = 'active' AND (coalesce(unended.is_late, false)
        OR coalesce((SELECT next_at < tickwork.clock() - $4::interval FROM tickwork.rule WHERE id = j.rule_id), false))
        AS is_late
FROM wanted j
LEFT JOIN tickwork.failing_job f ON f.job_id = j.id
LEFT JOIN last ON last.id = j.id
LEFT JOIN unended ON unended.id = j.id;

-- name: recent_runs
-- The latest executions of one job that ran and ended, latest first.
SELECT e.status::text AS status, date_part('epoch', e.finished_at - e.started_at) AS duration
FROM tickwork.job j
CROSS JOIN LATERAL (
    -- include: recent
) due
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = j.id
        AND finished_at IS NOT NULL AND status IN ('completed', 'failed')
    OFFSET 0
) e
WHERE j.tenant_id = $1 AND j.id = $2
ORDER BY e.scheduled_for DESC
LIMIT $3;

-- name: recent_runs_of_jobs
-- The latest executions of each of some jobs that are due, latest first.
SELECT j.id, run.scheduled_for, run.status::text AS status,
    date_part('epoch', run.finished_at - run.started_at) AS duration
FROM tickwork.job j
CROSS JOIN LATERAL (
    SELECT e.scheduled_for, e.status, e.started_at, e.finished_at
    FROM (
    -- include: recent
    ) due
    CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = j.id AND scheduled_for <= tickwork.clock()
        OFFSET 0
    ) e
    ORDER BY e.scheduled_for DESC LIMIT $3
) run
WHERE j.id = ANY($2::bigint[]) AND j.tenant_id = $1
ORDER BY j.id, run.scheduled_for DESC;
