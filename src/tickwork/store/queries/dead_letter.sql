-- How to read these queries: README.md

-- snippet: filter
-- The filter by task, queue and error. The type of an error may be given without its module.
    WHERE ($5::text IS NULL OR l.task = $5) AND ($6::text IS NULL OR l.queue = $6)
        AND ($7::text IS NULL OR seen.error_type = $7 OR right(seen.error_type, length($7) + 1) = '.' || $7)
        AND ($13::bigint IS NULL OR seen.fingerprint = $13)

-- name: newest_dead_letters
-- One page of dead letters, latest first.
WITH seen AS (
    -- A bounded number of dead letters: of the tenant, of one cause, or of one job.
    (SELECT * FROM tickwork.dead_letter
     WHERE $4::bigint IS NULL AND $13::bigint IS NULL AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for, job_id) < ($8, $9, $10)
     ORDER BY failed_at DESC, scheduled_for DESC, job_id DESC LIMIT $11)
    UNION ALL
    (SELECT * FROM tickwork.dead_letter
     WHERE $4::bigint IS NULL AND fingerprint = $13 AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for, job_id) < ($8, $9, $10)
     ORDER BY failed_at DESC, scheduled_for DESC, job_id DESC LIMIT $11)
    UNION ALL
    (SELECT * FROM tickwork.dead_letter
     WHERE job_id = $4 AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for) < ($8, $9)
     ORDER BY failed_at DESC, scheduled_for DESC LIMIT $11)
), page AS (
    -- Those of them that the filter lets through.
    SELECT seen.*, l.task, l.queue FROM seen JOIN tickwork.lane l ON l.id = seen.lane_id
    -- include: filter
    ORDER BY seen.failed_at DESC, seen.scheduled_for DESC, seen.job_id DESC LIMIT $12
)
SELECT page.*, e.trigger::text AS trigger, e.attempt, e.reason, j.name, j.key, last.error,
    (SELECT count(*) FROM seen) AS seen_count,
    end_.failed_at AS seen_failed_at, end_.scheduled_for AS seen_time, end_.job_id AS seen_job
FROM (SELECT) AS always
LEFT JOIN page ON true
LEFT JOIN (SELECT * FROM seen ORDER BY failed_at, scheduled_for, job_id LIMIT 1) end_ ON true
LEFT JOIN LATERAL (
    SELECT * FROM tickwork.execution
    WHERE tenant_id = page.tenant_id AND scheduled_for = page.scheduled_for AND job_id = page.job_id
    OFFSET 0
) e ON true
LEFT JOIN tickwork.job j ON j.id = page.job_id
LEFT JOIN LATERAL (
    SELECT error FROM tickwork.attempt
    WHERE tenant_id = e.tenant_id AND scheduled_for = e.scheduled_for AND job_id = e.job_id AND attempt = e.attempt
    OFFSET 0
) last ON true
ORDER BY page.failed_at DESC, page.scheduled_for DESC, page.job_id DESC;

-- name: oldest_dead_letters
-- The keys of dead letters that a filter lets through, earliest first.
WITH seen AS (
    -- A bounded number of dead letters: of the tenant, of one cause, or of one job.
    (SELECT * FROM tickwork.dead_letter
     WHERE $4::bigint IS NULL AND $13::bigint IS NULL AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for, job_id) > ($8, $9, $10)
     ORDER BY failed_at, scheduled_for, job_id LIMIT $11)
    UNION ALL
    (SELECT * FROM tickwork.dead_letter
     WHERE $4::bigint IS NULL AND fingerprint = $13 AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for, job_id) > ($8, $9, $10)
     ORDER BY failed_at, scheduled_for, job_id LIMIT $11)
    UNION ALL
    (SELECT * FROM tickwork.dead_letter
     WHERE job_id = $4 AND tenant_id = $1 AND failed_at >= $2 AND failed_at <= $3
         AND (failed_at, scheduled_for) > ($8, $9)
     ORDER BY failed_at, scheduled_for LIMIT $11)
), page AS (
    -- Those of them that the filter lets through.
    SELECT seen.* FROM seen JOIN tickwork.lane l ON l.id = seen.lane_id
    -- include: filter
    ORDER BY seen.failed_at, seen.scheduled_for, seen.job_id LIMIT $12
)
SELECT page.failed_at, page.scheduled_for, page.job_id, (SELECT count(*) FROM seen) AS seen_count,
    end_.failed_at AS seen_failed_at, end_.scheduled_for AS seen_time, end_.job_id AS seen_job
FROM (SELECT) AS always
LEFT JOIN page ON true
LEFT JOIN (SELECT * FROM seen ORDER BY failed_at DESC, scheduled_for DESC, job_id DESC LIMIT 1) end_ ON true
ORDER BY page.failed_at, page.scheduled_for, page.job_id;

-- name: last_of_job
-- The dead letter of a job that failed last.
SELECT scheduled_for FROM tickwork.dead_letter
WHERE tenant_id = $1 AND job_id = $2
ORDER BY failed_at DESC, scheduled_for DESC
LIMIT 1;

