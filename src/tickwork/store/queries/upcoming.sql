-- How to read these queries: README.md

-- snippet: rule
-- What is known of a rule r: its next round, and how far that has been fired. Follows SELECT.
    r.id, r.timing, r.next_at, coalesce(r.cursor_priority, -1) AS cursor_priority,
    coalesce(r.cursor_job, 0) AS cursor_job

-- snippet: is_interval
-- Whether a rule r is due again and again after the same time.
    (r.timing LIKE '{"every":%' AND r.timing NOT LIKE '%"end":%' AND r.timing NOT LIKE '%"exclude":%')

-- name: count_rules_due_before
-- How many rules of a tenant are due before a time.
SELECT count(*) AS rules FROM tickwork.rule WHERE tenant_id = $1 AND next_at < $2;

-- name: rules_due_before
-- One in $3 of the rules of a tenant that are due before a time, chosen by chance; $4 of them at most.
SELECT
-- include: rule
FROM tickwork.rule r
WHERE r.tenant_id = $1 AND r.next_at < $2 AND ($3::bigint = 1 OR abs(hashint8(r.id)::bigint) % $3 = 0)
ORDER BY r.next_at, r.id
LIMIT $4;

-- name: rules_next_due_after
-- The rules of a tenant whose next round comes after a place, $2 and $3, and before a time, soonest first.
SELECT
-- include: rule
    , r.next_at AS due
FROM tickwork.rule r
WHERE r.tenant_id = $1 AND r.next_at >= $2 AND (r.next_at, r.id) >= ($2, $3) AND r.next_at < $4
ORDER BY r.next_at, r.id
LIMIT $5;

-- name: intervals_due_after
-- The same of rules whose next round comes before that place, and which are due in equal intervals. Whole microseconds
-- are several times as fast as exact numbers, and there may be a million rules.
SELECT i.*, i.next_at + i.micros * interval '1 microsecond' AS due
FROM (
    SELECT s.*, ((s.behind + s.every - 1) / s.every + (s.behind % s.every = 0 AND s.id < $3)::int) * s.every AS micros
    FROM (
        SELECT
        -- include: rule
            , (date_part('epoch', $2::timestamptz - r.next_at) * 1e6)::bigint AS behind,
            rtrim(split_part(substring(r.timing FROM 10 FOR 20), ',', 1), '}')::bigint * 1000000 AS every
        FROM tickwork.rule r
        WHERE r.tenant_id = $1 AND r.next_at < $2 AND
        -- include: is_interval
        OFFSET 0
    ) s
) i
WHERE i.next_at + i.micros * interval '1 microsecond' < $4
ORDER BY due, i.id
LIMIT $5;

-- name: other_rules_due_before
-- The rules of a tenant whose next round comes before a time, and which are not due in equal intervals.
SELECT
-- include: rule
FROM tickwork.rule r
WHERE r.tenant_id = $1 AND r.next_at < $2 AND NOT
-- include: is_interval
LIMIT $3;

-- name: jobs_due_in_rounds
-- The jobs that are due in rounds of rules, in the order of the rounds; those of each after a place.
SELECT r.scheduled_for AS at, r.rule_id, j.priority, j.id, j.name, l.task, l.queue
FROM unnest($1::timestamptz[], $2::bigint[], $3::smallint[], $4::bigint[]) WITH ORDINALITY
    AS r (scheduled_for, rule_id, after_priority, after_job, number)
CROSS JOIN LATERAL (
    SELECT priority, id, name, lane_id FROM tickwork.job
    WHERE rule_id = r.rule_id AND (priority, id) > (r.after_priority, r.after_job) AND status = 'active'
        AND active_from <= r.scheduled_for AND (active_until IS NULL OR active_until >= r.scheduled_for)
    ORDER BY priority, id
    LIMIT $5
) j
JOIN tickwork.lane l ON l.id = j.lane_id
ORDER BY r.number, j.priority, j.id
LIMIT $5;

-- name: executions_due
-- The executions of a tenant that are due in a range and have not started, after a place, in order.
SELECT e.scheduled_for AS at, j.id, j.name, j.status = 'active' AS is_active, l.task, l.queue
FROM (
    SELECT scheduled_for, job_id, lane_id FROM tickwork.execution
    WHERE tenant_id = $1 AND (scheduled_for, job_id) > ($2, $3) AND scheduled_for < $4
        AND finished_at IS NULL AND started_at IS NULL
    ORDER BY tenant_id, scheduled_for, job_id
    LIMIT $5
) e
CROSS JOIN LATERAL (SELECT id, name, status FROM tickwork.job WHERE id = e.job_id OFFSET 0) j
JOIN tickwork.lane l ON l.id = e.lane_id
ORDER BY e.scheduled_for, j.id;

-- name: deferred_jobs_due
-- The deferred jobs of a tenant that are due in a range, after a place, in order.
SELECT j.scheduled_for AS at, j.id, j.name, j.status = 'active' AS is_active, l.task, l.queue
FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
WHERE j.deferred AND j.tenant_id = $1 AND j.scheduled_for >= $2 AND (j.scheduled_for, j.id) > ($2, $3)
    AND j.scheduled_for < $4
