-- How to read these queries: README.md

-- name: callback_secret
-- What signs the tokens of callbacks.
SELECT secret FROM tickwork.callback_secret;

-- name: give_to_targets
-- Takes executions away from the workers that called their targets: from now on the targets have them, each under a
-- lease of its own, with the slots that it had. The executions are locked. The number of each lease is taken first, so
-- that nothing has to be joined with the new leases.
WITH accepted AS MATERIALIZED (
    -- The executions, with the worker that had each and the number of its new lease.
    SELECT *, nextval('tickwork.lease_id_seq') AS lease_id
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::timestamptz[], $7::interval[],
                $8::interval[], $9::text[], $10::bytea[], $11::interval[])
        AS a (tenant_id, scheduled_for, job_id, worker_id, attempt, started_at, timeout, heartbeat, status_url, target,
              first_poll)
), held AS (
    -- The limiters under which they have a slot, by the arrays of the leases that they were in.
    SELECT DISTINCT part.limiter_id, a.lease_id
    FROM (
        SELECT s.limiter_id, each.job_id,
            coalesce(CASE cardinality(l.scheduled_fors) WHEN 1 THEN l.scheduled_fors[1] END, each.at) AS scheduled_for
        FROM tickwork.slot s
        JOIN tickwork.lease l ON l.id = s.lease_id
        CROSS JOIN LATERAL unnest(l.job_ids[s.first:s.last], l.scheduled_fors[s.first:s.last]) AS each (job_id, at)
        WHERE l.worker_id = ANY(ARRAY(SELECT DISTINCT worker_id FROM accepted))
        OFFSET 0
    ) part
    JOIN accepted a ON a.scheduled_for = part.scheduled_for AND a.job_id = part.job_id
), past AS (
    -- Leases of earlier attempts at the same executions that were taken away a moment ago, deleted.
    DELETE FROM tickwork.lease WHERE id = ANY(ARRAY(
        SELECT w.lease_id FROM accepted a
        JOIN tickwork.callback_wait w
            ON w.tenant_id = a.tenant_id AND w.scheduled_for = a.scheduled_for AND w.job_id = a.job_id))
), given AS (
    -- The same executions, with their targets.
    UPDATE tickwork.execution e SET worker_id = 0, started_at = a.started_at
    FROM accepted a
    WHERE e.tenant_id = ANY(ARRAY[a.tenant_id]) AND e.scheduled_for = a.scheduled_for AND e.job_id = a.job_id
        AND e.worker_id = a.worker_id AND e.attempt = a.attempt AND e.status = 'running'
    RETURNING a.*
), leased AS (
    -- A lease for each.
    INSERT INTO tickwork.lease (id, worker_id, tenant_ids, scheduled_fors, job_ids) OVERRIDING SYSTEM VALUE
    SELECT lease_id, 0, ARRAY[tenant_id], ARRAY[scheduled_for], ARRAY[job_id] FROM given
), counted AS (
    -- Their slots under the new leases.
    INSERT INTO tickwork.slot (limiter_id, lease_id, first, last) SELECT limiter_id, lease_id, 1, 1 FROM held
)
INSERT INTO tickwork.callback_wait
    (tenant_id, scheduled_for, job_id, attempt, lease_id, timeout_at, heartbeat, deadline, status_url, target, poll_at)
SELECT tenant_id, scheduled_for, job_id, attempt, lease_id, started_at + timeout, heartbeat,
    least(started_at + timeout, tickwork.clock() + heartbeat), status_url, target, tickwork.clock() + first_poll
FROM given
ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
SET attempt = excluded.attempt, lease_id = excluded.lease_id, timeout_at = excluded.timeout_at,
    heartbeat = excluded.heartbeat, deadline = excluded.deadline, status_url = excluded.status_url,
    target = excluded.target, poll_at = excluded.poll_at;

-- name: state_of_called_back
-- The state of an attempt that a target reports on. Its token says that the target was called for it.
SELECT j.tenant_id, e.status::text AS status, e.attempt, e.worker_id, e.started_at, e.reason, e.lane_id,
    a.outcome::text AS outcome,
    ARRAY(SELECT w.lease_id FROM tickwork.callback_wait w
          WHERE w.tenant_id = j.tenant_id AND w.scheduled_for = $2 AND w.job_id = $1 AND w.attempt = $3) AS leases
