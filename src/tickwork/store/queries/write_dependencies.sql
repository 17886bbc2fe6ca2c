-- How to read these queries: README.md

-- name: find_parents
-- Jobs that others may depend on: their timing, and whether the end of a one-time job is still known.
SELECT j.id, j.status::text AS status, r.timing, r.catch_up, j.rule_id IS NOT NULL OR j.deferred OR e.found AS is_known
FROM tickwork.job j
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT true AS found FROM tickwork.execution e
    WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
    OFFSET 0
) e ON true
WHERE j.tenant_id = $1 AND j.id = ANY($2::bigint[]);

-- name: rules_of_jobs
-- The rules of these jobs, to be locked before other jobs depend on them.
SELECT DISTINCT rule_id FROM tickwork.job WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND rule_id IS NOT NULL;

-- name: lock_dependencies
-- Lets only one transaction at a time change the dependencies of a tenant: two could close a circle together.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork dependency', $1));

-- name: parents_of_jobs
-- The parents of jobs.
SELECT child_id, parent_id FROM tickwork.dependency WHERE child_id = ANY($1::bigint[]) ORDER BY 1, 2;

-- name: mark_as_parents
-- Marks jobs as parents, and returns their rules and status as they are now.
UPDATE tickwork.job SET followed = true
WHERE id IN (SELECT id FROM tickwork.job WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE)
RETURNING id, rule_id, status::text AS status;

-- name: purged_parents
-- Those of these jobs that are being deleted.
SELECT job_id FROM tickwork.purge WHERE tenant_id = $1 AND job_id = ANY($2::bigint[]);

-- name: delete_parents
-- Removes the parents of a job, with what its executions wait for.
WITH edge AS (
    -- The dependencies on parents that are not listed, deleted.
    DELETE FROM tickwork.dependency WHERE child_id = $1 AND NOT parent_id = ANY($2::bigint[])
)
DELETE FROM tickwork.awaited WHERE child_id = $1 AND NOT parent_id = ANY($2::bigint[]);

-- name: insert_parents
-- Records the parents of jobs, one row each.
INSERT INTO tickwork.dependency (tenant_id, child_id, parent_id, needs, condition)
SELECT $1, child_id, parent_id, needs, condition::jsonpath
FROM unnest($2::bigint[], $3::bigint[], $4::text[]::tickwork.needed_outcome[], $5::text[])
    AS d (child_id, parent_id, needs, condition)
ON CONFLICT (child_id, parent_id) DO UPDATE SET needs = excluded.needs, condition = excluded.condition;

-- name: begin_with_next_round
-- Lets jobs with recurring parents begin with the first round of which nothing was fired yet.
UPDATE tickwork.job c SET active_from = greatest(c.active_from, begun.at + interval '1 microsecond')
FROM (
    SELECT d.child_id, max(greatest(r.last_at, CASE WHEN r.cursor_job IS NOT NULL THEN r.next_at END)) AS at
    FROM tickwork.dependency d
    JOIN tickwork.job p ON p.id = d.parent_id
    JOIN tickwork.rule r ON r.id = p.rule_id
    WHERE d.child_id = ANY($1::bigint[])
    GROUP BY d.child_id
) begun
WHERE c.id = begun.child_id AND c.rule_id IS NOT NULL AND begun.at >= c.active_from;

-- name: await_parents
-- Makes one-time jobs wait for their parents. What that finds to have ended is to be counted.
SELECT tickwork.await_parents(ARRAY(
    SELECT id FROM tickwork.job WHERE id = ANY($1::bigint[]) AND rule_id IS NULL), NULL, false);

-- name: wait_for_parents
-- Makes the executions of one-time jobs wait again, if they have a parent to wait for.
UPDATE tickwork.execution e SET ready_at = 'infinity'
FROM (
    SELECT tenant_id, scheduled_for, id FROM tickwork.job WHERE id = ANY($1::bigint[]) AND rule_id IS NULL OFFSET 0
) j
WHERE e.tenant_id = ANY(ARRAY[j.tenant_id]) AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
    AND e.status = 'pending' AND e.ready_at IS DISTINCT FROM 'infinity'
    AND tickwork.awaits_parents(j.id, j.scheduled_for);

-- name: release_waiting
-- Lets executions go on that have no parent to wait for any more, unless their job is paused.
UPDATE tickwork.execution e SET ready_at = greatest(e.scheduled_for, tickwork.clock())
FROM (
    SELECT j.tenant_id, waiting.at, j.id
    FROM tickwork.job j
    JOIN unnest($1::bigint[], $2::timestamptz[]) AS waiting (job_id, at) ON waiting.job_id = j.id
    WHERE j.status = 'active' AND NOT tickwork.awaits_parents(j.id, waiting.at)
    OFFSET 0
) j
WHERE e.tenant_id = ANY(ARRAY[j.tenant_id]) AND e.scheduled_for = j.at AND e.job_id = j.id
    AND e.ready_at IS NOT DISTINCT FROM 'infinity' AND e.blocked_by IS NULL;

-- name: due_times_of_one_time_jobs
-- The due times of one-time jobs.
SELECT id, scheduled_for FROM tickwork.job WHERE id = ANY($1::bigint[]) AND scheduled_for IS NOT NULL;

-- name: times_waiting_for_parents
-- The due times at which a job waits for parents.
SELECT DISTINCT child_at FROM tickwork.awaited WHERE child_id = $1;

-- name: set_depends
-- Sets whether a job has parents, now that they are others.
UPDATE tickwork.job SET depends = $2, reason_to_skip = NULL WHERE id = $1;

-- name: has_begun
-- Whether the execution of a one-time job is no longer pending.
SELECT EXISTS (
    SELECT FROM tickwork.job j CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
            AND e.status <> 'pending'
        OFFSET 0
    ) begun
    WHERE j.tenant_id = $1 AND j.id = $2);

