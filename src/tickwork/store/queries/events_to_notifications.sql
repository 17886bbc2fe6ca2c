-- How to read these queries: README.md

-- name: facts_after
-- Events of some kinds and tenants from one number to another, in order, with the jobs that they are about. Nobody is
-- told that an execution took as long as its job allows.
SELECT e.number, e.tenant_id, e.at, e.kind, e.job_id, e.scheduled_for, e.attempt, e.error_type, e.fingerprint, e.detail,
    l.queue, l.task, j.name AS job_name, j.key AS job_key, j.tags, j.definition, j.is_recurring, j.depends,
    l.placement LIKE '%"tells_completion":true%' AS tells_completion
FROM tickwork.event e
LEFT JOIN LATERAL (
    SELECT name, key, tags, lane_id, rule_id IS NOT NULL AS is_recurring, depends,
        CASE WHEN position('"notify"'::bytea IN definition) > 0 THEN definition END AS definition
    FROM tickwork.job WHERE id = e.job_id OFFSET 0
) j ON true
LEFT JOIN tickwork.lane l ON l.id = coalesce(e.lane_id, j.lane_id)
WHERE e.number > $1 AND e.number <= $2 AND e.tenant_id = ANY($3::int[]) AND e.kind = ANY($4::text[])
    AND NOT (e.kind = 'execution.slow' AND coalesce(e.detail, '') LIKE '%"expected": true%')
ORDER BY e.number LIMIT $5;

-- name: move_notifier
-- Notes which event was handled last.
UPDATE tickwork.notifier SET place = $1;

-- name: told_rules
-- The rules of some tenants.
SELECT tenant_id, name, tag, queue, kinds, channels FROM tickwork.notification_rule
WHERE tenant_id = ANY($1::int[]) ORDER BY tenant_id, name;

-- name: entries_of_pings
-- What pings say about who is told of them.
SELECT p.tenant_id, p.name, p.notify::text
FROM unnest($1::int[], $2::text[]) AS wanted (tenant_id, name)
JOIN tickwork.ping p ON p.tenant_id = wanted.tenant_id AND p.name = wanted.name;

-- snippet: kin
-- The jobs of the workflow of the job start.id, up to a limit. Follows FROM.
    (
        WITH RECURSIVE kin AS (
            -- The job and all that it is connected to, found step by step.
            SELECT start.id AS id
            UNION
            SELECT near.id FROM kin k CROSS JOIN LATERAL (
                SELECT child_id AS id FROM tickwork.dependency WHERE parent_id = k.id
                UNION ALL
                SELECT parent_id FROM tickwork.dependency WHERE child_id = k.id
            ) near
        )
        SELECT id FROM kin LIMIT 10000
    ) kin

-- name: entries_of_workflows
-- What the jobs of workflows say about who is told of the workflow.
SELECT start.id AS first_id, j.definition
FROM unnest($1::bigint[]) AS start (id)
CROSS JOIN LATERAL
-- include: kin
CROSS JOIN LATERAL (
    SELECT definition FROM tickwork.job
    WHERE id = kin.id AND position('"workflow_done"'::bytea IN definition) > 0
    OFFSET 0
) j;

-- name: write_workflow_ends
-- Writes which workflows have nothing left to run, given executions of theirs that ended: once for each round.
WITH start AS (
    -- The executions, each once.
    SELECT DISTINCT * FROM unnest($1::int[], $2::bigint[], $3::timestamptz[]) AS s (tenant_id, id, scheduled_for)
), round AS (
    -- How all executions of their rounds stand.
    SELECT DISTINCT ON (w.first_id, w.first_at) start.tenant_id, w.*
    FROM start CROSS JOIN LATERAL (
        SELECT min(k.id) AS first_id, (array_agg(coalesce(k.scheduled_for, start.scheduled_for) ORDER BY k.id))[1]
                AS first_at,
            (array_agg(k.lane_id ORDER BY k.id))[1] AS lane_id, count(e.status) AS jobs,
            count(*) FILTER (WHERE e.status = 'completed') AS completed,
            count(*) FILTER (WHERE e.status = 'failed') AS failed,
            count(*) FILTER (WHERE e.status = 'cancelled') AS cancelled,
            count(*) FILTER (WHERE e.status = 'skipped' OR e.status IS NULL AND k.is_skipped) AS skipped,
            min(e.started_at) AS started_at, max(e.finished_at) AS finished_at,
            bool_or(e.status IN ('pending', 'running') OR e.status IS NULL AND k.is_coming) AS goes_on
        FROM
-- include: kin
        CROSS JOIN LATERAL (
            SELECT id, scheduled_for, lane_id, tenant_id, reason_to_skip IS NOT NULL AS is_skipped,
                deferred AND reason_to_skip IS NULL AND status <> 'cancelled' AS is_coming
            FROM tickwork.job WHERE id = kin.id
            OFFSET 0
        ) k
        LEFT JOIN LATERAL (
            SELECT status, started_at, finished_at FROM tickwork.execution
            WHERE tenant_id = k.tenant_id AND scheduled_for = coalesce(k.scheduled_for, start.scheduled_for)
                AND job_id = k.id
            OFFSET 0
        ) e ON true
    ) w
    WHERE NOT w.goes_on
)
INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
SELECT r.tenant_id, 'workflow.ended', r.first_id, r.first_at, r.lane_id,
    json_build_object('jobs', r.jobs, 'completed', r.completed, 'failed', r.failed, 'cancelled', r.cancelled,
                      'skipped', r.skipped, 'started_at', r.started_at, 'finished_at', r.finished_at)::text
