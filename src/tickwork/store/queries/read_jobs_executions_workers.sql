-- How to read these queries: README.md

-- name: jobs_by_id
-- Some jobs as users see them.
SELECT v.* FROM unnest($2::bigint[]) AS wanted (id) CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = wanted.id OFFSET 0
) v;

-- name: job_with_key
-- The job with a key, unless it was cancelled.
SELECT id FROM tickwork.job WHERE tenant_id = $1 AND key = $2 AND key IS NOT NULL AND status <> 'cancelled';

-- name: created
-- When a job was created, and by which API key.
SELECT j.created_at, k.id AS key_id, k.name AS key_name
FROM tickwork.job j LEFT JOIN tickwork.api_key k ON k.id = j.created_by AND k.tenant_id = j.tenant_id
WHERE j.tenant_id = $1 AND j.id = $2;

-- name: changes_of_job
-- One page of the changes of a job before the number $3, latest first. What has no number yet is later than all others.
SELECT number, at, kind, detail FROM (
    (SELECT number, number AS place, at, kind, detail FROM tickwork.event
     WHERE job_id = $2 AND kind LIKE 'job.%' AND tenant_id = $1 AND kind <> 'job.created' AND number < $3
     ORDER BY number DESC LIMIT $4)
    UNION ALL
    SELECT 9223372036854775807, id, at, kind, detail
    FROM (SELECT * FROM tickwork.new_event ORDER BY id DESC LIMIT 10000) fresh
    WHERE job_id = $2 AND kind LIKE 'job.%' AND tenant_id = $1 AND kind <> 'job.created'
        AND $3 = 9223372036854775807
) change
ORDER BY number DESC, place DESC LIMIT $4;

-- name: execution
-- One execution as users see it.
SELECT * FROM tickwork.execution_view WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3;

-- name: executions_by_key
-- Some executions as users see them.
SELECT v.* FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS wanted (tenant_id, scheduled_for, job_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.execution_view v
    WHERE v.tenant_id = wanted.tenant_id AND v.scheduled_for = wanted.scheduled_for AND v.job_id = wanted.job_id
    OFFSET 0
) v;

-- name: ended
-- Which of these executions have ended.
SELECT wanted.tenant_id, wanted.scheduled_for, wanted.job_id
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS wanted (tenant_id, scheduled_for, job_id)
CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution e
    WHERE e.tenant_id = wanted.tenant_id AND e.scheduled_for = wanted.scheduled_for AND e.job_id = wanted.job_id
        AND e.finished_at IS NOT NULL
    OFFSET 0
) e;

-- name: missed_of_job
-- The missed ranges of a job's rules since it was created, latest first.
SELECT r.scheduled_for, r.missed_until, r.missed, r.reason
FROM tickwork.job j
CROSS JOIN LATERAL (
    SELECT j.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = j.id
) belonged
CROSS JOIN LATERAL (
    SELECT scheduled_for, missed_until, missed, reason FROM tickwork.round
    WHERE rule_id = belonged.rule_id AND missed > 0 AND missed_until >= j.created_at
    ORDER BY scheduled_for DESC LIMIT $3
) r
WHERE j.tenant_id = $1 AND j.id = $2
ORDER BY r.scheduled_for DESC
LIMIT $3;

-- name: attempts
-- The attempts at one execution that did not complete, in order.
SELECT attempt, outcome::text AS outcome, worker_id, started_at, finished_at, error FROM tickwork.attempt
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
ORDER BY attempt;

-- name: usage_of_attempts
-- What the processes of the attempts at one execution have used.
SELECT attempt, cpu_seconds, peak_memory FROM tickwork.process_usage
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3;

-- name: worker_names
-- The names of workers, and until when their leases were valid.
SELECT id, name, lease_until FROM tickwork.worker WHERE id = ANY($1::int[]);

-- snippet: usage_of_worker
-- What a worker has now, beside what its row says.
    tickwork.clock() AS now,
    (SELECT coalesce(sum(cardinality(job_ids)), 0) FROM tickwork.lease WHERE worker_id = w.id) AS holding,
    (SELECT jsonb_object_agg(used.name, used.amount) FROM (
        SELECT need.key AS name, sum(need.value::float8) AS amount
        FROM tickwork.lease l
        CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
        JOIN tickwork.lane ON lane.id = e.lane_id AND lane.placement <> ''
        CROSS JOIN LATERAL jsonb_each_text(lane.placement::jsonb -> 'resources') AS need
        WHERE l.worker_id = w.id AND w.resources <> '{}'
        GROUP BY need.key
    ) used) AS resources_used

-- snippet: visible_to_tenant
-- That a worker is one of the tenant $1, or a built-in one. Those that only deliver notifications ($2) are no concern
-- of users.
    (w.tenant_id = $1 OR w.tenant_id IS NULL) AND (w.tenant_id IS NOT NULL OR w.tasks <> ARRAY[$2::text])
    AND (w.ended_at IS NULL OR w.ended_at > tickwork.clock() - interval '1 day')

-- snippet: matches_filter
-- That a worker has the status $3, serves the queue $4, offers the task $5, has the labels $6 and $7, the host $8 and
-- the version $9, and names $10 somewhere, each if it is given.
    ($3::text IS NULL
     OR $3 = CASE WHEN w.ended_at IS NOT NULL OR w.lease_until <= tickwork.clock() - interval '1 second' THEN 'offline'
                  WHEN w.draining THEN 'draining' ELSE 'online' END)
    AND ($4::text IS NULL OR w.queues = '{}' OR $4 = ANY(w.queues))
    AND ($5::text IS NULL OR $5 = ANY(w.tasks))
    AND w.labels @> $6::jsonb AND w.labels ?& $7::text[]
    AND ($8::text IS NULL OR w.host = $8) AND ($9::text IS NULL OR w.version = $9)
    AND ($10::text IS NULL OR strpos(
            lower(concat_ws(' ', w.name, w.host, array_to_string(w.tasks, ' '), w.labels::text)), lower($10)) > 0)

-- name: worker
-- One worker of a tenant, or a built-in one.
SELECT w.*,
-- include: usage_of_worker
FROM tickwork.worker w
WHERE
-- include: visible_to_tenant
    AND w.id = $3;

-- name: newest_workers
-- One page of workers, the newest first.
SELECT w.*,
-- include: usage_of_worker
FROM (
    SELECT * FROM tickwork.worker w
    WHERE
-- include: visible_to_tenant
        AND
-- include: matches_filter
        AND w.id < $11
    ORDER BY w.id DESC LIMIT $12
) w
ORDER BY w.id DESC;

-- name: workers_by_name
-- One page of workers by name, those of the same name by age.
SELECT w.*,
-- include: usage_of_worker
FROM (
    SELECT * FROM tickwork.worker w
    WHERE
-- include: visible_to_tenant
        AND
-- include: matches_filter
        AND (w.name, w.id) > ($11::text, $12::int)
    ORDER BY w.name, w.id LIMIT $13
) w
ORDER BY w.name, w.id;