-- name: move_followers
-- Moves the jobs that run in the rounds of a job to its new rule, and records their past rule.
WITH RECURSIVE follower AS (
    -- The job and all recurring jobs that depend on it, directly or through others.
    SELECT $1::bigint AS id
    UNION
    SELECT d.child_id FROM follower f
    JOIN tickwork.dependency d ON d.parent_id = f.id
    JOIN tickwork.job c ON c.id = d.child_id AND c.rule_id IS NOT NULL
), moved AS (
    -- Those that had its old rule, moved to the new one.
    UPDATE tickwork.job c SET rule_id = $3
    FROM follower f WHERE c.id = f.id AND c.id <> $1 AND c.rule_id = $2
    RETURNING c.id
)
INSERT INTO tickwork.past_rule (job_id, rule_id, until) SELECT id, $2, tickwork.clock() FROM moved
ON CONFLICT DO NOTHING;

-- name: resolve_unsure_parents
-- Decides for parents that may not be due in a round: their rule has passed it by now. A parent without an execution
-- counts as skipped.
WITH passed AS (
    -- Parents whose rule has passed the round, or has no next due time.
    SELECT a.child_id, a.child_at, a.parent_id, a.parent_at, a.tenant_id
    FROM tickwork.awaited a
    JOIN tickwork.job p ON p.id = a.parent_id
    LEFT JOIN tickwork.rule r ON r.id = p.rule_id
    WHERE a.unsure AND (r.next_at IS NULL OR r.next_at > a.parent_at)
    ORDER BY a.child_at LIMIT $1
    FOR UPDATE OF a SKIP LOCKED
)
UPDATE tickwork.awaited a
SET unsure = false,
    verdict = CASE WHEN NOT EXISTS (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = k.tenant_id AND e.scheduled_for = k.parent_at AND e.job_id = k.parent_id
        OFFSET 0) THEN tickwork.judge(a.needs, a.condition, 'skipped', NULL, NULL) END
FROM passed k
WHERE a.child_id = k.child_id AND a.child_at = k.child_at AND a.parent_id = k.parent_id;

-- name: count_ended
-- Lets executions go on, or skips them, whose parents were found to have ended.
SELECT tickwork.count_ended();

-- name: skip_decided
-- Skips the executions of jobs whose parents decided, before these existed, that they do not run.
UPDATE tickwork.execution e
SET status = 'skipped', ready_at = NULL, finished_at = tickwork.clock(), reason = j.reason_to_skip
FROM (
    SELECT tenant_id, scheduled_for, id, reason_to_skip FROM tickwork.job
    WHERE id = ANY($1::bigint[]) AND reason_to_skip IS NOT NULL
    OFFSET 0
) j
WHERE e.tenant_id = ANY(ARRAY[j.tenant_id]) AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
    AND e.status = 'pending';

-- name: root_of_wait
-- Of all that an execution waits for, directly or through others, one that ended otherwise than required. The nearest
-- are looked at first, up to a limit.
SELECT e.job_id, e.scheduled_for, e.status::text AS status
FROM (SELECT * FROM tickwork.awaited_by($1, $2) LIMIT $3) k
CROSS JOIN LATERAL (
    SELECT e.job_id, e.scheduled_for, e.status FROM tickwork.execution e
    WHERE e.tenant_id = k.tenant_id AND e.scheduled_for = k.parent_at AND e.job_id = k.parent_id
        AND e.finished_at IS NOT NULL
    OFFSET 0
) e
LIMIT 1;

-- name: dependency_graph
-- A job with all jobs that it is connected to by dependencies, or as an element of a list, the nearest first, up to a
-- limit, and the latest execution of each.
WITH RECURSIVE kin AS (
    -- The job and all that it is connected to, found step by step.
    SELECT $2::bigint AS id
    UNION
    SELECT near.id FROM kin k CROSS JOIN LATERAL (
        SELECT child_id AS id FROM tickwork.dependency WHERE parent_id = k.id
        UNION ALL
        SELECT parent_id FROM tickwork.dependency WHERE child_id = k.id
        UNION ALL
        SELECT element_of FROM tickwork.job WHERE id = k.id AND element_of IS NOT NULL
        UNION ALL
        SELECT x.id FROM tickwork.job c LEFT JOIN tickwork.rule r ON r.id = c.rule_id
        JOIN tickwork.job x ON x.element_of = c.id AND x.element_at = coalesce(c.scheduled_for, r.last_at)
        WHERE c.id = k.id
    ) near
)
SELECT j.id, j.element_of, j.name, j.key, j.task, v.scheduled_for, v.status, v.waiting_for, v.reason, v.started_at,
    v.finished_at,
    ARRAY(SELECT d.parent_id FROM tickwork.dependency d WHERE d.child_id = j.id ORDER BY d.parent_id) AS parents,
    ARRAY(SELECT d.needs::text FROM tickwork.dependency d WHERE d.child_id = j.id ORDER BY d.parent_id) AS needs,
    ARRAY(SELECT d.condition IS NOT NULL FROM tickwork.dependency d WHERE d.child_id = j.id ORDER BY d.parent_id)
        AS conditional
FROM (SELECT id, row_number() OVER () AS place FROM kin LIMIT $3) k
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE tenant_id = $1 AND id = k.id OFFSET 0) j
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT v.scheduled_for, v.status, v.waiting_for, v.reason, v.started_at, v.finished_at
    FROM tickwork.execution_view v
    WHERE v.tenant_id = j.tenant_id AND v.scheduled_for = coalesce(j.scheduled_for, r.last_at) AND v.job_id = j.id
    OFFSET 0
) v ON true
ORDER BY k.place;
