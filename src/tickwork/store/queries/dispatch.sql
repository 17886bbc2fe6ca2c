-- How to read these queries: README.md

-- name: waiting_lanes
-- The lanes and priorities in which an execution is due, or nearly. It leaps from one to the next, however much waits
-- in each. What is due on a later day is in other partitions, which are not opened.
WITH RECURSIVE backlog AS (
    -- The oldest waiting execution of each lane and priority.
    (SELECT lane_id, priority, ready_at FROM tickwork.execution
     WHERE ready_at IS NOT NULL
         AND scheduled_for < date_trunc('day', tickwork.clock() + $1::interval, 'UTC') + interval '1 day'
     ORDER BY lane_id, priority, ready_at LIMIT 1)
    UNION ALL
    SELECT following.lane_id, following.priority, following.ready_at
    FROM backlog
    CROSS JOIN LATERAL (
        SELECT lane_id, priority, ready_at FROM tickwork.execution
        WHERE ready_at IS NOT NULL AND (lane_id, priority) > (backlog.lane_id, backlog.priority)
            AND scheduled_for < date_trunc('day', tickwork.clock() + $1::interval, 'UTC') + interval '1 day'
        ORDER BY lane_id, priority, ready_at LIMIT 1
    ) following
)
SELECT lane_id, priority, extract(epoch FROM tickwork.clock() - ready_at)::float8 AS waited
FROM backlog WHERE ready_at <= tickwork.clock() + $1::interval;

-- name: earliest_due
-- Of each of these lanes and priorities, the earliest due time among the first of its backlog.
SELECT coalesce(min(first.scheduled_for), tickwork.clock()) AS due
FROM unnest($1::int[], $2::smallint[]) WITH ORDINALITY AS backlog (lane_id, priority, number)
LEFT JOIN LATERAL (
    SELECT scheduled_for FROM tickwork.execution
    WHERE lane_id = backlog.lane_id AND priority = backlog.priority AND ready_at <= tickwork.clock() + $3::interval
    ORDER BY ready_at
    LIMIT $4
) first ON true
GROUP BY backlog.number
ORDER BY backlog.number;

-- name: pick_ready
-- Locks waiting executions: of each lane and priority the oldest, up to its quota. Those that have waited for too long
-- to be useful are left for `give_up_unstarted`, and those whose job was edited since this began for the next claim.
-- Those due until $6 get an attempt from $7 on, as `claim` writes it.
SELECT e.tenant_id, tickwork.micros(e.scheduled_for), e.job_id, e.lane_id,
    CASE WHEN e.scheduled_for <= $6 THEN greatest(e.attempt, $7) ELSE e.attempt END AS attempt,
    tickwork.micros(e.ready_at), j.task,
    CASE WHEN e.own_payload THEN (
        SELECT p.payload FROM tickwork.retry_payload p
        WHERE p.tenant_id = e.tenant_id AND p.scheduled_for = e.scheduled_for AND p.job_id = e.job_id
        ORDER BY p.attempt DESC LIMIT 1
    ) ELSE j.payload END AS payload,
    j.target, j.timeout, e.priority,
    CASE WHEN j.depends THEN tickwork.outcomes_of_parents(e.job_id, e.scheduled_for) END AS parents,
    CASE WHEN e.trigger <> 'schedule' THEN '' WHEN j.rule_id IS NULL OR j.depends THEN coalesce(j.trace_origin, '')
    END AS trace_origin
FROM unnest($1::int[], $2::smallint[], $3::int[], $5::float8[])
    AS backlog (lane_id, priority, quota, start_within)
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id, lane_id, attempt, ready_at, priority, trigger, own_payload
    FROM tickwork.execution
    WHERE lane_id = backlog.lane_id AND priority = backlog.priority AND ready_at <= tickwork.clock() + $4::interval
        AND (moved_by IS NULL OR pg_visible_in_snapshot(moved_by, pg_current_snapshot()))
        AND (backlog.start_within IS NULL OR trigger NOT IN ('schedule', 'manual')
             OR scheduled_for > tickwork.clock() - make_interval(secs => backlog.start_within)
             OR tickwork.was_tried(tenant_id, scheduled_for, job_id, attempt))
    ORDER BY ready_at
    LIMIT backlog.quota
    FOR UPDATE SKIP LOCKED
) e
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = e.job_id OFFSET 0) j;

