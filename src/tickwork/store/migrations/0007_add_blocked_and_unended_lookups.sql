-- Functions for what few executions need: a statement that only calls them does not open the partitions of executions
-- for it, which costs more than all else about reading one job.

-- Whether an execution waits for one that failed, and so in vain.
CREATE FUNCTION tickwork.awaits_failed(child bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM tickwork.awaited a CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution p
            WHERE p.tenant_id = a.tenant_id AND p.scheduled_for = a.parent_at AND p.job_id = a.parent_id
                AND p.status = 'failed'
            OFFSET 0
        ) p
        WHERE a.child_id = child AND a.child_at = at AND NOT a.on_any);
END $$;

-- The execution of a job that has not ended and is in the way of others, which led to `at`.
CREATE FUNCTION tickwork.unended_execution(tenant integer, job bigint, at timestamptz)
RETURNS SETOF tickwork.execution LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT e.* FROM tickwork.find_unended(tenant, job, at) AS unended (at) CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution x
        WHERE x.tenant_id = tenant AND x.scheduled_for = unended.at AND x.job_id = job
        OFFSET 0
    ) e;
END $$;
