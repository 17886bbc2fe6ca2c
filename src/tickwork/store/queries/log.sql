-- How to read these queries: README.md

-- name: lock_logs
-- Lets one transaction at a time write the log of an attempt: after a reconnect its lines may come through two nodes.
-- Attempts share a few locks, because a lock for each would be too many.
SELECT pg_advisory_xact_lock(7741, bucket) FROM unnest($1::int[]) bucket;

-- name: next_log_lines
-- The number of the next log line of each attempt; nothing for executions that are no longer kept.
SELECT c.tenant_id, c.scheduled_for, c.job_id, c.attempt,
    coalesce((
        SELECT l.first_line + l.line_count FROM tickwork.log l
        WHERE l.tenant_id = c.tenant_id AND l.scheduled_for = c.scheduled_for AND l.job_id = c.job_id
            AND l.attempt = c.attempt
        ORDER BY l.first_line DESC LIMIT 1
    ), 0) AS next_line
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[]) AS c (tenant_id, scheduled_for, job_id, attempt)
CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution e
    WHERE e.tenant_id = c.tenant_id AND e.scheduled_for = c.scheduled_for AND e.job_id = c.job_id
    OFFSET 0
) kept;

-- name: insert_log_lines
-- Stores chunks of log lines.
INSERT INTO tickwork.log (tenant_id, scheduled_for, job_id, attempt, first_line, line_count, lines)
SELECT * FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::bytea[]);

-- name: forget_oldest_log_lines
-- Deletes the oldest chunks of each attempt beyond a size.
DELETE FROM tickwork.log l
USING (
    SELECT c.tenant_id, c.scheduled_for, c.job_id, c.attempt, chunk.first_line
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[])
        AS c (tenant_id, scheduled_for, job_id, attempt)
    CROSS JOIN LATERAL (
        SELECT k.first_line, sum(octet_length(k.lines)) OVER (ORDER BY k.first_line DESC) AS size
        FROM tickwork.log k
        WHERE k.tenant_id = c.tenant_id AND k.scheduled_for = c.scheduled_for AND k.job_id = c.job_id
            AND k.attempt = c.attempt
    ) chunk
    WHERE chunk.size > $5
) old
WHERE l.tenant_id = ANY(ARRAY[old.tenant_id]) AND l.scheduled_for = old.scheduled_for AND l.job_id = old.job_id
    AND l.attempt = old.attempt AND l.first_line = old.first_line;

-- name: insert_usage
-- Records what the processes of attempts have used, of executions that are still kept. What was reported first stays.
INSERT INTO tickwork.process_usage (tenant_id, scheduled_for, job_id, attempt, cpu_seconds, peak_memory)
SELECT used.*
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::float8[], $6::bigint[])
    AS used (tenant_id, scheduled_for, job_id, attempt, cpu_seconds, peak_memory)
CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution e
    WHERE e.tenant_id = used.tenant_id AND e.scheduled_for = used.scheduled_for AND e.job_id = used.job_id
    OFFSET 0
) kept
ON CONFLICT DO NOTHING;

-- name: set_progress
-- Records the progress of running attempts and when they started, and returns those that another transaction has
-- locked. It waits for no row, so it cannot be part of a deadlock.
WITH reported AS MATERIALIZED (
    -- The executions that the reports are about, if the attempt still runs.
    SELECT o.number, o.progress, o.started_at, e.tenant_id, e.scheduled_for, e.job_id, e.worker_id, e.attempt
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::bytea[], $7::timestamptz[])
        WITH ORDINALITY AS o (tenant_id, scheduled_for, job_id, worker_id, attempt, progress, started_at, number)
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
        AND e.worker_id = o.worker_id AND e.attempt = o.attempt AND e.status = 'running'
), free AS MATERIALIZED (
    -- Those that no other transaction has locked.
    SELECT s.number, s.progress, s.started_at, e.tenant_id, e.scheduled_for, e.job_id
    FROM reported s
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[s.tenant_id]) AND e.scheduled_for = s.scheduled_for AND e.job_id = s.job_id
        AND e.worker_id = s.worker_id AND e.attempt = s.attempt AND e.status = 'running'
    FOR NO KEY UPDATE OF e SKIP LOCKED
), changed AS (
    -- The same, updated.
    UPDATE tickwork.execution e SET progress = f.progress, started_at = coalesce(e.started_at, f.started_at)
    FROM free f
    WHERE e.tenant_id = ANY(ARRAY[f.tenant_id]) AND e.scheduled_for = f.scheduled_for AND e.job_id = f.job_id
)
SELECT number FROM reported WHERE number NOT IN (SELECT number FROM free);

-- name: log_lines
-- The chunks of an execution's log from a position on, as many as hold the wanted number of lines.
SELECT attempt, first_line, lines FROM (
    SELECT attempt, first_line, lines, sum(wanted) OVER (ORDER BY attempt, first_line) - wanted AS wanted_before
    FROM (
        SELECT attempt, first_line, lines,
            least(line_count, first_line + line_count - CASE WHEN attempt = $4 THEN $5::int ELSE 0 END) AS wanted
        FROM tickwork.log
        WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt >= $4
            AND ($6::int IS NULL OR attempt = $6)
            AND (attempt > $4 OR first_line >= coalesce((
                SELECT max(first_line) FROM tickwork.log
                WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = $4 AND first_line <= $5
            ), 0))
    ) chunk
) counted
WHERE wanted_before < $7
ORDER BY attempt, first_line;

-- name: last_log_lines
-- The last chunks that hold the wanted number of lines: of each attempt, or of all together.
SELECT attempt, first_line, lines FROM (
    SELECT attempt, first_line, lines,
        sum(line_count) OVER (
            PARTITION BY CASE WHEN $6::bool THEN attempt END ORDER BY attempt DESC, first_line DESC
        ) - line_count AS lines_after
    FROM tickwork.log
    WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND ($4::int[] IS NULL OR attempt = ANY($4))
) chunk
WHERE lines_after < $5
ORDER BY attempt, first_line;

-- name: log_state
-- The status of an execution and the end of its log, for clients that follow it.
SELECT e.status::text AS status, e.attempt, e.progress, tickwork.clock() - e.finished_at AS ended_for,
    last.attempt AS last_attempt, last.next_line
FROM tickwork.execution e
LEFT JOIN LATERAL (
    SELECT l.attempt, l.first_line + l.line_count AS next_line FROM tickwork.log l
    WHERE l.tenant_id = $1 AND l.scheduled_for = $2 AND l.job_id = $3
    ORDER BY l.attempt DESC, l.first_line DESC
    LIMIT 1
) last ON true
WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3;
