-- name: find_parents
-- Jobs that others may depend on: when they repeat, and whether it is known how one that is due once has ended, if so.
SELECT j.id, j.status::text AS status, r.timing, r.catch_up, j.rule_id IS NOT NULL OR j.deferred OR e.found AS is_known
FROM tickwork.job j
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT true AS found FROM tickwork.execution e
    WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
    OFFSET 0
) e ON true
WHERE j.tenant_id = $1 AND j.id = ANY($2::bigint[]);

-- name: rules_of
-- The rules that give these jobs their rounds: to be locked before anything follows them.
SELECT DISTINCT rule_id FROM tickwork.job WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND rule_id IS NOT NULL;

-- name: one_at_a_time
-- Of a tenant's jobs, no two change what they depend on at the same time: together they could make a circle.
SELECT pg_advisory_xact_lock(hashtextextended('tickwork dependency', $1));

-- name: parents_of
-- What jobs depend on.
SELECT child_id, parent_id FROM tickwork.dependency WHERE child_id = ANY($1::bigint[]) ORDER BY 1, 2;

-- name: follow
-- From now on others depend on these jobs; their rules as they are now.
UPDATE tickwork.job SET followed = true
WHERE id IN (SELECT id FROM tickwork.job WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE)
RETURNING id, rule_id;

-- name: unlink
-- Forgets what a job depended on, and with it what its executions wait for.
WITH edge AS (
    DELETE FROM tickwork.dependency WHERE child_id = $1 AND NOT parent_id = ANY($2::bigint[])
)
DELETE FROM tickwork.awaited WHERE child_id = $1 AND NOT parent_id = ANY($2::bigint[]);

-- name: link
-- What jobs depend on, one row for each.
INSERT INTO tickwork.dependency (tenant_id, child_id, parent_id, on_any)
SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::boolean[])
ON CONFLICT (child_id, parent_id) DO UPDATE SET on_any = excluded.on_any;

-- name: begin_with_next_round
-- Jobs that run in the rounds of others do so from the first one on of which nothing was fired yet.
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
-- Lets jobs that are due once wait for those they depend on.
SELECT tickwork.await_parents(ARRAY(
    SELECT id FROM tickwork.job WHERE id = ANY($1::bigint[]) AND rule_id IS NULL), NULL, false);

-- name: wait_for_parents
-- The waiting executions of jobs that are due once go on waiting, if there is something to wait for.
UPDATE tickwork.execution e SET ready_at = 'infinity'
FROM (
    SELECT tenant_id, scheduled_for, id FROM tickwork.job WHERE id = ANY($1::bigint[]) AND rule_id IS NULL OFFSET 0
) j
WHERE e.tenant_id = ANY(ARRAY[j.tenant_id]) AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
    AND e.status = 'pending' AND e.ready_at IS DISTINCT FROM 'infinity' AND tickwork.is_waiting(j.id, j.scheduled_for);

-- name: release_waiting
-- Executions of these jobs that have nothing more to wait for become ready, unless their job is paused.
UPDATE tickwork.execution e SET ready_at = greatest(e.scheduled_for, tickwork.clock())
FROM (
    SELECT j.tenant_id, waiting.at, j.id
    FROM tickwork.job j
    JOIN unnest($1::bigint[], $2::timestamptz[]) AS waiting (job_id, at) ON waiting.job_id = j.id
    WHERE j.status = 'active' AND NOT tickwork.is_waiting(j.id, waiting.at)
    OFFSET 0
) j
WHERE e.tenant_id = ANY(ARRAY[j.tenant_id]) AND e.scheduled_for = j.at AND e.job_id = j.id
    AND e.ready_at IS NOT DISTINCT FROM 'infinity' AND e.blocked_by IS NULL;

-- name: times_of
-- When jobs that are due once are.
SELECT id, scheduled_for FROM tickwork.job WHERE id = ANY($1::bigint[]) AND scheduled_for IS NOT NULL;

-- name: waiting_times
-- Of which executions a job waits for others.
SELECT DISTINCT child_at FROM tickwork.awaited WHERE child_id = $1;

-- name: set_depends
-- Whether a job depends on others.
UPDATE tickwork.job SET depends = $2 WHERE id = $1;

