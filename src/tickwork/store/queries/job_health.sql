-- How to read these queries: README.md

-- snippet: recent
-- The latest due times of a job j: of its rule's rounds, of the round that is being fired, of manual runs and of a
-- one-time job. What an execution was skipped for may be older: that is followed.
    SELECT DISTINCT at FROM (
        (SELECT scheduled_for AS at FROM tickwork.round
         WHERE rule_id = j.rule_id AND scheduled_for >= j.created_at AND missed = 0
         ORDER BY scheduled_for DESC LIMIT $3)
        UNION ALL
        SELECT next_at FROM tickwork.rule WHERE id = j.rule_id AND cursor_job IS NOT NULL
        UNION ALL
        SELECT unended FROM tickwork.rule r
        CROSS JOIN LATERAL tickwork.find_unended(j.tenant_id, j.id, r.last_at) AS unended
        WHERE r.id = j.rule_id AND r.last_at IS NOT NULL
        UNION ALL
        (SELECT scheduled_for FROM tickwork.off_schedule_execution
         WHERE job_id = j.id ORDER BY scheduled_for DESC LIMIT $3)
        UNION ALL
        SELECT j.scheduled_for WHERE j.scheduled_for IS NOT NULL
    ) times

-- name: job_states
-- How some jobs are doing, by their latest executions.
SELECT j.id, f.failures_in_a_row, f.failing_since, last.scheduled_for, last.status::text AS status, last.started_at,
    last.finished_at, coalesce(seen.running, 0) AS running, coalesce(seen.is_blocked, false) AS is_blocked,
    j.status = 'active' AND (coalesce(seen.is_late, false)
        OR coalesce((SELECT next_at < tickwork.clock() - $4::interval FROM tickwork.rule WHERE id = j.rule_id), false))
        AS is_late
FROM unnest($2::bigint[]) AS wanted (id)
JOIN tickwork.job j ON j.id = wanted.id AND j.tenant_id = $1
LEFT JOIN tickwork.failing_job f ON f.job_id = j.id
LEFT JOIN LATERAL (
    SELECT array_agg(due.at) AS times FROM (
    -- include: recent
    ) due
) recent ON true
LEFT JOIN LATERAL (
    SELECT e.scheduled_for, e.status, e.started_at, e.finished_at
    FROM unnest(recent.times) AS at CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = at AND job_id = j.id
            AND finished_at IS NOT NULL AND status <> 'skipped'
        OFFSET 0
    ) e
    ORDER BY e.finished_at DESC LIMIT 1
) last ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE e.status = 'running' AND e.scheduled_for <= tickwork.clock()) AS running,
        bool_or(isfinite(e.ready_at) AND e.ready_at < tickwork.clock() - $4::interval) AS is_late,
        bool_or(j.depends AND e.status = 'pending' AND EXISTS (
            SELECT FROM tickwork.awaited a CROSS JOIN LATERAL (
                SELECT FROM tickwork.execution p
                WHERE p.tenant_id = $1 AND p.scheduled_for = a.parent_at AND p.job_id = a.parent_id
                    AND p.status = 'failed'
                OFFSET 0
            ) p
            WHERE a.child_id = j.id AND a.child_at = e.scheduled_for AND NOT a.on_any)) AS is_blocked
    FROM unnest(recent.times) AS at CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = at AND job_id = j.id AND finished_at IS NULL
        OFFSET 0
    ) e
) seen ON true;

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
