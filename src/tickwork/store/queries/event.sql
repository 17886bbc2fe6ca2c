-- How to read these queries: README.md

-- name: write_events
-- Writes events, to be numbered once their transaction has committed.
INSERT INTO tickwork.new_event
    (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, error_type, fingerprint, detail)
SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::timestamptz[], $5::int[], $6::int[], $7::text[],
                     $8::bigint[], $9::text[]);

-- name: write_attempt_events
-- Writes what became of attempts that did not complete, in the lanes that their executions have now.
INSERT INTO tickwork.new_event
    (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, error_type, fingerprint, detail)
SELECT e.tenant_id, o.kind, e.job_id, e.scheduled_for, e.lane_id, greatest(o.attempt, 1), o.error_type, o.fingerprint,
    json_strip_nulls(json_build_object(
        'reason', e.reason, 'message', o.message,
        'next_attempt_at', CASE WHEN isfinite(e.ready_at) THEN e.ready_at END))::text
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::bigint[], $8::text[])
    AS o (tenant_id, scheduled_for, job_id, attempt, kind, error_type, fingerprint, message)
JOIN tickwork.execution e
    ON e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id;

-- name: mark_failing
-- Notes that the last execution of each of these recurring jobs failed for good. Of a one-time job, the execution says
-- so.
INSERT INTO tickwork.failing_job AS f (job_id, tenant_id, failures_in_a_row, failing_since, last_failed_at)
SELECT job_id, tenant_id, count(*), tickwork.clock(), tickwork.clock()
FROM unnest($1::int[], $2::bigint[]) AS failed (tenant_id, job_id)
WHERE EXISTS (SELECT FROM tickwork.job j WHERE j.id = failed.job_id AND j.rule_id IS NOT NULL OFFSET 0)
GROUP BY job_id, tenant_id ORDER BY job_id
ON CONFLICT (job_id) DO UPDATE
SET failures_in_a_row = f.failures_in_a_row + excluded.failures_in_a_row, last_failed_at = excluded.last_failed_at;

-- name: mark_recovered
-- Notes that jobs are failing no more, if these executions of theirs have completed.
WITH done AS (
    -- One completed execution of each of the jobs.
    SELECT DISTINCT ON (e.job_id) e.tenant_id, e.job_id, e.scheduled_for, e.lane_id, e.attempt
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS k (tenant_id, scheduled_for, job_id)
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id
        AND e.status = 'completed'
    ORDER BY e.job_id, e.scheduled_for DESC
), recovered AS (
    -- The jobs that were failing.
    DELETE FROM tickwork.failing_job f USING done WHERE f.job_id = done.job_id
    RETURNING f.job_id, f.failures_in_a_row, f.failing_since
)
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
SELECT done.tenant_id, 'execution.recovered', done.job_id, done.scheduled_for, done.lane_id, done.attempt,
    json_build_object('failures', r.failures_in_a_row, 'failing_since', r.failing_since)::text
FROM done JOIN recovered r ON r.job_id = done.job_id;

-- name: failing_jobs
-- The jobs that are failing, as one array: every node reads it every second, and decoding rows would keep it busy.
SELECT ARRAY(SELECT job_id FROM tickwork.failing_job LIMIT $1) AS jobs;

-- name: completed_since_failure
-- Of these failing jobs, the executions of their latest rounds and manual runs that completed after the failure.
SELECT e.tenant_id, e.scheduled_for, e.job_id
FROM unnest($1::bigint[]) AS wanted (job_id)
JOIN tickwork.failing_job f ON f.job_id = wanted.job_id
JOIN tickwork.job j ON j.id = f.job_id
CROSS JOIN LATERAL (
    (SELECT scheduled_for AS at FROM tickwork.round
     WHERE rule_id = j.rule_id ORDER BY scheduled_for DESC LIMIT 3)
    UNION ALL
    (SELECT scheduled_for FROM tickwork.off_schedule_execution
     WHERE job_id = j.id ORDER BY scheduled_for DESC LIMIT 3)
) due
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id FROM tickwork.execution
    WHERE tenant_id = f.tenant_id AND scheduled_for = due.at AND job_id = f.job_id
        AND status = 'completed' AND finished_at > f.last_failed_at
    OFFSET 0
) e;

-- name: is_any_new_event
-- Whether events wait for their numbers. Without this look, every node would write a lock several times a second.
SELECT EXISTS (SELECT FROM tickwork.new_event) AS is_any;

-- name: lock_last_event
-- Locks the last number, unless another node is numbering.
SELECT number FROM tickwork.last_event FOR UPDATE SKIP LOCKED;

-- name: number_events
-- Moves events that were committed into the stream, numbered from the given number on.
WITH taken AS (
    -- The oldest of the new events.
    DELETE FROM tickwork.new_event WHERE id = ANY(ARRAY(SELECT id FROM tickwork.new_event ORDER BY id LIMIT $2))
    RETURNING *
)
INSERT INTO tickwork.event
    (number, tenant_id, at, kind, job_id, scheduled_for, lane_id, attempt, error_type, fingerprint, detail)
