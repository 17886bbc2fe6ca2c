-- How to read these queries: README.md

-- name: set_heartbeats
-- Gives jobs their heartbeat URLs.
INSERT INTO tickwork.heartbeat AS h (job_id, tenant_id, url)
SELECT job_id, $1, url FROM unnest($2::bigint[], $3::text[]) AS sent (job_id, url)
ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, failures = 0, error = NULL WHERE h.url <> excluded.url;

-- name: delete_heartbeat
-- Takes the heartbeat URL of a job away.
DELETE FROM tickwork.heartbeat WHERE job_id = $1;

-- name: heartbeat_of_job
-- The heartbeat URL of a job, and what its last call came to.
SELECT url, called_at, error, failures FROM tickwork.heartbeat WHERE tenant_id = $1 AND job_id = $2;

-- name: heartbeat_jobs
-- The jobs that have a heartbeat URL, as one array: every node reads it every second, and decoding rows would keep it
-- busy.
SELECT ARRAY(SELECT job_id FROM tickwork.heartbeat LIMIT $1) AS jobs;

-- name: mark_heartbeats
-- Notes that there is something to tell of jobs, if these executions of theirs have completed.
UPDATE tickwork.heartbeat h SET completed_at = tickwork.clock(), due_at = tickwork.clock(), failures = 0
FROM (
    SELECT DISTINCT e.job_id
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS k (tenant_id, scheduled_for, job_id)
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id
        AND e.status = 'completed'
) done
WHERE h.job_id = done.job_id;

-- name: completed_since_heartbeat
-- Of these jobs, executions that completed since they have their URL, if none was told of yet: the job's own, of its
-- latest rounds and of manual runs.
SELECT e.tenant_id, e.scheduled_for, e.job_id
FROM unnest($1::bigint[]) AS wanted (job_id)
JOIN tickwork.heartbeat h ON h.job_id = wanted.job_id AND h.completed_at IS NULL
JOIN tickwork.job j ON j.id = h.job_id
CROSS JOIN LATERAL (
    SELECT j.scheduled_for AS at WHERE j.scheduled_for IS NOT NULL
    UNION ALL
    (SELECT scheduled_for FROM tickwork.round
     WHERE rule_id = j.rule_id ORDER BY scheduled_for DESC LIMIT 3)
    UNION ALL
    (SELECT scheduled_for FROM tickwork.off_schedule_execution
     WHERE job_id = j.id ORDER BY scheduled_for DESC LIMIT 3)
) due
CROSS JOIN LATERAL (
    SELECT tenant_id, scheduled_for, job_id FROM tickwork.execution
    WHERE tenant_id = h.tenant_id AND scheduled_for = due.at AND job_id = h.job_id
        AND status = 'completed' AND finished_at >= h.created_at
    OFFSET 0
) e;

-- name: take_due_heartbeats
-- Takes heartbeats that are to be called now. If this node dies, another one takes them when the lease is over.
UPDATE tickwork.heartbeat h SET due_at = tickwork.clock() + $2::interval
FROM (
    SELECT job_id FROM tickwork.heartbeat WHERE due_at <= tickwork.clock()
    ORDER BY due_at LIMIT $1
    FOR UPDATE SKIP LOCKED
) due
WHERE h.job_id = due.job_id
RETURNING h.job_id, h.url, h.completed_at;

-- name: note_called_heartbeats
-- Notes what calls came to. What failed is called again after a while that doubles each time, unless the execution that
-- it tells of completed too long ago. One that has completed since then is to be told of anyway.
UPDATE tickwork.heartbeat h
SET called_at = tickwork.clock(), error = c.error, failures = CASE WHEN c.error IS NULL THEN 0 ELSE h.failures + 1 END,
    due_at = CASE WHEN c.error IS NOT NULL AND h.completed_at > tickwork.clock() - $4::interval
        THEN tickwork.clock() + least(interval '5 seconds' * 2 ^ h.failures, interval '10 minutes') END
FROM unnest($1::bigint[], $2::timestamptz[], $3::text[]) AS c (job_id, completed_at, error)
WHERE h.job_id = c.job_id AND h.completed_at = c.completed_at;

-- name: set_outside_ping
-- Sets where the cluster reports itself, beginning now.
INSERT INTO tickwork.outside_ping (url, due_at) VALUES ($1, tickwork.clock())
ON CONFLICT (one) DO UPDATE
SET url = excluded.url, due_at = excluded.due_at, called_at = NULL, answered_at = NULL, error = NULL;

-- name: delete_outside_ping
-- Lets the cluster report itself nowhere.
DELETE FROM tickwork.outside_ping;

-- name: outside_ping
-- Where the cluster reports itself.
SELECT url, called_at, answered_at, error FROM tickwork.outside_ping;

-- name: is_outside_ping_due
-- Whether the cluster is to report itself now. Nearly always it is not, and this needs no transaction.
SELECT EXISTS (SELECT FROM tickwork.outside_ping WHERE due_at <= tickwork.clock()) AS is_due;

-- name: take_due_outside_ping
-- Takes the report of the cluster that is due, if no rule waits to be fired for longer than it may.
UPDATE tickwork.outside_ping SET due_at = tickwork.clock() + $1::interval
WHERE due_at <= tickwork.clock()
    AND NOT EXISTS (SELECT FROM tickwork.rule WHERE next_at < tickwork.clock() - $2::interval)
RETURNING url;

-- name: note_called_outside_ping
-- Notes what the report of the cluster came to. One that failed is repeated sooner.
UPDATE tickwork.outside_ping
SET called_at = tickwork.clock(), error = $1,
    answered_at = CASE WHEN $1::text IS NULL THEN tickwork.clock() ELSE answered_at END,
    due_at = CASE WHEN $1::text IS NULL THEN due_at ELSE least(due_at, tickwork.clock() + $2::interval) END;
