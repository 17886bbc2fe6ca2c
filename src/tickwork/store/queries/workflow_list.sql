-- How to read these queries: README.md

-- name: parents_before
-- The jobs that others depend on, newest first, from a place on and up to a limit, and whether each is one of the
-- tenant's that depends on no other.
WITH RECURSIVE parent AS (
    -- One step for each such job, whatever the number of its children.
    (
        SELECT parent_id, tenant_id, 1 AS place FROM tickwork.dependency
        WHERE parent_id < $2 ORDER BY parent_id DESC LIMIT 1
    )
    UNION ALL
    SELECT d.parent_id, d.tenant_id, p.place + 1 FROM parent p CROSS JOIN LATERAL (
        SELECT d.parent_id, d.tenant_id FROM tickwork.dependency d
        WHERE d.parent_id < p.parent_id ORDER BY d.parent_id DESC LIMIT 1
    ) d
    WHERE p.place < $3
)
SELECT parent_id AS id,
    tenant_id = $1 AND NOT EXISTS (SELECT FROM tickwork.dependency d WHERE d.child_id = parent_id) AS is_first
FROM parent ORDER BY parent_id DESC;

-- name: workflows
-- Of the given jobs those that are the oldest of their workflow, with how many jobs it has and how its latest round
-- stands.
SELECT f.id, j.name, j.key, j.task, s.*
FROM unnest($2::bigint[]) AS f (id)
CROSS JOIN LATERAL (SELECT name, key, task FROM tickwork.job WHERE tenant_id = $1 AND id = f.id OFFSET 0) j
CROSS JOIN LATERAL (
    WITH RECURSIVE kin AS (
        -- The job and all that it is connected to, found step by step.
        SELECT f.id AS id
        UNION
        SELECT near.id FROM kin k CROSS JOIN LATERAL (
            SELECT child_id AS id FROM tickwork.dependency WHERE parent_id = k.id
            UNION ALL
            SELECT parent_id FROM tickwork.dependency WHERE child_id = k.id
        ) near
    )
    SELECT array_agg(id) AS ids, min(id) AS oldest FROM (SELECT id FROM kin LIMIT $3) found
) w
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, max(v.scheduled_for) AS scheduled_for, min(v.started_at) AS started_at,
        CASE WHEN bool_and(v.finished_at IS NOT NULL) FILTER (WHERE v.status IS NOT NULL) THEN max(v.finished_at) END
            AS finished_at,
        count(*) FILTER (WHERE v.status = 'pending') AS pending,
        count(*) FILTER (WHERE v.status = 'running') AS running,
        count(*) FILTER (WHERE v.status = 'completed') AS completed,
        count(*) FILTER (WHERE v.status = 'failed') AS failed,
        count(*) FILTER (WHERE v.status = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE v.status = 'skipped') AS skipped,
        count(*) FILTER (WHERE v.status IS NULL) AS "none"
    FROM unnest(w.ids) AS kin (id)
    CROSS JOIN LATERAL (SELECT * FROM tickwork.job k WHERE k.tenant_id = $1 AND k.id = kin.id OFFSET 0) k
    LEFT JOIN tickwork.rule r ON r.id = k.rule_id
    LEFT JOIN LATERAL (
        SELECT v.scheduled_for, v.status, v.started_at, v.finished_at FROM tickwork.execution_view v
        WHERE v.tenant_id = k.tenant_id AND v.scheduled_for = coalesce(k.scheduled_for, r.last_at) AND v.job_id = k.id
        OFFSET 0
    ) v ON true
) s
WHERE w.oldest = f.id
ORDER BY f.id DESC;
