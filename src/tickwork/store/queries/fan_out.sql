-- How to read these queries: README.md

-- snippet: is_ready
-- That a fan-out $1, $2, $3 still is as it was read, with the attempt $4.
    tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4
    AND status = 'pending' AND ready_at IS DISTINCT FROM 'infinity'

-- name: ready_fan_outs
-- Executions that run for each element of a list and have nothing to wait for, and those that are due within $2.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.lane_id, j.definition, j.payload,
    EXISTS (
        SELECT FROM tickwork.job x WHERE x.element_of = e.job_id AND x.element_at = e.scheduled_for OFFSET 0
    ) AS is_expanded,
    greatest(e.ready_at - tickwork.clock(), interval '0') AS due_in
FROM tickwork.lane l
CROSS JOIN generate_series(0, 3) AS priority
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, attempt, lane_id, ready_at FROM tickwork.execution
    WHERE lane_id = l.id AND execution.priority = priority.priority AND ready_at <= tickwork.clock() + $2::interval
    ORDER BY ready_at LIMIT $1
) e
JOIN tickwork.job j ON j.id = e.job_id
WHERE l.placement LIKE '%"fans_out":true%'
ORDER BY e.ready_at > tickwork.clock(), priority.priority, e.ready_at
LIMIT $1;

-- name: fan_outs_are_used
-- Whether there ever was a job that runs for each element of a list.
SELECT EXISTS (SELECT FROM tickwork.lane WHERE placement LIKE '%"fans_out":true%') AS are_used;

-- name: result_of_parent
-- What a parent returned, once or in a round.
SELECT e.result, tickwork.was_not_taken(e.status, e.reason) AS not_taken FROM tickwork.job p CROSS JOIN LATERAL (
    SELECT result, status, reason FROM tickwork.execution
    WHERE tenant_id = p.tenant_id AND scheduled_for = coalesce(p.scheduled_for, $3) AND job_id = p.id
    OFFSET 0
) e
WHERE p.tenant_id = $1 AND p.id = $2;

-- name: lock_job_of_fan_out
-- Locks the job before its execution, as ending an execution does for its children.
SELECT FROM tickwork.job WHERE id = $1 FOR NO KEY UPDATE;

-- name: lock_fan_out
-- Locks a fan-out that has not been expanded.
SELECT job_id FROM tickwork.execution
WHERE
-- include: is_ready
    AND NOT EXISTS (SELECT FROM tickwork.job x WHERE x.element_of = $3 AND x.element_at = $2 OFFSET 0)
FOR UPDATE;

-- name: number_elements
-- Says which element of which execution jobs are, in their order, and that somebody waits for them.
WITH element AS (
    -- The jobs of the elements.
    UPDATE tickwork.job j
    SET element_of = $3, element_at = $2, element_number = e.number - 1, followed = true
    FROM unnest($4::bigint[]) WITH ORDINALITY AS e (id, number)
    WHERE j.tenant_id = $1 AND j.id = e.id
    RETURNING j.tenant_id, j.scheduled_for, j.id
)
UPDATE tickwork.execution e SET followed = true FROM element
WHERE e.tenant_id = ANY(ARRAY[element.tenant_id]) AND e.scheduled_for = element.scheduled_for AND e.job_id = element.id;

-- name: await_elements
-- Makes a fan-out wait for the jobs of its elements.
WITH awaited AS (
    -- One row for each.
    INSERT INTO tickwork.awaited (child_id, child_at, parent_id, parent_at, tenant_id, unsure)
    SELECT $3, $2, j.id, j.scheduled_for, $1, false FROM tickwork.job j WHERE j.id = ANY($4::bigint[])
)
UPDATE tickwork.execution SET ready_at = 'infinity', reason = NULL
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';