-- name: lock_oldest_waiting
-- Locks the execution that has waited longest in a lane and priority.
SELECT tenant_id, scheduled_for, job_id FROM tickwork.execution
WHERE lane_id = $1 AND priority = $2 AND ready_at <= tickwork.clock() + $3::interval
ORDER BY ready_at LIMIT 1
FOR UPDATE SKIP LOCKED;

-- name: fail_execution
-- Fails an execution that cannot be given to a worker.
UPDATE tickwork.execution SET status = 'failed', ready_at = NULL, finished_at = tickwork.clock(), reason = $4
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND finished_at IS NULL;

-- name: claim
-- Gives waiting executions to a worker. Those due until $5 get an attempt from $6 on: earlier ones may have been given
-- out by commits that a failover has lost.
UPDATE tickwork.execution e
SET status = 'running', worker_id = $4, ready_at = NULL,
    attempt = CASE WHEN e.scheduled_for <= $5 THEN greatest(e.attempt, $6) ELSE e.attempt END
FROM (
    SELECT tickwork.each($1::int[], tenant_id) AS tenant_id,
        to_timestamp(tickwork.each($2::bigint[], at) / 1e6::float8) AS scheduled_for, job_id
    FROM unnest($1::int[], $2::bigint[], $3::text::bigint[]) AS sent (tenant_id, at, job_id)
    OFFSET 0
) c
WHERE e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.scheduled_for AND e.job_id = c.job_id
    AND e.status = 'pending';

-- name: register_worker
-- Registers a new worker with a lease.
INSERT INTO tickwork.worker (tenant_id, token, name, host, version, tasks, queues, slots, labels, resources, weights,
    lease_until, connection, key_id, commands)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, tickwork.clock() + $12::interval, $13, $14, $15)
RETURNING id, connection;

-- name: offer_tasks
-- Records the tasks that a worker offers, with the shape of their payloads and the defaults of their jobs.
INSERT INTO tickwork.task (tenant_id, name, parameters, description, defaults)
SELECT $1, * FROM unnest($2::text[], $3::jsonb[], $4::text[], $5::jsonb[])
ON CONFLICT (tenant_id, name) DO UPDATE
SET parameters = excluded.parameters, description = excluded.description, defaults = excluded.defaults,
    offered_at = tickwork.clock()
WHERE task.offered_at IS NULL OR (task.parameters, task.description, task.defaults)
    IS DISTINCT FROM (excluded.parameters, excluded.description, excluded.defaults);

-- name: resume_worker
-- Lets a worker reconnect. What it was given on earlier connections is settled by then. Its token says which worker it
-- is, also when its key was replaced. Its labels and resources may have changed while it was away.
UPDATE tickwork.worker
SET connection = connection + 1, key_id = $3, lease_until = tickwork.clock() + $4::interval, labels = $5,
    resources = $6
WHERE id = (SELECT id FROM tickwork.worker
            WHERE token = $1 AND tenant_id IS NOT DISTINCT FROM $2 AND ended_at IS NULL FOR UPDATE)
RETURNING id, connection;

-- name: wait_for_handovers
-- Waits until no transaction is giving anything to this worker any more: each of them locks its row.
SELECT FROM tickwork.worker WHERE id = $1 FOR UPDATE;

-- name: running_on_worker
-- What a worker has and has not ended, with all that is needed to run it. When each was to start is no longer known,
-- but it was not given to the worker earlier than the lead allows.
SELECT l.id AS lease_id, e.tenant_id, tickwork.micros(e.scheduled_for), e.job_id, e.lane_id, e.attempt,
    tickwork.micros(greatest(e.scheduled_for, tickwork.clock() + $2::interval)) AS ready_at,
    given.task, given.payload, given.target, j.timeout, e.priority,
    CASE WHEN j.depends THEN tickwork.outcomes_of_parents(e.job_id, e.scheduled_for) END AS parents,
    CASE WHEN j.rule_id IS NULL THEN j.trace_origin END AS trace_origin
