-- How to read these queries: README.md
--
-- $1 is the tenant. A filter is $2 to $14, each null or empty if it is not given: status, task, prefix of the task,
-- queue, priority, tags, owner, whether it is recurring, words in ASCII, created after and before, due after and
-- before.

-- snippet: cheap_filter
-- What the row of a job j in a lane l tells. Words are only looked for as parts of the text, and only in ASCII: lower()
-- is not what makes words equal elsewhere. So the reader looks again.
    ($3::text IS NULL OR l.task = $3) AND ($4::text IS NULL OR starts_with(l.task, $4))
    AND ($5::text IS NULL OR l.queue = $5) AND ($6::smallint IS NULL OR j.priority = $6)
    AND j.tags @> $7::text[] AND ($8::text IS NULL OR j.owner = $8)
    AND ($9::boolean IS NULL OR (j.rule_id IS NOT NULL) = $9)
    AND ($11::timestamptz IS NULL OR j.created_at > $11) AND ($12::timestamptz IS NULL OR j.created_at < $12)
    AND ($13::timestamptz IS NULL AND $14::timestamptz IS NULL OR EXISTS (
        SELECT FROM (
            SELECT CASE WHEN j.rule_id IS NULL THEN j.scheduled_for
                        ELSE (SELECT next_at FROM tickwork.rule WHERE id = j.rule_id) END AS at
        ) next WHERE at > coalesce($13, '-infinity') AND at < coalesce($14, 'infinity')))
    AND ($10::text[] = '{}' OR NOT EXISTS (
        SELECT FROM unnest($10::text[]) AS word,
            concat_ws(' ', j.name, j.key, l.task, array_to_string(j.tags, ' '), j.description) AS text
        WHERE strpos(lower(text), word) = 0 AND octet_length(text) = length(text)))

-- snippet: costly_filter
-- What only the view v of a job tells.
    ($2::text IS NULL OR v.status = $2)
    AND ($13::timestamptz IS NULL OR v.next_run_at > $13) AND ($14::timestamptz IS NULL OR v.next_run_at < $14)

-- name: index_state
-- How far the index has come, which jobs of a tenant were changed since, and in which segments it has jobs.
SELECT i.indexed_to, i.settled_time, i.settled_job, (SELECT last_value FROM tickwork.job_id) AS last_id,
    ARRAY(SELECT DISTINCT job_id FROM tickwork.job_change WHERE tenant_id = $1) AS changed,
    ARRAY(SELECT segment FROM tickwork.job_segment WHERE tenant_id = $1 ORDER BY segment) AS segments
FROM tickwork.job_index i;

-- name: sets_of_terms
-- For each of some segments and each of some terms the row of its own, or else the row that it shares with others.
SELECT s.segment, w.number::int AS term, t.slot, t.jobs
FROM unnest($2::int[]) AS s (segment)
CROSS JOIN unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS w (own, shared, number)
CROSS JOIN LATERAL (
    SELECT slot, jobs FROM tickwork.job_term
    WHERE tenant_id = $1 AND segment = s.segment AND slot IN (w.own, w.shared)
    ORDER BY slot
    LIMIT 1
) t;

-- name: creation_of_segments
-- When the jobs of a tenant's segments were created.
SELECT segment, created FROM tickwork.job_segment WHERE tenant_id = $1;

-- name: matching_jobs
-- The first $16 of some jobs that a filter lets through, as users see them. What follows them is not looked at closely.
SELECT v.* FROM (
    SELECT wanted.number, j.id FROM unnest($15::bigint[]) WITH ORDINALITY AS wanted (id, number)
    CROSS JOIN LATERAL (
        SELECT j.id FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
        WHERE j.id = wanted.id AND j.tenant_id = $1 AND
        -- include: cheap_filter
        OFFSET 0
    ) j
    ORDER BY wanted.number
) j
CROSS JOIN LATERAL (SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = j.id OFFSET 0) v
WHERE
-- include: costly_filter
ORDER BY j.number
LIMIT $16;