-- name: complete_fan_out
-- Completes a fan-out with the results of its elements as a list, unless that has more than $5 bytes, and counts it: no
-- node has it in memory, and a recount passes over what no worker had. Nothing if it is not as it was read.
WITH completed AS (
    -- The fan-out. It started with its first element.
    UPDATE tickwork.execution
    SET status = 'completed', ready_at = NULL, finished_at = tickwork.clock(),
        started_at = coalesce(r.started_at, tickwork.clock()), result = CASE WHEN r.size <= $5 THEN r.results END,
        reason = CASE WHEN r.size > $5 THEN format('the results of its %s elements have %s bytes together, too many to '
                                                   'be kept as a list: read them one by one', r.count, r.size) END
    FROM (
        SELECT count(*), min(e.started_at) AS started_at,
            coalesce(sum(coalesce(length(e.result), 4) + 1), 0) + 1 AS size,
            convert_to('[' || coalesce(string_agg(coalesce(convert_from(e.result, 'UTF8'), 'null'), ','
                                                  ORDER BY x.element_number), '') || ']', 'UTF8') AS results
        FROM tickwork.job x CROSS JOIN LATERAL (
            SELECT started_at, result FROM tickwork.execution
            WHERE tenant_id = x.tenant_id AND scheduled_for = x.scheduled_for AND job_id = x.id
            OFFSET 0
        ) e
        WHERE x.element_of = $3 AND x.element_at = $2
    ) r
    WHERE
-- include: is_ready
    RETURNING tenant_id, lane_id, execution.started_at, finished_at,
        CASE WHEN attempt = 1 AND trigger <> 'backfill' THEN execution.started_at - scheduled_for END AS start_delay
), counted AS (
    -- What it adds to the minute in which it started, and to the one in which it finished.
    INSERT INTO tickwork.statistic
        (span, at, tenant_id, lane_id, source, started, completed, delay_buckets, delay_counts, run_buckets, run_counts)
    SELECT 'minute'::tickwork.statistic_span, date_trunc('minute', started_at), tenant_id, lane_id,
        'exception'::tickwork.statistic_source, 1, 0,
        CASE WHEN start_delay IS NOT NULL THEN ARRAY[tickwork.histogram_bucket(start_delay)] END,
        CASE WHEN start_delay IS NOT NULL THEN ARRAY[1] END, NULL::smallint[], NULL::int[]
    FROM completed WHERE started_at > tickwork.clock() - $6::interval
    UNION ALL
    SELECT 'minute', date_trunc('minute', finished_at), tenant_id, lane_id, 'exception', 0, 1, NULL, NULL,
        ARRAY[tickwork.histogram_bucket(finished_at - started_at)], ARRAY[1]
    FROM completed
)
SELECT FROM completed;

-- name: fail_fan_out
-- Fails a fan-out that cannot be expanded.
UPDATE tickwork.execution SET status = 'failed', ready_at = NULL, finished_at = tickwork.clock(), reason = $5
WHERE
-- include: is_ready
;

-- name: skip_fan_out
-- Skips a fan-out that has no list because the parent that returns it was not taken.
UPDATE tickwork.execution SET status = 'skipped', ready_at = NULL, finished_at = tickwork.clock(), reason = $5
WHERE
-- include: is_ready
;

-- name: put_off_fan_out
-- Makes a fan-out wait for a while, and says why.
UPDATE tickwork.execution SET ready_at = tickwork.clock() + $5::interval, reason = $6
WHERE
-- include: is_ready
;

-- name: cancel_elements
-- Cancels up to $1 elements of a fan-out that was cancelled, unless another node is at it. How many there were, if
-- there was such a fan-out. An element that only its fan-out waits for need not tell it.
WITH fan_out AS (
    -- The fan-out. The lock also keeps it from being retried meanwhile.
    SELECT * FROM tickwork.cancelled_fan_out ORDER BY tenant_id, scheduled_for, job_id LIMIT 1
    FOR UPDATE SKIP LOCKED
), unended AS (
    -- Its elements that have not ended.
    SELECT e.tenant_id, e.scheduled_for, e.job_id, f.job_id AS fan_out_id
    FROM fan_out f
    JOIN tickwork.job x ON x.element_of = f.job_id AND x.element_at = f.scheduled_for
    CROSS JOIN LATERAL (
        SELECT tenant_id, scheduled_for, job_id FROM tickwork.execution
        WHERE tenant_id = x.tenant_id AND scheduled_for = x.scheduled_for AND job_id = x.id AND finished_at IS NULL
        OFFSET 0
    ) e
    ORDER BY x.element_number LIMIT $1
), cancelled AS (
    -- The same, ended.
    UPDATE tickwork.execution e
    SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(),
        reason = tickwork.cancelled_with(u.fan_out_id),
        followed = EXISTS (
            SELECT FROM tickwork.awaited a
            WHERE a.parent_id = e.job_id AND a.parent_at = e.scheduled_for AND a.child_id <> u.fan_out_id)
    FROM unended u
    WHERE e.tenant_id = ANY(ARRAY[u.tenant_id]) AND e.scheduled_for = u.scheduled_for AND e.job_id = u.job_id
        AND e.finished_at IS NULL
    RETURNING e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.worker_id, e.reason
), revoked AS (
    -- Their workers are told to stop them.
    INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
    SELECT * FROM cancelled WHERE worker_id IS NOT NULL
    ON CONFLICT DO NOTHING
), done AS (
    -- The fan-out, if that was all.
    DELETE FROM tickwork.cancelled_fan_out c USING fan_out f
    WHERE c.tenant_id = f.tenant_id AND c.scheduled_for = f.scheduled_for AND c.job_id = f.job_id
        AND (SELECT count(*) FROM unended) < $1
)
SELECT (SELECT count(*) FROM cancelled) AS number FROM fan_out;
