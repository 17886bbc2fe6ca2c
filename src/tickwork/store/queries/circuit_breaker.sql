-- How to read these queries: README.md

-- snippet: columns
-- Everything that decides about a circuit breaker, with the time now.
    tenant_id, destination, state, since, failures_in_a_row, window_at, calls, failures, reason, last_error,
    failed_probes, probe, probe_at, pace, look_at, touched_at, tickwork.clock() AS now

-- name: breakers
-- All circuit breakers: those of destinations that failed recently, so a few rows, or none.
SELECT
-- include: columns
FROM tickwork.breaker;

-- name: make_breakers
-- Begins to count the calls of destinations that have just failed.
INSERT INTO tickwork.breaker (tenant_id, destination, state, since, window_at, pace, look_at, touched_at)
SELECT tenant_id, destination, 'closed', tickwork.clock(), tickwork.clock(), $3, tickwork.clock(), tickwork.clock()
FROM unnest($1::int[], $2::text[]) AS k (tenant_id, destination)
ORDER BY tenant_id, destination
ON CONFLICT DO NOTHING;

-- name: lock_breakers
-- Locks circuit breakers to decide about them.
SELECT
-- include: columns
FROM tickwork.breaker
WHERE (tenant_id, destination) IN (SELECT * FROM unnest($1::int[], $2::text[]))
ORDER BY tenant_id, destination
FOR UPDATE;

-- name: take_due_breakers
-- Locks circuit breakers whose state may have to change now.
SELECT
-- include: columns
FROM tickwork.breaker
WHERE look_at <= tickwork.clock()
ORDER BY look_at LIMIT $1
FOR UPDATE SKIP LOCKED;

-- name: write_breaker
-- Writes the new state of a locked circuit breaker.
UPDATE tickwork.breaker
SET state = $3, since = $4, failures_in_a_row = $5, window_at = $6, calls = $7, failures = $8, reason = $9,
    last_error = $10, failed_probes = $11, probe = $12, probe_at = $13, pace = $14, look_at = $15, touched_at = $16
WHERE tenant_id = $1 AND destination = $2;

-- name: forget_breaker
-- Deletes a locked circuit breaker that is no longer needed.
DELETE FROM tickwork.breaker WHERE tenant_id = $1 AND destination = $2;

-- name: touch_breakers
-- Locks the circuit breakers that are about to hold executions, so that they are not deleted and look at these in time.
-- One that was deleted just now is created again, closed: it releases them at once.
INSERT INTO tickwork.breaker AS b (tenant_id, destination, state, since, window_at, pace, look_at, touched_at)
SELECT DISTINCT tenant_id, destination, 'closed', tickwork.clock(), tickwork.clock(), $3::int, tickwork.clock(),
    tickwork.clock()
FROM unnest($1::int[], $2::text[]) AS k (tenant_id, destination)
ORDER BY tenant_id, destination
ON CONFLICT (tenant_id, destination) DO UPDATE
SET touched_at = excluded.touched_at,
    look_at = least(b.look_at, greatest(b.probe_at, tickwork.clock() + interval '1 second'));

-- name: hold_executions
-- Records which executions wait for which circuit breaker.
INSERT INTO tickwork.held_by_breaker (tenant_id, destination, priority, scheduled_for, job_id)
SELECT e.tenant_id, k.destination, e.priority, e.scheduled_for, e.job_id
FROM unnest($1::int[], $2::text[], $3::timestamptz[], $4::bigint[]) AS k (tenant_id, destination, scheduled_for, job_id)
JOIN tickwork.execution e
    ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id
ON CONFLICT DO NOTHING;

-- name: forget_released
-- Forgets executions that no longer wait for this circuit breaker: they ended, were edited, or their job is paused.
DELETE FROM tickwork.held_by_breaker h
WHERE h.tenant_id = $1 AND h.destination = $2 AND NOT EXISTS (
    SELECT FROM tickwork.execution e JOIN tickwork.job j ON j.id = e.job_id
    WHERE e.tenant_id = ANY(ARRAY[h.tenant_id]) AND e.scheduled_for = h.scheduled_for AND e.job_id = h.job_id
        AND e.ready_at IS NOT DISTINCT FROM 'infinity' AND j.status <> 'paused'
    OFFSET 0);

-- name: release_held
-- Lets some held executions go on, by priority and then by due time. Those that another transaction is changing are
-- left for the next time.
WITH free AS (
    -- The first held executions that no other transaction has locked, with their jobs locked.
    SELECT h.tenant_id, h.destination, h.priority, h.scheduled_for, h.job_id
    FROM tickwork.held_by_breaker h
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.job j WHERE j.id = h.job_id AND j.status <> 'paused' FOR SHARE SKIP LOCKED
    ) active
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = ANY(ARRAY[h.tenant_id]) AND e.scheduled_for = h.scheduled_for AND e.job_id = h.job_id
            AND e.ready_at IS NOT DISTINCT FROM 'infinity'
        FOR UPDATE SKIP LOCKED
    ) waiting
    WHERE h.tenant_id = $1 AND h.destination = $2
    ORDER BY h.priority, h.scheduled_for, h.job_id
    LIMIT $3
), in_order AS (
    -- The same, numbered: each becomes ready one microsecond after the one before.
    SELECT *, row_number() OVER (ORDER BY priority, scheduled_for, job_id) AS number FROM free
), dropped AS (
    -- Their records of being held, deleted.
    DELETE FROM tickwork.held_by_breaker h USING free f
    WHERE h.tenant_id = f.tenant_id AND h.destination = f.destination AND h.priority = f.priority
        AND h.scheduled_for = f.scheduled_for AND h.job_id = f.job_id
)
UPDATE tickwork.execution e
SET ready_at = tickwork.clock() + o.number * interval '1 microsecond', reason = NULL
FROM in_order o
WHERE e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id;

-- name: is_holding
-- Whether any execution waits for this circuit breaker.
SELECT EXISTS (SELECT FROM tickwork.held_by_breaker WHERE tenant_id = $1 AND destination = $2) AS holding;

-- name: breakers_of_tenant
-- A tenant's circuit breakers with the number of executions that each holds, those that are not closed first.
SELECT b.destination, b.since, b.reason, b.failures_in_a_row, b.calls, b.failures, b.last_error,
    CASE WHEN b.state = 'open' AND b.probe_at <= tickwork.clock() THEN 'half_open' ELSE b.state END AS state,
    CASE WHEN b.state = 'open' THEN b.probe_at END AS next_probe_at,
    (SELECT count(*)
     FROM tickwork.held_by_breaker h
     JOIN tickwork.execution e
         ON e.tenant_id = ANY(ARRAY[h.tenant_id]) AND e.scheduled_for = h.scheduled_for AND e.job_id = h.job_id
     WHERE h.tenant_id = b.tenant_id AND h.destination = b.destination
         AND e.ready_at IS NOT DISTINCT FROM 'infinity') AS waiting
FROM tickwork.breaker b
WHERE b.tenant_id = $1 AND ($2::text IS NULL OR b.destination = $2)
ORDER BY b.state = 'closed', b.since DESC, b.destination
LIMIT 500;