-- name: all_newest_first
-- One page of all jobs of a tenant as users see them, newest first.
SELECT v.* FROM (SELECT id FROM tickwork.job WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3) j
CROSS JOIN LATERAL (SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = j.id OFFSET 0) v
ORDER BY j.id DESC;

-- name: new_jobs_newest_first
-- The jobs that are not indexed yet and that a filter lets through, as users see them, newest first.
SELECT v.* FROM (
    SELECT j.id FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
    WHERE j.tenant_id = $1 AND j.id > $15 AND j.id < $16 AND
    -- include: cheap_filter
    ORDER BY j.id DESC
) j
CROSS JOIN LATERAL (SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = j.id OFFSET 0) v
WHERE
-- include: costly_filter
ORDER BY j.id DESC
LIMIT $17;

-- name: new_jobs_oldest_first
-- The jobs that are not indexed yet and that a filter lets through, as users see them, oldest first.
SELECT v.* FROM (
    SELECT j.id FROM tickwork.job j JOIN tickwork.lane l ON l.id = j.lane_id
    WHERE j.tenant_id = $1 AND j.id > $15 AND j.id < $16 AND
    -- include: cheap_filter
    ORDER BY j.id
) j
CROSS JOIN LATERAL (SELECT * FROM tickwork.job_view WHERE tenant_id = $1 AND id = j.id OFFSET 0) v
WHERE
-- include: costly_filter
ORDER BY j.id
LIMIT $17;

-- name: count_existing
-- How many of some jobs there are.
SELECT count(*) AS count FROM unnest($2::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT FROM tickwork.job WHERE tenant_id = $1 AND id = wanted.id OFFSET 0) j;

-- name: unended_jobs
-- The one-time jobs of a tenant whose end the index does not know: noted ones, and those that became due since it
-- looked; $4 at most of each.
(SELECT job_id AS id FROM tickwork.job_unended WHERE tenant_id = $1 LIMIT $4)
UNION ALL
(SELECT id FROM (
    SELECT id, tenant_id FROM tickwork.job
    WHERE rule_id IS NULL AND (scheduled_for, id) > ($2::timestamptz, $3::bigint) AND scheduled_for <= tickwork.clock()
    ORDER BY scheduled_for, id
    LIMIT $4
) due WHERE tenant_id = $1);

-- name: ended_recurring_jobs
-- Recurring jobs of a tenant that have ended; $2 at most of each kind.
(SELECT j.id FROM tickwork.rule r CROSS JOIN LATERAL (
    SELECT id FROM tickwork.job WHERE rule_id = r.id AND status = 'active' LIMIT $2
) j WHERE r.tenant_id = $1 AND r.next_at IS NULL LIMIT $2)
UNION ALL
(SELECT j.id FROM tickwork.job j JOIN tickwork.rule r ON r.id = j.rule_id
 WHERE j.tenant_id = $1 AND j.active_until IS NOT NULL AND j.active_until < tickwork.clock() + interval '1 minute'
     AND j.status = 'active' AND j.active_until < r.next_at
 LIMIT $2);

-- name: rules_due
-- The rules of all tenants that are due in a range, up to $4, and whether they are of this one.
SELECT id, tenant_id = $1 AS is_own FROM tickwork.rule
WHERE next_at > $2::timestamptz AND next_at < $3::timestamptz
ORDER BY next_at
LIMIT $4;

-- name: unended_in_range
-- The one-time jobs of a tenant that were due in a range and had not ended when the index looked; $4 at most.
SELECT job_id AS id FROM tickwork.job_unended
WHERE tenant_id = $1 AND scheduled_for > $2::timestamptz AND scheduled_for < $3::timestamptz
LIMIT $4;

-- name: next_runs_of_rules
-- Recurring jobs by their next run, after a place: along the rules in the order in which they are due.
SELECT r.next_at AS at, r.id AS rule_id, j.priority, j.id
FROM tickwork.rule r
CROSS JOIN LATERAL (
    SELECT priority, id FROM tickwork.job
    WHERE rule_id = r.id AND status = 'active' AND ((r.next_at, r.id) > ($2, $3) OR (priority, id) > ($4, $5))
    ORDER BY priority, id
    LIMIT $7
) j
WHERE r.tenant_id = $1 AND r.next_at IS NOT NULL AND (r.next_at, r.id) >= ($2::timestamptz, $3::bigint)
    AND r.next_at < $6
