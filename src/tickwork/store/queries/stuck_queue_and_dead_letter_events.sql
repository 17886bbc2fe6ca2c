-- How to read these queries: README.md

-- name: is_anything_limited
-- Whether a rule tells of dead letters or of queues that are stuck, or has told of them.
SELECT EXISTS (SELECT FROM tickwork.notification_rule WHERE kinds && ARRAY['dead_letters', 'queue_stuck'])
    OR EXISTS (SELECT FROM tickwork.exceeded_limit) AS is_any;

-- name: lock_limits
-- Lets one node at a time look.
SELECT pg_try_advisory_xact_lock(hashtextextended('tickwork limits of rules', 0));

-- name: watch_queues
-- Notes which executions wait foremost in the lanes of each queue that is watched and not paused, and since when none
-- of them has been started.
WITH watched AS (
    -- The lanes of the queues.
    SELECT DISTINCT l.id, l.tenant_id, l.queue
    FROM tickwork.notification_rule r
    JOIN tickwork.lane l ON l.tenant_id = r.tenant_id AND (r.queue IS NULL OR r.queue = l.queue)
    WHERE 'queue_stuck' = ANY(r.kinds)
        AND NOT EXISTS (SELECT FROM tickwork.limiter g
                        WHERE g.tenant_id = l.tenant_id AND g.kind = 'queue' AND g.name = l.queue AND g.paused)
), foremost AS (
    -- What has waited longest in each lane and priority.
    SELECT w.tenant_id, w.queue, format('%s %s %s', w.id, oldest.job_id, oldest.ready_at) AS name,
        row_number() OVER (PARTITION BY w.tenant_id, w.queue ORDER BY oldest.ready_at, w.id) AS place
    FROM watched w
    CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT e.job_id, e.ready_at FROM tickwork.execution e
        WHERE e.lane_id = w.id AND e.priority = level.priority AND e.ready_at <= tickwork.clock()
        ORDER BY e.ready_at LIMIT 1
    ) oldest
), waiting AS (
    -- The same by queue, the longest waiting of very many.
    SELECT tenant_id, queue, array_agg(name) AS foremost FROM foremost WHERE place <= 1000 GROUP BY 1, 2
), empty AS (
    -- Queues in which nothing waits any more.
    DELETE FROM tickwork.watched_queue q
    WHERE NOT EXISTS (SELECT FROM waiting w WHERE w.tenant_id = q.tenant_id AND w.queue = q.queue)
)
INSERT INTO tickwork.watched_queue AS q (tenant_id, queue, foremost)
SELECT tenant_id, queue, foremost FROM waiting
ON CONFLICT (tenant_id, queue) DO UPDATE
SET since = CASE WHEN q.foremost <@ excluded.foremost THEN q.since ELSE tickwork.clock() END,
    foremost = excluded.foremost;

-- snippet: exceeded
-- What is too much now, by rule: dead letters, or queues of which nothing has started for too long.
    SELECT r.tenant_id, r.name AS rule, 'dead_letters' AS kind, '' AS queue,
        json_build_object('rule', r.name, 'above', r.dead_letters_above)::text AS detail
    FROM tickwork.notification_rule r
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.dead_letter d WHERE d.tenant_id = r.tenant_id LIMIT 1 OFFSET r.dead_letters_above
    ) one_more
    WHERE 'dead_letters' = ANY(r.kinds)
    UNION ALL
    SELECT r.tenant_id, r.name, 'queue_stuck', q.queue,
        json_build_object('rule', r.name, 'queue', q.queue,
                          'for', round(extract(epoch FROM tickwork.clock() - q.since)))::text
    FROM tickwork.notification_rule r
    JOIN tickwork.watched_queue q ON q.tenant_id = r.tenant_id AND (r.queue IS NULL OR r.queue = q.queue)
    WHERE 'queue_stuck' = ANY(r.kinds) AND q.since <= tickwork.clock() - r.stuck_after

-- name: write_exceeded
-- Writes what has become too much.
WITH exceeded AS (
-- include: exceeded
), told AS (
    -- What was not told before.
    INSERT INTO tickwork.exceeded_limit (tenant_id, rule, kind, queue)
    SELECT tenant_id, rule, kind, queue FROM exceeded
    ON CONFLICT DO NOTHING
    RETURNING tenant_id, rule, kind, queue
)
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT e.tenant_id, CASE e.kind WHEN 'dead_letters' THEN 'deadletters.exceeded' ELSE 'queue.stuck' END, e.detail
FROM exceeded e JOIN told USING (tenant_id, rule, kind, queue);

-- name: write_no_longer_exceeded
-- Writes what is too much no more.
WITH exceeded AS (
-- include: exceeded
), over AS (
    -- What was told before.
    DELETE FROM tickwork.exceeded_limit t
    WHERE NOT EXISTS (SELECT FROM exceeded e WHERE (e.tenant_id, e.rule, e.kind, e.queue)
                      = (t.tenant_id, t.rule, t.kind, t.queue))
    RETURNING t.tenant_id, t.rule, t.kind, t.queue
)
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT o.tenant_id, CASE o.kind WHEN 'dead_letters' THEN 'deadletters.receded' ELSE 'queue.recovered' END,
    json_strip_nulls(json_build_object(
        'rule', o.rule, 'queue', nullif(o.queue, ''), 'above', r.dead_letters_above))::text
FROM over o JOIN tickwork.notification_rule r ON r.tenant_id = o.tenant_id AND r.name = o.rule;