FROM tickwork.job j
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.execution WHERE tenant_id = j.tenant_id AND scheduled_for = $2 AND job_id = $1 OFFSET 0
) e
LEFT JOIN LATERAL (
    SELECT outcome FROM tickwork.attempt
    WHERE tenant_id = j.tenant_id AND scheduled_for = $2 AND job_id = $1 AND attempt = $3
    OFFSET 0
) a ON true
WHERE j.id = $1;

-- name: extend_wait
-- Gives a target more time because it has reported, unless its time was over.
UPDATE tickwork.callback_wait SET deadline = least(timeout_at, tickwork.clock() + heartbeat)
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4
    AND heartbeat IS NOT NULL AND deadline > tickwork.clock()
RETURNING deadline;

-- name: deadline_of_wait
-- Until when a target has time, and whether that is over.
SELECT deadline, deadline <= tickwork.clock() AS is_over FROM tickwork.callback_wait
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4;

-- name: overdue_waits
-- Attempts whose targets had no more time, the longest overdue first, $1 at most. `is_current`: it still has it.
SELECT w.tenant_id, w.scheduled_for, w.job_id, w.attempt, w.lease_id, w.heartbeat,
    w.deadline >= w.timeout_at AS timed_out, e.started_at, e.lane_id,
    coalesce(e.status = 'running' AND e.worker_id = 0 AND e.attempt = w.attempt, false) AS is_current
FROM (
    SELECT * FROM tickwork.callback_wait WHERE deadline <= tickwork.clock() ORDER BY deadline LIMIT $1
) w
LEFT JOIN LATERAL (
    SELECT * FROM tickwork.execution
    WHERE tenant_id = w.tenant_id AND scheduled_for = w.scheduled_for AND job_id = w.job_id
    OFFSET 0
) e ON true;

-- name: end_revoked_waits
-- Ends the waits for executions that were cancelled or replaced.
WITH revoked AS (
    -- What targets were to stop, deleted: a target learns it from the answer to its next report.
    DELETE FROM tickwork.revocation WHERE worker_id = 0 RETURNING tenant_id, scheduled_for, job_id, attempt
)
DELETE FROM tickwork.lease WHERE id = ANY(ARRAY(
    SELECT w.lease_id FROM revoked r
    JOIN tickwork.callback_wait w ON w.tenant_id = r.tenant_id AND w.scheduled_for = r.scheduled_for
        AND w.job_id = r.job_id AND w.attempt = r.attempt));

-- name: take_due_polls
-- Takes attempts whose status URLs are to be asked now, $1 at most. If this node dies, another one asks after $2.
WITH due AS (
    -- Those that are due, longest first.
    SELECT tenant_id, scheduled_for, job_id FROM tickwork.callback_wait
    WHERE poll_at <= tickwork.clock() AND deadline > tickwork.clock()
    ORDER BY poll_at LIMIT $1
    FOR UPDATE SKIP LOCKED
), taken AS (
    -- The same, taken.
    UPDATE tickwork.callback_wait w SET poll_at = tickwork.clock() + $2::interval
    FROM due
    WHERE w.tenant_id = due.tenant_id AND w.scheduled_for = due.scheduled_for AND w.job_id = due.job_id
    RETURNING w.tenant_id, w.scheduled_for, w.job_id, w.attempt, w.lease_id, w.status_url, w.target
)
SELECT taken.*, e.started_at, e.lane_id FROM taken
CROSS JOIN LATERAL (
    SELECT started_at, lane_id FROM tickwork.execution
    WHERE tenant_id = taken.tenant_id AND scheduled_for = taken.scheduled_for AND job_id = taken.job_id
    OFFSET 0
) e;

-- name: set_next_poll
-- When the status URL of an attempt is asked next.
UPDATE tickwork.callback_wait SET poll_at = tickwork.clock() + $2::interval
WHERE lease_id = $1 AND status_url IS NOT NULL;

-- name: find_wait
-- Until when the target of an execution has time to report.
SELECT timeout_at, heartbeat, deadline FROM tickwork.callback_wait
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3;
