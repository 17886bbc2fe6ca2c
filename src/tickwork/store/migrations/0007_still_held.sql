-- What a lease stands for, unfolded in one place.

-- Of what a worker was handed in one go, or of a part of it, the executions that are still in its hands. What stands for
-- all of a lease is read once, not for each. As one SELECT that is STABLE it becomes a part of the query that asks;
-- OFFSET 0 and + 0: from the lease to its executions, each by its whole key, never the other way round, nor from the job.
CREATE FUNCTION tickwork.still_held(lease tickwork.lease, first integer DEFAULT 1, last integer DEFAULT 2147483647)
RETURNS TABLE (
    tenant_id integer, scheduled_for timestamptz, job_id bigint, lane_id integer, priority smallint, attempt integer,
    started_at timestamptz, place bigint  -- the subscript in the lease's arrays
) LANGUAGE sql STABLE AS $$
    SELECT k.tenant_id, k.scheduled_for, k.job_id, e.lane_id, e.priority, e.attempt, e.started_at, k.place
    FROM (
        SELECT CASE cardinality(lease.tenant_ids) WHEN 1 THEN lease.tenant_ids[1] END AS tenant_id,
            CASE cardinality(lease.scheduled_fors) WHEN 1 THEN lease.scheduled_fors[1] END AS scheduled_for
        OFFSET 0
    ) alike
    CROSS JOIN LATERAL (
        SELECT coalesce(alike.tenant_id, each.tenant_id) AS tenant_id, coalesce(alike.scheduled_for, at) AS scheduled_for,
            each.job_id, first - 1 + ordinality AS place
        FROM unnest(lease.tenant_ids[first:last], lease.scheduled_fors[first:last], lease.job_ids[first:last])
            WITH ORDINALITY AS each (tenant_id, at, job_id)
        OFFSET 0
    ) k
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id + 0
    WHERE e.worker_id = lease.worker_id AND e.status = 'running'
$$;
