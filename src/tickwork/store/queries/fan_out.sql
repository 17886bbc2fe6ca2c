-- How to read these queries: README.md

-- snippet: is_ready
-- That a fan-out $1, $2, $3 still is as it was read, with the attempt $4.
    tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4
    AND status = 'pending' AND ready_at IS DISTINCT FROM 'infinity'

-- name: ready_fan_outs
-- Executions that run for each element of a list and have nothing to wait for.
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, j.definition, j.payload,
    EXISTS (
        SELECT FROM tickwork.job x WHERE x.element_of = e.job_id AND x.element_at = e.scheduled_for OFFSET 0
    ) AS is_expanded
FROM tickwork.lane l
CROSS JOIN generate_series(0, 3) AS priority
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, attempt, ready_at FROM tickwork.execution
    WHERE lane_id = l.id AND execution.priority = priority.priority AND ready_at <= tickwork.clock()
    ORDER BY ready_at LIMIT $1
) e
JOIN tickwork.job j ON j.id = e.job_id
WHERE l.placement LIKE '%"fans_out":true%'
ORDER BY priority.priority, e.ready_at
LIMIT $1;

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
UPDATE tickwork.execution SET ready_at = 'infinity'
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending';

-- name: complete_fan_out
-- Completes a fan-out with the results of its elements as a list, unless that has more than $5 bytes.
UPDATE tickwork.execution
SET status = 'completed', ready_at = NULL, finished_at = tickwork.clock(),
    started_at = coalesce(r.started_at, tickwork.clock()), result = CASE WHEN r.size <= $5 THEN r.results END,
    reason = CASE WHEN r.size > $5 THEN format('the results of its %s elements have %s bytes together, too many to '
                                               'be kept as a list: read them one by one', r.count, r.size) END
FROM (
    SELECT count(*), min(e.started_at) AS started_at, coalesce(sum(coalesce(length(e.result), 4) + 1), 0) + 1 AS size,
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
;

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
-- Makes a fan-out wait for a while.
UPDATE tickwork.execution SET ready_at = tickwork.clock() + $5::interval
WHERE
-- include: is_ready
;
