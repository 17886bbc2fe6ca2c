-- How to read these queries: README.md

-- name: jobs_by_id
-- Some jobs as users see them.
SELECT v.* FROM unnest($2::bigint[]) AS wanted (id) CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = wanted.id OFFSET 0
) v;

-- name: job_with_key
-- The job with a key, unless it was cancelled.
SELECT id FROM tickwork.job WHERE tenant_id = $1 AND key = $2 AND key IS NOT NULL AND status <> 'cancelled';

-- name: jobs_newest_first
-- One page of jobs, newest first.
WITH seen AS (
    -- A bounded number of jobs.
    SELECT id FROM tickwork.job WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3
), page AS (
    -- Those of them that the filter lets through.
    SELECT v.* FROM seen CROSS JOIN LATERAL (
        SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = seen.id OFFSET 0
    ) v
    WHERE ($5::text IS NULL OR v.status = $5) AND ($6::text IS NULL OR v.task = $6)
        AND ($7::text IS NULL OR v.queue = $7) AND ($8::smallint IS NULL OR v.priority = $8)
        AND ($9::text IS NULL OR $9 = ANY(v.tags))
        AND ($10::text IS NULL OR strpos(lower(concat_ws(' ', v.name, v.key, v.task)), lower($10)) > 0)
        AND ($11::timestamptz IS NULL OR v.next_run_at < $11) AND ($12::timestamptz IS NULL OR v.next_run_at > $12)
    ORDER BY seen.id DESC LIMIT $4
)
SELECT page.*, (SELECT count(*) FROM seen) AS seen_count, (SELECT min(id) FROM seen) AS seen_last
FROM (SELECT) AS always LEFT JOIN page ON true
ORDER BY page.id DESC;

-- name: jobs_oldest_first
-- One page of jobs, oldest first.
WITH seen AS (
    -- A bounded number of jobs.
    SELECT id FROM tickwork.job WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3
), page AS (
    -- Those of them that the filter lets through.
    SELECT v.* FROM seen CROSS JOIN LATERAL (
        SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = seen.id OFFSET 0
    ) v
    WHERE ($5::text IS NULL OR v.status = $5) AND ($6::text IS NULL OR v.task = $6)
        AND ($7::text IS NULL OR v.queue = $7) AND ($8::smallint IS NULL OR v.priority = $8)
        AND ($9::text IS NULL OR $9 = ANY(v.tags))
        AND ($10::text IS NULL OR strpos(lower(concat_ws(' ', v.name, v.key, v.task)), lower($10)) > 0)
        AND ($11::timestamptz IS NULL OR v.next_run_at < $11) AND ($12::timestamptz IS NULL OR v.next_run_at > $12)
    ORDER BY seen.id LIMIT $4
)
SELECT page.*, (SELECT count(*) FROM seen) AS seen_count, (SELECT max(id) FROM seen) AS seen_last
FROM (SELECT) AS always LEFT JOIN page ON true
ORDER BY page.id;

-- name: jobs_by_next_run
-- One page of recurring jobs by their next run, along the rules in the order in which they are due.
WITH seen AS (
    -- A bounded number of jobs in the order of their rules' next due times.
    SELECT r.next_at, r.id AS rule_id, j.priority, j.id
    FROM tickwork.rule r
    CROSS JOIN LATERAL (
        SELECT priority, id FROM tickwork.job
        WHERE rule_id = r.id AND status = 'active' AND ((r.next_at, r.id) > ($13, $14) OR (priority, id) > ($15, $2))
        ORDER BY priority, id
        LIMIT $3
    ) j
    WHERE r.tenant_id = $1 AND r.next_at IS NOT NULL AND (r.next_at, r.id) >= ($13::timestamptz, $14::bigint)
    ORDER BY r.next_at, r.id, j.priority, j.id
    LIMIT $3
), page AS (
    -- Those of them that the filter lets through.
    SELECT v.*, seen.next_at AS place_at FROM seen CROSS JOIN LATERAL (
        SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = seen.id OFFSET 0
    ) v
    WHERE v.next_run_at IS NOT NULL
        AND ($5::text IS NULL OR v.status = $5) AND ($6::text IS NULL OR v.task = $6)
        AND ($7::text IS NULL OR v.queue = $7) AND ($8::smallint IS NULL OR v.priority = $8)
        AND ($9::text IS NULL OR $9 = ANY(v.tags))
        AND ($10::text IS NULL OR strpos(lower(concat_ws(' ', v.name, v.key, v.task)), lower($10)) > 0)
        AND ($11::timestamptz IS NULL OR v.next_run_at < $11) AND ($12::timestamptz IS NULL OR v.next_run_at > $12)
    ORDER BY seen.next_at, v.rule_id, v.priority, v.id LIMIT $4
)
SELECT page.*, (SELECT count(*) FROM seen) AS seen_count, last.next_at AS seen_at, last.rule_id AS seen_rule,
    last.priority AS seen_priority, last.id AS seen_last
FROM (SELECT) AS always
LEFT JOIN page ON true
LEFT JOIN (SELECT * FROM seen ORDER BY next_at DESC, rule_id DESC, priority DESC, id DESC LIMIT 1) last ON true
ORDER BY page.place_at, page.rule_id, page.priority, page.id;

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

-- name: worker_names
-- The names of workers, and until when their leases were valid.
SELECT id, name, lease_until FROM tickwork.worker WHERE id = ANY($1::int[]);

-- name: workers
-- One page of a tenant's workers and the built-in ones, newest first.
SELECT w.*, tickwork.clock() AS now,
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
FROM tickwork.worker w
WHERE (w.tenant_id = $1 OR w.tenant_id IS NULL) AND w.id < $2 AND ($4::int IS NULL OR w.id = $4)
    AND (w.ended_at IS NULL OR w.ended_at > tickwork.clock() - interval '1 day')
ORDER BY w.id DESC
LIMIT $3;

-- name: tasks
-- The tasks of a tenant, with the live workers that offer them.
SELECT t.name, t.parameters, t.description, t.defaults,
    ARRAY(SELECT w.id FROM tickwork.worker w
          WHERE w.tenant_id = t.tenant_id AND w.ended_at IS NULL AND t.name = ANY(w.tasks) ORDER BY w.id) AS workers
FROM tickwork.task t WHERE t.tenant_id = $1
ORDER BY t.name;
