-- How to read these queries: README.md

-- name: completion_rules
-- The rules that tell of completed executions, or of workflows, which end with one.
SELECT tenant_id, tag, queue, 'completed' = ANY(kinds) AS completed FROM tickwork.notification_rule
WHERE kinds && ARRAY['completed', 'workflow_done'];

-- name: telling_lanes
-- Whether that an execution completes is an event in these lanes.
SELECT id, queue, placement LIKE '%"tells_completion":true%' AS tells_completion FROM tickwork.lane
WHERE id = ANY($1::int[]);

-- name: write_told_completions
-- Writes which executions this transaction has completed, of those that somebody is told of: all of these for certain,
-- or those of jobs that a rule tells of. One may be reported twice in a batch. What was completed before has its event:
-- its row is of another transaction.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
SELECT e.tenant_id, 'execution.completed', e.job_id, e.scheduled_for, e.lane_id, e.attempt,
    json_build_object('start_delay', date_part('epoch', e.started_at - e.scheduled_for),
                      'run_time', date_part('epoch', e.finished_at - e.started_at))::text
FROM (
    SELECT DISTINCT * FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::boolean[])
        AS sent (tenant_id, scheduled_for, job_id, attempt, is_certain)
) o
CROSS JOIN LATERAL (
    SELECT *, xmin AS written_by FROM tickwork.execution
    WHERE tenant_id = o.tenant_id AND scheduled_for = o.scheduled_for AND job_id = o.job_id
    OFFSET 0
) e
WHERE e.attempt = o.attempt AND e.status = 'completed' AND e.written_by = pg_current_xact_id()::xid
    AND (o.is_certain OR EXISTS (
        SELECT FROM tickwork.job j JOIN tickwork.notification_rule r ON r.tenant_id = j.tenant_id
        WHERE j.id = e.job_id
            AND (r.tag = ANY(j.tags) AND 'completed' = ANY(r.kinds) OR j.depends AND 'workflow_done' = ANY(r.kinds))
        OFFSET 0));
