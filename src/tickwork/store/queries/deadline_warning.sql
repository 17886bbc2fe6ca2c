-- How to read these queries: README.md

-- name: deadline_lanes
-- The lanes whose executions have a deadline.
SELECT id, placement FROM tickwork.lane WHERE placement LIKE '%"deadline":%';

-- name: unended_with_deadline
-- Executions of these lanes that are due and have not ended, waiting or running, up to a limit of each, with the
-- longest time that an attempt of theirs may take.
WITH waiting AS (
    -- Those that wait, for whatever.
    SELECT e.* FROM unnest($1::int[]) AS l (id)
    CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT tenant_id, scheduled_for, job_id, lane_id, NULL::timestamptz AS started_at FROM tickwork.execution
        WHERE lane_id = l.id AND priority = level.priority AND ready_at IS NOT NULL
            AND (ready_at <= tickwork.clock() OR ready_at = 'infinity') AND scheduled_for <= tickwork.clock()
        ORDER BY ready_at
        LIMIT $2
    ) e
    LIMIT $2
), running AS (
    -- Those that a worker has, apart from what it was given just now.
    SELECT r.tenant_id, r.scheduled_for, r.job_id, r.lane_id, coalesce(r.started_at, s.leased_at) AS started_at
    FROM tickwork.lease s CROSS JOIN LATERAL tickwork.running_of_lease(s) AS r
    WHERE s.leased_at < tickwork.clock() - $3::interval AND r.lane_id = ANY($1::int[])
    LIMIT $2
)
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.lane_id, e.started_at, j.timeout, tickwork.clock() AS now
FROM (SELECT * FROM waiting UNION ALL SELECT * FROM running) e
CROSS JOIN LATERAL (SELECT timeout FROM tickwork.job WHERE id = e.job_id OFFSET 0) j;

-- name: usual_run_times
-- How long the latest executions of these jobs that completed took: their median, in seconds.
SELECT k.job_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY date_part('epoch', e.finished_at - e.started_at)) AS usual
FROM unnest($1::int[], $2::bigint[]) AS k (tenant_id, job_id)
CROSS JOIN LATERAL tickwork.due_times_of_job(
    k.tenant_id, k.job_id, tickwork.clock() - interval '30 days', tickwork.clock(), 20) AS t (at)
CROSS JOIN LATERAL (
    SELECT started_at, finished_at FROM tickwork.execution
    WHERE tenant_id = k.tenant_id AND scheduled_for = t.at AND job_id = k.job_id AND status = 'completed'
    OFFSET 0
) e
GROUP BY k.job_id;

-- name: lock_unended
-- Of these executions, those that have not ended: the locks keep them from it until their events are committed. What is
-- locked already is told of later.
SELECT e.tenant_id, e.scheduled_for, e.job_id
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS o (tenant_id, scheduled_for, job_id)
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id FROM tickwork.execution
    WHERE tenant_id = ANY(ARRAY[o.tenant_id]) AND scheduled_for = o.scheduled_for AND job_id = o.job_id
        AND status IN ('pending', 'running')
    FOR NO KEY UPDATE SKIP LOCKED
) e;

-- name: write_endangered
-- Writes that these executions, which are locked, are going to miss their deadlines, unless that was written before.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
SELECT o.tenant_id, $1, o.job_id, o.scheduled_for, o.lane_id, o.detail
FROM unnest($2::int[], $3::timestamptz[], $4::bigint[], $5::int[], $6::text[])
    AS o (tenant_id, scheduled_for, job_id, lane_id, detail)
WHERE NOT EXISTS (SELECT FROM tickwork.event v WHERE v.tenant_id = o.tenant_id AND v.kind = $1
                  AND v.scheduled_for = o.scheduled_for AND v.job_id = o.job_id OFFSET 0)
    AND (o.scheduled_for, o.job_id) NOT IN (
        SELECT v.scheduled_for, v.job_id FROM tickwork.new_event v WHERE v.kind = $1 AND v.scheduled_for IS NOT NULL);