SELECT $1 + row_number() OVER (ORDER BY id), tenant_id, at, kind, job_id, scheduled_for, lane_id, attempt, error_type,
    fingerprint, detail
FROM taken;

-- name: kinds_of_events
-- How many events of each kind there are from one number to another.
SELECT kind, count(*) AS number FROM tickwork.event WHERE number > $1 AND number <= $2 GROUP BY kind;

-- name: set_last_event
-- Notes the number that was given last.
UPDATE tickwork.last_event SET number = $1;

-- name: last_event
-- The number that was given last.
SELECT number FROM tickwork.last_event;

-- snippet: shown
-- What users see of events: each with the job, queue and task that it is about. Follows SELECT.
    e.number, e.tenant_id, e.at, e.kind, e.job_id, e.scheduled_for, e.attempt, e.error_type, e.fingerprint, e.detail,
    l.queue, l.task, j.name, j.key, j.tags
FROM tickwork.event e
LEFT JOIN LATERAL (SELECT name, key, tags, lane_id FROM tickwork.job WHERE id = e.job_id OFFSET 0) j ON true
LEFT JOIN tickwork.lane l ON l.id = coalesce(e.lane_id, j.lane_id)

-- name: events_after
-- The events of all tenants after a number, in order.
SELECT
-- include: shown
WHERE e.number > $1
ORDER BY e.number LIMIT $2;

-- name: events_of_tenant_after
-- The events of one tenant after a number and up to another, in order.
SELECT
-- include: shown
WHERE e.tenant_id = $1 AND e.number > $2 AND e.number <= $3
ORDER BY e.number LIMIT $4;

-- name: events_of_tenant_before
-- The events of one tenant before a number, latest first.
SELECT
-- include: shown
WHERE e.tenant_id = $1 AND e.number < $2
ORDER BY e.number DESC LIMIT $3;

-- name: delete_old_events
-- Deletes some events that are older than the history.
DELETE FROM tickwork.event WHERE number = ANY(ARRAY(
    SELECT number FROM (SELECT number, at FROM tickwork.event ORDER BY number LIMIT $2) oldest
    WHERE at < tickwork.clock() - $1::interval));

-- name: want_pulse
-- Asks all nodes for the pulse of some tenants for a while.
INSERT INTO tickwork.pulse_wanted AS w (tenant_id, until)
SELECT tenant_id, tickwork.clock() + $2::interval FROM unnest($1::int[]) AS tenant_id ORDER BY tenant_id
ON CONFLICT (tenant_id) DO UPDATE SET until = excluded.until;

-- name: wanted_pulse
-- The tenants whose pulse somebody follows.
SELECT tenant_id FROM tickwork.pulse_wanted WHERE until > tickwork.clock();

-- name: write_pulse
-- Passes the pulse of a tenant on to the nodes on which it is followed, and forgets what they have read by now.
WITH forgotten AS (
    -- What was written a while ago.
    DELETE FROM tickwork.pulse WHERE at < tickwork.clock() - interval '10 seconds'
)
INSERT INTO tickwork.pulse (tenant_id, events) VALUES ($1, $2);

-- name: last_pulse
-- The place up to which the pulse was written.
SELECT coalesce(max(id), 0) AS id FROM tickwork.pulse;

-- name: pulse_after
-- The pulse of some tenants after a place.
SELECT id, tenant_id, events FROM tickwork.pulse WHERE id > $1 AND tenant_id = ANY($2::int[]) ORDER BY id LIMIT 100;

-- name: jobs_of_pulse
-- What the pulse says about jobs.
SELECT j.id, j.name, j.key, j.tags, l.task, l.queue
FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
WHERE j.id = ANY($1::bigint[]);

-- name: write_missed
-- Writes that due times of rules were missed: for each job of a rule up to a number, and once for all others together.
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
SELECT r.tenant_id, 'execution.missed', j.id, j.lane_id,
    json_strip_nulls(json_build_object(
        'missed', m.missed, 'from', m.scheduled_for, 'until', m.missed_until, 'reason', m.reason,
        'jobs', j.jobs))::text
FROM unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::timestamptz[], $5::text[])
    AS m (rule_id, scheduled_for, missed, missed_until, reason)
JOIN tickwork.rule r ON r.id = m.rule_id
CROSS JOIN LATERAL (
    (SELECT id, lane_id, NULL::bigint AS jobs FROM tickwork.job
     WHERE rule_id = m.rule_id AND status = 'active' AND active_from <= m.missed_until
     ORDER BY priority, id LIMIT $6)
    UNION ALL
    -- The jobs that are not named, counted in each lane.
    SELECT NULL, lane_id, count(*) FROM (
        SELECT lane_id FROM tickwork.job
        WHERE rule_id = m.rule_id AND status = 'active' AND active_from <= m.missed_until
        ORDER BY priority, id OFFSET $6
    ) others GROUP BY lane_id
) j;