ORDER BY j.scheduled_for, j.id
LIMIT $5;

-- name: timings_of_jobs
-- What some jobs are called, and when they are due.
SELECT j.id AS job, j.name, j.key, l.task, l.queue, j.status = 'active' AS is_active, j.scheduled_for, j.active_from,
    j.active_until,
-- include: rule
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
WHERE j.tenant_id = $1 AND j.id = ANY($2::bigint[]);

-- name: jobs_with_tag
-- Those of some jobs that have a tag.
SELECT id FROM tickwork.job WHERE id = ANY($1::bigint[]) AND $2 = ANY(tags);

-- name: jobs_of_rules
-- How many active jobs rules have, by when they begin after a time and when they end, by task or queue if wanted, and
-- by whether they have the task $5, the queue $6 and the tag $7, as far as given; $3 of each rule at most.
SELECT wanted.rule_id, j.begins, j.ends, count(*) AS jobs,
    CASE $4::text WHEN 'task' THEN l.task WHEN 'queue' THEN l.queue END AS grouped_by,
    l.task = coalesce($5::text, l.task) AND l.queue = coalesce($6::text, l.queue)
        AND ($7::text IS NULL OR $7 = ANY(j.tags)) AS is_wanted
FROM unnest($1::bigint[]) AS wanted (rule_id) CROSS JOIN LATERAL (
    SELECT CASE WHEN active_from > $2 THEN active_from END AS begins, active_until AS ends, lane_id, tags
    FROM tickwork.job
    WHERE rule_id = wanted.rule_id AND status = 'active'
    LIMIT $3
) j
JOIN tickwork.lane l ON l.id = j.lane_id
GROUP BY wanted.rule_id, j.begins, j.ends, grouped_by, is_wanted;

-- name: estimated_jobs_of_rules
-- How many jobs rules have by the planner's statistics: the share of each common rule, and the same for all others.
SELECT wanted.rule_id,
    s.jobs * coalesce(s.shares[array_position(s.rules, wanted.rule_id)], s.other_share) AS jobs
FROM unnest($1::bigint[]) AS wanted (rule_id)
CROSS JOIN (
    SELECT c.reltuples AS jobs, p.rules, p.shares,
        (1 - p.null_frac - (SELECT coalesce(sum(share), 0) FROM unnest(p.shares) AS share))
        / greatest(CASE WHEN p.n_distinct < 0 THEN -p.n_distinct * c.reltuples ELSE p.n_distinct END
                   - coalesce(cardinality(p.rules), 0), 1) AS other_share
    FROM pg_class c
    JOIN (
        SELECT null_frac, n_distinct, most_common_vals::text::bigint[] AS rules, most_common_freqs AS shares
        FROM pg_stats WHERE schemaname = 'tickwork' AND tablename = 'job' AND attname = 'rule_id'
    ) p ON true
    WHERE c.oid = 'tickwork.job'::regclass
) s;

-- name: count_one_time_jobs
-- How many executions and deferred jobs of a tenant are due in each step of a range, by task or queue if wanted; $6 of
-- each are looked at. They are counted by whether they have the task $7, the queue $8 and the tag $9, as far as given.
-- The steps are given by when they begin.
SELECT steps.step, count(*) AS count, max(at) AS last_at, steps.is_deferred,
    CASE $5::text WHEN 'task' THEN l.task WHEN 'queue' THEN l.queue END AS grouped_by,
    l.task = coalesce($7::text, l.task) AND l.queue = coalesce($8::text, l.queue)
        AND ($9::text IS NULL
             OR EXISTS (SELECT FROM tickwork.job j WHERE j.id = steps.job_id AND $9 = ANY(j.tags) OFFSET 0))
        AS is_wanted
FROM (
    SELECT width_bucket(at, $4::timestamptz[]) - 1 AS step, at, is_deferred, lane_id, job_id FROM (
        (SELECT scheduled_for AS at, false AS is_deferred, lane_id, job_id FROM tickwork.execution
         WHERE tenant_id = $1 AND scheduled_for >= $2 AND scheduled_for < $3
             AND finished_at IS NULL AND started_at IS NULL
             AND (isfinite(ready_at) IS NOT FALSE OR EXISTS (
                 SELECT FROM tickwork.job WHERE id = execution.job_id AND status = 'active' OFFSET 0))
         ORDER BY tenant_id, scheduled_for, job_id LIMIT $6)
        UNION ALL
        (SELECT scheduled_for, true, lane_id, id FROM tickwork.job
         WHERE deferred AND tenant_id = $1 AND status = 'active' AND scheduled_for >= $2 AND scheduled_for < $3
         ORDER BY scheduled_for LIMIT $6)
    ) due
) steps
JOIN tickwork.lane l ON l.id = steps.lane_id
GROUP BY steps.step, steps.is_deferred, grouped_by, is_wanted
ORDER BY steps.step;