-- name: has_begun
-- Whether the one execution of a job that is due once is more than waiting.
SELECT EXISTS (
    SELECT FROM tickwork.job j CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id
            AND e.status <> 'pending'
        OFFSET 0
    ) begun
    WHERE j.tenant_id = $1 AND j.id = $2);

-- name: move_followers
-- Jobs that run in the rounds of a job go with it to its new rule, and they remember the old one for their history.
WITH RECURSIVE follower AS (
    SELECT $1::bigint AS id
    UNION
    SELECT d.child_id FROM follower f
    JOIN tickwork.dependency d ON d.parent_id = f.id
    JOIN tickwork.job c ON c.id = d.child_id AND c.rule_id IS NOT NULL
), moved AS (
    UPDATE tickwork.job c SET rule_id = $3
    FROM follower f WHERE c.id = f.id AND c.id <> $1 AND c.rule_id = $2
    RETURNING c.id
)
INSERT INTO tickwork.past_rule (job_id, rule_id, until) SELECT id, $2, tickwork.clock() FROM moved
ON CONFLICT DO NOTHING;

-- name: look_at_unsure
-- Rounds for which it has yet to be seen whether a parent is due in them: it is, or its rule has gone past them without
-- it. Then it counts as skipped.
WITH passed AS (
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
    ended = CASE WHEN NOT EXISTS (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = k.tenant_id AND e.scheduled_for = k.parent_at AND e.job_id = k.parent_id
        OFFSET 0) THEN 'skipped'::tickwork.execution_status END
FROM passed k
WHERE a.child_id = k.child_id AND a.child_at = k.child_at AND a.parent_id = k.parent_id;

-- name: count_ended
-- Lets those go on, or skips them, whose parents were found to have ended.
SELECT tickwork.count_ended();

-- name: root_of_wait
-- Of all that an execution waits for, directly or through others, one that has ended otherwise than it must; up to so many
-- are looked at, the nearest first.
WITH RECURSIVE way AS (
    SELECT tenant_id, parent_id, parent_at FROM tickwork.awaited WHERE child_id = $1 AND child_at = $2
    UNION
    SELECT a.tenant_id, a.parent_id, a.parent_at
    FROM way JOIN tickwork.awaited a ON a.child_id = way.parent_id AND a.child_at = way.parent_at
)
SELECT e.job_id, e.scheduled_for, e.status::text AS status
FROM (SELECT * FROM way LIMIT $3) k
CROSS JOIN LATERAL (
    SELECT e.job_id, e.scheduled_for, e.status FROM tickwork.execution e
    WHERE e.tenant_id = k.tenant_id AND e.scheduled_for = k.parent_at AND e.job_id = k.parent_id
        AND e.finished_at IS NOT NULL
    OFFSET 0
) e
LIMIT 1;

-- name: dependency_graph
-- A job with all that depend on each other around it, the nearest first, up to so many, and how each stands in the latest
-- round of its rule, or in the only one.
WITH RECURSIVE kin AS (
    SELECT $2::bigint AS id
    UNION
    SELECT near.id FROM kin k CROSS JOIN LATERAL (
        SELECT child_id AS id FROM tickwork.dependency WHERE parent_id = k.id
        UNION ALL
        SELECT parent_id FROM tickwork.dependency WHERE child_id = k.id
    ) near
)
SELECT j.id, j.name, j.key, j.task, v.scheduled_for, v.status, v.waiting_for, v.started_at, v.finished_at,
    ARRAY(SELECT d.parent_id FROM tickwork.dependency d WHERE d.child_id = j.id ORDER BY 1) AS parents
FROM (SELECT id, row_number() OVER () AS place FROM kin LIMIT $3) k
CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE tenant_id = $1 AND id = k.id OFFSET 0) j
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT v.scheduled_for, v.status, v.waiting_for, v.started_at, v.finished_at FROM tickwork.execution_view v
    WHERE v.tenant_id = j.tenant_id AND v.scheduled_for = coalesce(j.scheduled_for, r.last_at) AND v.job_id = j.id
    OFFSET 0
) v ON true
ORDER BY k.place;
