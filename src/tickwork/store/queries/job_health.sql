-- How to read these queries: README.md

-- snippet: rule_of_job
-- The rule r of each job j, by a look-up.
    LEFT JOIN LATERAL (SELECT next_at, cursor_job FROM tickwork.rule WHERE id = j.rule_id OFFSET 0) r ON true

-- snippet: recent
-- The latest due times of a job j: of its rule's rounds, of the round that is being fired, of manual runs and of a
-- one-time job. Its rule is r. A job that rests has no executions in the rounds since then, however many other jobs of
-- its rule have. A time may be among them twice.
    (SELECT scheduled_for AS at FROM tickwork.round
     WHERE rule_id = j.rule_id AND scheduled_for >= j.created_at AND missed = 0
         AND (j.status = 'active' OR scheduled_for <= j.updated_at)
     ORDER BY scheduled_for DESC LIMIT $3)
    UNION ALL
    SELECT r.next_at WHERE r.cursor_job IS NOT NULL
    UNION ALL
    (SELECT scheduled_for FROM tickwork.off_schedule_execution
     WHERE job_id = j.id ORDER BY scheduled_for DESC LIMIT $3)
    UNION ALL
    SELECT j.scheduled_for WHERE j.scheduled_for IS NOT NULL

-- snippet: states
-- How some jobs are doing, by their latest executions: the CTE `state`. Partitions are read in one place only: to open
-- them all is most of what this costs. Follows WITH.
wanted AS MATERIALIZED (
    -- The jobs, with what is known of their rules.
    SELECT j.id, j.rule_id, j.scheduled_for, j.created_at, j.updated_at, j.status, j.depends, r.next_at, r.cursor_job
    FROM (SELECT DISTINCT unnest($2::bigint[]) AS id) asked
    CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = asked.id AND tenant_id = $1 OFFSET 0) j
    -- include: rule_of_job
), latest AS MATERIALIZED (
    -- Their latest executions.
    SELECT j.id, j.depends, e.scheduled_for, e.status, e.started_at, e.finished_at, e.ready_at, e.blocked_by
    FROM wanted j
    CROSS JOIN LATERAL (SELECT j.next_at, j.cursor_job) r
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
), state AS (
    -- All of this, for each job.
    SELECT j.id AS job, f.failures_in_a_row, f.failing_since, last.scheduled_for AS last_scheduled_for,
        last.status::text AS last_status, last.started_at AS last_started_at, last.finished_at AS last_finished_at,
        coalesce(unended.running, 0) AS running, coalesce(unended.is_blocked, false) AS is_blocked,
        j.status = 'active' AND (coalesce(unended.is_late, false)
            OR coalesce(j.next_at < tickwork.clock() - $4::interval, false)) AS is_late
    FROM wanted j
    LEFT JOIN tickwork.failing_job f ON f.job_id = j.id
    LEFT JOIN last ON last.id = j.id
    LEFT JOIN unended ON unended.id = j.id
)

-- name: job_states
-- How some jobs are doing.
WITH
-- include: states
SELECT * FROM state;

-- name: jobs_with_states
-- Some jobs as users see them, and how they are doing.
WITH
-- include: states
SELECT state.*, v.* FROM state
CROSS JOIN LATERAL (SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = state.job OFFSET 0) v;

-- name: recent_runs
-- The latest executions of one job that ran and ended, latest first.
SELECT e.status::text AS status, date_part('epoch', e.finished_at - e.started_at) AS duration
FROM tickwork.job j
-- include: rule_of_job
CROSS JOIN LATERAL (
    SELECT DISTINCT at FROM (
    -- include: recent
    ) times
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
-- include: rule_of_job
CROSS JOIN LATERAL (
    SELECT e.scheduled_for, e.status, e.started_at, e.finished_at
    FROM (
        SELECT DISTINCT at FROM (
        -- include: recent
        ) times
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