-- name: keep_partitions
-- Keeps partitions from being dropped while an execution in them is about to run again.
SELECT pg_advisory_xact_lock_shared(hashtextextended('tickwork partitions', 0));

-- name: lock_dead_letters
-- Locks dead letters before their executions. A second caller finds them gone.
SELECT d.scheduled_for, d.job_id
FROM unnest($2::timestamptz[], $3::bigint[]) AS k (scheduled_for, job_id)
JOIN tickwork.dead_letter d ON d.tenant_id = $1 AND d.scheduled_for = k.scheduled_for AND d.job_id = k.job_id
ORDER BY d.scheduled_for, d.job_id
FOR UPDATE OF d;

-- name: lock_jobs_of_dead_letters
-- Locks jobs so that none is paused, changed or cancelled before the commit.
SELECT id, status::text AS status FROM tickwork.job
WHERE tenant_id = $1 AND id = ANY($2::bigint[])
ORDER BY id
FOR SHARE;

-- name: discard_dead_letters
-- Deletes dead letters; their executions stay as they are.
DELETE FROM tickwork.dead_letter d
USING unnest($2::timestamptz[], $3::bigint[]) AS k (scheduled_for, job_id)
WHERE d.tenant_id = $1 AND d.scheduled_for = k.scheduled_for AND d.job_id = k.job_id;

-- name: lock_ended_execution
-- Locks one execution that may have to run again.
SELECT status::text FROM tickwork.execution
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3
FOR UPDATE;

-- name: check_ended
-- Whether a worker has yet to stop an execution, and whether it has become a dead letter meanwhile.
SELECT
    EXISTS (SELECT FROM tickwork.revocation
            WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND needs_report) AS being_stopped,
    EXISTS (SELECT FROM tickwork.dead_letter WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3)
        AS failed_since,
    tickwork.clock() AS now;

-- name: keep_elements
-- Keeps elements from being cancelled with their fan-out, which is about to run again. Before anything else is locked.
DELETE FROM tickwork.cancelled_fan_out WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3;

-- name: elements_cancelled_with
-- The elements that were cancelled with a fan-out, and whether a worker has yet to stop them.
SELECT x.scheduled_for, x.id AS job_id, EXISTS (
        SELECT FROM tickwork.revocation
        WHERE tenant_id = x.tenant_id AND scheduled_for = x.scheduled_for AND job_id = x.id AND needs_report
    ) AS being_stopped
FROM tickwork.job x CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution
    WHERE tenant_id = x.tenant_id AND scheduled_for = x.scheduled_for AND job_id = x.id
        AND status = 'cancelled' AND reason = tickwork.cancelled_with($3)
    OFFSET 0
) e
WHERE x.tenant_id = $1 AND x.element_of = $3 AND x.element_at = $2;

-- name: revive_ended
-- Makes ended executions wait again, as their jobs are now: with no attempts used, and fenced off from earlier
-- attempts. They go on waiting for a paused job or for parents.
WITH remembered AS (
    -- The blockers that they waited for when they were cancelled: later executions must still find them.
    INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
    SELECT e.job_id, e.blocked_by FROM unnest($2::timestamptz[], $3::bigint[]) AS k (scheduled_for, job_id)
    CROSS JOIN LATERAL (
        SELECT job_id, blocked_by FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = k.scheduled_for AND job_id = k.job_id
            AND status = 'cancelled' AND blocked_by IS NOT NULL
        OFFSET 0
    ) e
    ON CONFLICT DO NOTHING
), noted AS (
    -- One-time jobs among theirs: they have another status now.
    INSERT INTO tickwork.job_change (tenant_id, job_id, lane_id, name, key, tags, owner, description)
    SELECT j.tenant_id, j.id, j.lane_id, j.name, j.key, j.tags, j.owner, j.description
    FROM unnest($3::bigint[]) AS k (job_id) JOIN tickwork.job j ON j.id = k.job_id
    WHERE j.rule_id IS NULL AND j.tenant_id = $1
)
UPDATE tickwork.execution e
SET status = 'pending', attempt = e.attempt + 1, failures = 0, losses = 0, worker_id = NULL, started_at = NULL,
    finished_at = NULL, result = NULL, reason = NULL, blocked_by = NULL, progress = NULL,
    lane_id = k.lane_id, priority = k.priority, followed = e.followed OR k.followed,
    ready_at = CASE WHEN k.status = 'paused' OR k.depends AND tickwork.awaits_parents(e.job_id, e.scheduled_for)
                    THEN 'infinity' ELSE greatest(k.ready_at, e.scheduled_for) END
FROM (
    SELECT $1::int AS tenant_id, k.*, j.lane_id, j.priority, j.status, j.depends, j.followed
    FROM unnest($2::timestamptz[], $3::bigint[], $4::timestamptz[]) AS k (scheduled_for, job_id, ready_at)
    JOIN tickwork.job j ON j.id = k.job_id
    OFFSET 0
) k
WHERE e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id
    AND e.status IN ('failed', 'cancelled');