FROM tickwork.lease l
CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = e.job_id OFFSET 0) j
CROSS JOIN LATERAL tickwork.given(e.tenant_id, e.scheduled_for, e.job_id, e.attempt) AS given
WHERE l.worker_id = $1;

-- name: renew_leases
-- Extends the leases of workers that sent a heartbeat, unless they have ended, or reconnected since: on the old
-- connection it is not known what they were given on the new one. What they measured or changed is in the same row.
UPDATE tickwork.worker w
SET lease_until = tickwork.clock() + $3::interval, load = coalesce(heard.load, w.load),
    labels = coalesce(heard.labels, w.labels), resources = coalesce(heard.resources, w.resources)
FROM unnest($1::int[], $2::int[], $4::jsonb[], $5::jsonb[], $6::jsonb[])
    AS heard (id, connection, load, labels, resources)
WHERE w.id = heard.id AND w.connection = heard.connection AND w.ended_at IS NULL
RETURNING w.id, w.connection, w.draining;

-- name: disabled_tasks
-- The tasks of all tenants whose executions wait until the task is enabled.
SELECT tenant_id, name FROM tickwork.task WHERE disabled_at IS NOT NULL;

-- name: queue_priorities
-- The queues of all tenants that go before or after those with the priority `normal`.
SELECT tenant_id, queue, priority FROM tickwork.queue_priority;

-- name: workers_not_ended
-- Of these workers, those that have not ended.
SELECT id FROM tickwork.worker WHERE id = ANY($1::int[]) AND ended_at IS NULL;

-- name: drain_worker
-- Makes a worker drain: it takes nothing new.
UPDATE tickwork.worker SET draining = true WHERE id = $1 AND ended_at IS NULL;

-- name: end_worker
-- Ends a worker that left and has nothing.
UPDATE tickwork.worker w SET ended_at = tickwork.clock()
WHERE id = $1 AND ended_at IS NULL AND NOT EXISTS (SELECT FROM tickwork.lease WHERE worker_id = w.id);

-- name: take_dead_workers
-- Locks workers whose lease expired, or only the one that is named.
SELECT id FROM tickwork.worker
WHERE ended_at IS NULL AND lease_until < tickwork.clock() AND ($2::int IS NULL OR id = $2)
ORDER BY id
LIMIT $1
FOR UPDATE SKIP LOCKED;

-- name: take_leases
-- Takes some leases away from dead workers.
DELETE FROM tickwork.lease
WHERE id IN (SELECT id FROM tickwork.lease WHERE worker_id = ANY($1::int[]) ORDER BY id LIMIT $2)
RETURNING worker_id, tenant_ids, scheduled_fors, job_ids;

-- name: end_dead_workers
-- Ends dead workers that have no lease left.
UPDATE tickwork.worker w SET ended_at = tickwork.clock()
WHERE id = ANY($1::int[]) AND NOT EXISTS (SELECT FROM tickwork.lease WHERE worker_id = w.id)
RETURNING id, name;

-- name: revocations
-- The revocations for these workers.
SELECT worker_id, tenant_id, scheduled_for, job_id, attempt, reason, needs_report FROM tickwork.revocation
WHERE worker_id = ANY($1::int[]);

-- name: forget_revocations
-- Deletes revocations of attempts that the worker no longer has.
DELETE FROM tickwork.revocation r
USING unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[]) AS k (tenant_id, scheduled_for, job_id, attempt)
WHERE r.tenant_id = k.tenant_id AND r.scheduled_for = k.scheduled_for AND r.job_id = k.job_id
    AND r.attempt = k.attempt;

-- name: forget_revocations_of_workers
-- Deletes the revocations for workers that have ended.
DELETE FROM tickwork.revocation WHERE worker_id = ANY($1::int[]);

-- name: is_being_stopped
-- Whether some worker has yet to stop an execution of this job.
SELECT EXISTS (SELECT FROM tickwork.revocation WHERE tenant_id = $1 AND job_id = $2 AND needs_report) AS waiting;
