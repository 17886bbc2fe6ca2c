-- What a lease stands for, unfolded in one place; times as workers are told them; what is shown, looked up by key.

-- Microseconds since 1970: cheaper to read than dates. Exact for the next two centuries.
CREATE FUNCTION tickwork.micros(at timestamptz) RETURNS bigint LANGUAGE sql STABLE
AS $$ SELECT (date_part('epoch', at) * 1e6::float8)::bigint $$;

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

-- The due times at which executions of a job wait. Those of a job that was always due once are known: a million others
-- may wait in its lane. Of one that repeats, or did, the lane tells. + 0: by the lane, not by walking all that a tenant
-- ever ran.
CREATE FUNCTION tickwork.waiting_times(tenant integer, job bigint, lane integer) RETURNS SETOF timestamptz
LANGUAGE sql STABLE AS $$
    WITH asked AS MATERIALIZED (
        SELECT j.scheduled_for,
            j.rule_id IS NOT NULL OR EXISTS (SELECT FROM tickwork.job_past p WHERE p.job_id = j.id OFFSET 0) AS repeats
        FROM tickwork.job j WHERE j.id = job
    )
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT scheduled_for FROM tickwork.execution
        WHERE asked.repeats AND (tenant_id + 0, job_id + 0) = (tenant, job) AND lane_id = lane AND ready_at IS NOT NULL
        OFFSET 0
    ) e
    UNION ALL
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT asked.scheduled_for UNION SELECT x.scheduled_for FROM tickwork.extra x WHERE x.job_id = job
    ) due CROSS JOIN LATERAL (
        SELECT scheduled_for, ready_at FROM tickwork.execution
        WHERE NOT asked.repeats AND tenant_id = tenant AND scheduled_for = due.scheduled_for AND job_id = job
        OFFSET 0
    ) e
    WHERE e.ready_at IS NOT NULL
$$;

-- What is shown of a job and of an execution is looked up by key. OFFSET 0: also on a day of which nobody has counted
-- anything yet, when walking all of it seems to cost as little.

CREATE OR REPLACE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.status IN ('completed', 'failed', 'cancelled') THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND j.rule_id IS NULL AND e.status IS NULL AND NOT j.held THEN 'completed'  -- long ago
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR (j.rule_id IS NULL AND e.status IS NULL AND NOT j.held) THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT status, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE j.rule_id IS NULL AND tenant_id = j.tenant_id AND scheduled_for = j.scheduled_for AND job_id = j.id
    OFFSET 0
) e ON true;

CREATE OR REPLACE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         WHEN e.ready_at = 'infinity' THEN CASE
             WHEN j.depends AND EXISTS (
                 SELECT FROM tickwork.awaited a WHERE a.child_id = e.job_id AND a.child_at = e.scheduled_for OFFSET 0)
                 THEN 'dependency'
             WHEN j.status = 'paused' THEN 'paused' ELSE 'limit' END
         WHEN e.ready_at > tickwork.clock() AND e.attempt > 1 THEN 'retry'
         WHEN e.ready_at > tickwork.clock() OR e.scheduled_for > tickwork.clock() THEN 'due'
         WHEN e.ready_at IS NOT NULL THEN 'worker' END AS waiting_for,
    CASE WHEN isfinite(e.ready_at) THEN e.ready_at ELSE e.scheduled_for END AS due_at,
    e.progress, e.failures, e.losses
FROM tickwork.execution e
JOIN tickwork.lane l ON l.id = e.lane_id
JOIN tickwork.job j ON j.id = e.job_id
LEFT JOIN LATERAL (
    SELECT a.error FROM tickwork.attempt a
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
        AND a.outcome = 'failed'
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