FROM round r
WHERE NOT EXISTS (SELECT FROM tickwork.event v WHERE v.tenant_id = r.tenant_id AND v.kind = 'workflow.ended'
                  AND v.scheduled_for = r.first_at AND v.job_id = r.first_id OFFSET 0)
    AND (r.first_at, r.first_id) NOT IN (
        SELECT v.scheduled_for, v.job_id FROM tickwork.new_event v WHERE v.kind = 'workflow.ended');

-- name: gather_notifications
-- Adds facts to what waits to be told. What its channel was told of lately waits until the window ends.
INSERT INTO tickwork.notification AS n (tenant_id, channel_id, channel, cause, kind, severity, count, first, last,
    due_at, incident_key, incident_action)
SELECT g.tenant_id, g.channel_id, g.channel, g.cause, g.kind, g.severity, g.count, g.first, g.last,
    greatest(g.due_at, w.until), g.incident_key, g.incident_action
FROM unnest($1::int[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[],
            $9::bytea[], $10::timestamptz[], $11::text[], $12::text[])
    AS g (tenant_id, channel_id, channel, cause, kind, severity, count, first, last, due_at, incident_key,
          incident_action)
LEFT JOIN tickwork.notification_window w ON w.channel_id = g.channel_id AND w.cause = g.cause
ON CONFLICT (channel_id, cause) WHERE status = 'waiting' DO UPDATE
SET count = n.count + excluded.count, last = coalesce(excluded.last, excluded.first),
    severity = CASE WHEN 'error' IN (n.severity, excluded.severity) THEN 'error'
                    WHEN 'warning' IN (n.severity, excluded.severity) THEN 'warning' ELSE 'info' END;

-- name: drop_closings
-- Drops what would close incidents that are opened again before it was told.
DELETE FROM tickwork.notification n
USING unnest($1::int[], $2::text[]) AS opened (channel_id, incident_key)
WHERE n.channel_id = opened.channel_id AND n.incident_key = opened.incident_key AND n.status = 'waiting'
    AND n.incident_action = 'close';

-- name: flaps
-- How some jobs fail and recover in turn.
SELECT * FROM tickwork.flapping_job WHERE job_id = ANY($1::bigint[]);

-- name: take_settled_flaps
-- Forgets jobs that have not changed since a time.
DELETE FROM tickwork.flapping_job WHERE changed_at < $1 RETURNING *;

-- name: keep_flaps
-- Notes how jobs fail and recover in turn.
INSERT INTO tickwork.flapping_job (channel_id, job_id, recoveries, changed_at, is_failing, is_told, example)
SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::timestamptz[], $5::boolean[], $6::boolean[], $7::bytea[])
ON CONFLICT (channel_id, job_id) DO UPDATE
SET recoveries = excluded.recoveries, changed_at = excluded.changed_at, is_failing = excluded.is_failing,
    is_told = excluded.is_told, example = excluded.example;

-- name: note_trouble
-- Notes what is in trouble under incidents.
INSERT INTO tickwork.incident (channel_id, subject, cause)
SELECT * FROM unnest($1::int[], $2::text[], $3::text[])
ON CONFLICT DO NOTHING;

-- name: end_trouble
-- Forgets what is in trouble no more.
DELETE FROM tickwork.incident i
USING unnest($1::int[], $2::text[]) AS over (channel_id, subject)
WHERE i.subject = over.subject AND i.channel_id = over.channel_id
RETURNING i.channel_id, i.subject, i.cause;

-- name: over_incidents
-- Of these incidents, those under which nothing is in trouble. Their causes are told of at once from now on.
WITH over AS (
    -- Each of them once.
    SELECT DISTINCT o.channel_id, o.cause FROM unnest($1::int[], $2::text[]) AS o (channel_id, cause)
    WHERE NOT EXISTS (
        SELECT FROM tickwork.incident i WHERE i.channel_id = o.channel_id AND i.cause = o.cause OFFSET 0)
), forgotten AS (
    -- Their windows.
    DELETE FROM tickwork.notification_window w USING over WHERE w.channel_id = over.channel_id AND w.cause = over.cause
)
SELECT channel_id, cause FROM over;

-- name: end_deliveries
-- Marks messages whose deliveries ended or failed for now, if these are still their deliveries.
WITH ended AS (
    -- The messages.
    UPDATE tickwork.notification_message m
    SET status = e.status, attempts = greatest(m.attempts, e.attempts), error = coalesce(e.error, m.error),
        ended_at = CASE WHEN e.status <> 'sending' THEN e.at END
    FROM (
        SELECT DISTINCT ON (job_id) * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::timestamptz[])
            WITH ORDINALITY AS sent (job_id, status, attempts, error, at, place)
        ORDER BY job_id, place DESC
    ) e
    WHERE m.job_id = e.job_id AND m.status = 'sending'
    RETURNING m.id, m.status
)
UPDATE tickwork.notification n SET status = ended.status
FROM ended WHERE n.message_id = ended.id AND ended.status <> 'sending';
