-- Executions that wait for too long to be useful are given up: `start_within` of their job, which is part of its lane.

-- Whether an execution has been tried, or was made to run again by somebody: all its attempts so far but those that did
-- not start have such a record.
CREATE FUNCTION tickwork.was_tried(tenant integer, at timestamptz, job bigint, attempts integer)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT attempts > 1 AND attempts - 1 > (
        SELECT count(*) FROM tickwork.attempt a
        WHERE a.tenant_id = tenant AND a.scheduled_for = at AND a.job_id = job AND a.outcome IN ('returned', 'held'))
$$;

-- A one-time job whose execution was skipped is over, too.
CREATE OR REPLACE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.finished_at IS NOT NULL THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND history.is_gone THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR history.is_gone THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at,
    j.description, j.owner
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT status, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE j.rule_id IS NULL AND tenant_id = j.tenant_id AND scheduled_for = j.scheduled_for AND job_id = j.id
    OFFSET 0
) e ON true
CROSS JOIN LATERAL (
    -- The execution of a one-time job was dropped with its partition.
    SELECT j.rule_id IS NULL AND e.status IS NULL AND NOT j.deferred AS is_gone
) history;
