-- How to read these queries: README.md

-- snippet: rule
-- What is known of a rule r: its next round, and how far that has been fired. Follows SELECT.
    r.id, r.timing, r.next_at, coalesce(r.cursor_priority, -1) AS cursor_priority,
    coalesce(r.cursor_job, 0) AS cursor_job

-- snippet: numbers
-- From 0 to 59, as an array of texts: a comparison with it is much faster than one with a pattern.
    '{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,
      30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59}'::text[]

-- name: count_rules_due_before
-- How many rules of a tenant are due before a time.
SELECT count(*) AS rules FROM tickwork.rule WHERE tenant_id = $1 AND next_at < $2;

-- name: rules_due_before
-- One in $3 of the rules of a tenant that are due before a time, chosen by chance, without those of $5; $4 of them at
-- most.
SELECT
-- include: rule
FROM tickwork.rule r
WHERE r.tenant_id = $1 AND r.next_at < $2 AND ($3::bigint = 1 OR abs(hashint8(r.id)::bigint) % $3 = 0)
    AND r.id <> ALL($5::bigint[])
ORDER BY r.next_at, r.id
LIMIT $4;

-- name: rules_with_most_jobs
-- The rules of a tenant that are due before a time and have so many jobs that the planner's statistics name them.
SELECT
-- include: rule
FROM (
    SELECT unnest(most_common_vals::text::bigint[]) AS id
    FROM pg_stats WHERE schemaname = 'tickwork' AND tablename = 'job' AND attname = 'rule_id'
) common
JOIN tickwork.rule r ON r.id = common.id
WHERE r.tenant_id = $1 AND r.next_at < $2;

-- name: rules_next_due_after
-- The rules of a tenant whose next round comes after a place, $2 and $3, and before a time, soonest first.
SELECT
-- include: rule
FROM tickwork.rule r
WHERE r.tenant_id = $1 AND r.next_at >= $2 AND (r.next_at, r.id) >= ($2, $3) AND r.next_at < $4
ORDER BY r.next_at, r.id
LIMIT $5;

-- name: rules_possibly_due_after
-- Rules of a tenant whose next round comes before a place, second $2 and rule $3, by the first second from there on and
-- before second $4 at which they can be due. A rule with a period is due then. Of another one, the schedule's second,
-- minute and hour are compared with the local time of its zone, if they are single numbers: $6 has the local second of
-- the day at $2 by the names of zones, and $7 how many seconds a clock change skips there at that very instant. What is
-- skipped may be due at the change. The days are not looked at. Zones are no table, because a join would be planned for
-- few rules, and there may be a million.
SELECT m.id, m.timing, m.next_at, m.cursor_priority, m.cursor_job, to_timestamp($2::bigint + m.wait) AS earliest
FROM (
    SELECT p.id, p.timing, p.next_at, p.cursor_priority, p.cursor_job,
        p.passed + CASE WHEN p.wait IS NULL OR p.period - p.wait <= p.skipped THEN 0 ELSE p.wait END AS wait
    FROM (
        -- How far away the next second is that agrees with what is known of their due times, which repeats after a
        -- minute, an hour or a day. Null: nothing is known.
        SELECT f.id, f.timing, f.next_at, f.cursor_priority, f.cursor_job, f.passed,
            CASE WHEN f.minute IS NULL THEN 60 WHEN f.hour IS NULL THEN 3600 ELSE 86400 END AS period,
            CASE WHEN f.every IS NULL
                 THEN (f.second + coalesce(f.minute * 60 + coalesce(f.hour, 0) * 3600, 0)
                       + 86400 - f.local_second - f.passed)
                     % CASE WHEN f.minute IS NULL THEN 60 WHEN f.hour IS NULL THEN 3600 ELSE 86400 END
                 ELSE (f.every - ($2::bigint + f.passed - date_part('epoch', f.next_at)::bigint) % f.every) % f.every
            END AS wait,
            CASE WHEN f.passed = 0 THEN ($7::jsonb ->> f.zone)::int END AS skipped
        FROM (
            -- Those of second, minute and hour that are single numbers.
            SELECT c.*, ($6::jsonb ->> c.zone)::int AS local_second, CASE WHEN c.second_field = ANY(
                -- include: numbers
                ) THEN c.second_field::int END AS second,
                CASE WHEN c.minute_field = ANY(
                -- include: numbers
                ) THEN c.minute_field::int END AS minute,
                CASE WHEN c.hour_field = ANY(
                -- include: numbers
                ) THEN c.hour_field::int END AS hour
            FROM (
                -- The fields of cron expressions: the second comes first, or is left out.
                SELECT s.*, CASE WHEN s.has_second THEN split_part(s.cron, ' ', 1) ELSE '0' END AS second_field,
                    split_part(s.cron, ' ', CASE WHEN s.has_second THEN 2 ELSE 1 END) AS minute_field,
                    split_part(s.cron, ' ', CASE WHEN s.has_second THEN 3 ELSE 2 END) AS hour_field
                FROM (
                    -- The parts of their schedules. What is due at the place itself is over for some.
                    SELECT
                    -- include: rule
                        , (r.id < $3)::int AS passed,
                        CASE WHEN r.timing LIKE '{"e%' AND r.timing LIKE '%"every":%'
                             THEN rtrim(split_part(split_part(r.timing, '"every":', 2), ',', 1), '}')::bigint
                        END AS every,
                        CASE WHEN r.timing LIKE '{"cron":%' THEN split_part(r.timing, '"', 4) END AS cron,
                        split_part(r.timing, ' ', 6) <> '' AS has_second,
                        rtrim(split_part(r.timing, '"timezone":"', 2), '"}') AS zone
                    FROM tickwork.rule r
                    WHERE r.tenant_id = $1 AND r.next_at <= to_timestamp($2::bigint)
                        AND (r.next_at, r.id) < (to_timestamp($2::bigint), $3)
                    OFFSET 0
                ) s
                OFFSET 0
            ) c
            OFFSET 0
        ) f
        OFFSET 0
    ) p
    OFFSET 0
) m
WHERE $2::bigint + m.wait < $4::bigint
ORDER BY m.wait, m.id
LIMIT $5;

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