ORDER BY r.next_at, r.id, j.priority, j.id
LIMIT $7;

-- name: next_runs_of_one_time_jobs
-- One-time jobs by their due times, after a place: those that had not ended, then those that are not due yet.
SELECT at, 0::bigint AS rule_id, 0::smallint AS priority, id FROM (
    (SELECT u.scheduled_for AS at, u.job_id AS id FROM tickwork.job_unended u
     WHERE u.tenant_id = $1 AND (u.scheduled_for, u.job_id) > ($2, $3) AND u.scheduled_for < $4 AND EXISTS (
         SELECT FROM tickwork.job j WHERE j.id = u.job_id AND j.scheduled_for = u.scheduled_for AND j.status = 'active'
         OFFSET 0)
     ORDER BY u.scheduled_for, u.job_id
     LIMIT $5)
    UNION
    (SELECT scheduled_for, id FROM tickwork.job
     WHERE rule_id IS NULL
         AND (scheduled_for, id) > (greatest($2, $6::timestamptz), CASE WHEN $2 >= $6 THEN $3 ELSE $7 END)
         AND scheduled_for < $4 AND tenant_id = $1 AND status = 'active'
     ORDER BY scheduled_for, id
     LIMIT $5)
) due
ORDER BY at, id
LIMIT $5;

-- name: next_runs_of_jobs
-- The next runs of some jobs.
SELECT coalesce(r.next_at, j.scheduled_for) AS at, coalesce(j.rule_id, 0) AS rule_id,
    CASE WHEN j.rule_id IS NULL THEN 0 ELSE j.priority END::smallint AS priority, j.id
FROM unnest($2::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job WHERE id = wanted.id AND tenant_id = $1 AND status = 'active' OFFSET 0
) j
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
WHERE coalesce(r.next_at, j.scheduled_for) IS NOT NULL;

-- name: jobs_that_fail
-- The recurring jobs of a tenant that fail, by segment.
SELECT (job_id >> 16)::int AS segment, array_agg((job_id & 65535)::int) AS places
FROM (SELECT job_id FROM tickwork.failing_job WHERE tenant_id = $1 ORDER BY job_id LIMIT $2) failing
GROUP BY 1;

-- name: blocked_jobs
-- The jobs of a tenant that waited for an execution that failed, as events tell; $2 at most.
SELECT DISTINCT job_id AS id FROM (
    SELECT job_id FROM tickwork.event
    WHERE tenant_id = $1 AND kind = 'execution.blocked' AND scheduled_for IS NOT NULL
    ORDER BY scheduled_for DESC, job_id DESC
    LIMIT $2
) e;

-- name: late_jobs
-- The jobs of a tenant whose rule, or whose execution, should have been dealt with $2 ago; $3 at most of each.
WITH part AS MATERIALIZED (
    -- The partitions to look at.
    SELECT * FROM tickwork.partitions_with_waiting(tickwork.clock())
)
(SELECT j.id FROM tickwork.rule r CROSS JOIN LATERAL (
    SELECT id FROM tickwork.job WHERE rule_id = r.id AND status = 'active' LIMIT $3
) j WHERE r.next_at < tickwork.clock() - $2::interval AND r.tenant_id = $1 LIMIT $3)
UNION
(SELECT e.job_id
FROM part CROSS JOIN tickwork.lane l CROSS JOIN generate_series(0, 3) AS priority CROSS JOIN LATERAL (
    SELECT job_id FROM tickwork.execution
    WHERE lane_id = l.id AND execution.priority = priority.priority AND ready_at IS NOT NULL
        AND ready_at < tickwork.clock() - $2::interval
        AND scheduled_for >= part.begins AND scheduled_for < part.ends
    ORDER BY ready_at LIMIT $3
) e
WHERE l.tenant_id = $1
LIMIT $3);
