-- How to read these queries: README.md

-- name: count_failures
-- Adds the failures among the events that were just numbered to the groups of their causes.
INSERT INTO tickwork.error_group AS g (tenant_id, fingerprint, task, error_type, message, failed_attempts,
    failed_executions, first_seen, last_seen)
SELECT e.tenant_id, e.fingerprint, max(l.task), max(e.error_type),
    (array_agg(e.detail::json ->> 'message' ORDER BY e.number DESC))[1],
    count(*), count(*) FILTER (WHERE e.kind = 'execution.failed'), min(e.at), max(e.at)
FROM tickwork.event e JOIN tickwork.lane l ON l.id = e.lane_id
WHERE e.number > $1 AND e.number <= $2 AND e.fingerprint IS NOT NULL AND e.error_type IS NOT NULL
GROUP BY e.tenant_id, e.fingerprint
ON CONFLICT (tenant_id, fingerprint) DO UPDATE
SET failed_attempts = g.failed_attempts + excluded.failed_attempts,
    failed_executions = g.failed_executions + excluded.failed_executions,
    message = excluded.message, last_seen = greatest(g.last_seen, excluded.last_seen);

-- name: error_groups
-- One page of causes, the one seen last first, each with its latest executions, how often it was seen within the last
-- hour, and how many dead letters it has left. Counts of dead letters and of the hour end at a limit.
SELECT g.*, recent.executions, recent.last_hour, (
    SELECT count(*) FROM (
        SELECT FROM tickwork.dead_letter d WHERE d.tenant_id = $1 AND d.fingerprint = g.fingerprint LIMIT $7
    ) counted) AS dead_letters
FROM tickwork.error_group g
LEFT JOIN LATERAL (
    SELECT (array_agg(ARRAY[tickwork.micros(seen.scheduled_for), seen.job_id] ORDER BY seen.number DESC))[1:5]
            AS executions,
        count(*) FILTER (WHERE seen.at > tickwork.clock() - interval '1 hour') AS last_hour
    FROM (
        SELECT number, scheduled_for, job_id, at FROM tickwork.event
        WHERE tenant_id = $1 AND fingerprint = g.fingerprint ORDER BY number DESC LIMIT $7
    ) seen
) recent ON true
WHERE g.tenant_id = $1 AND (g.last_seen, g.fingerprint) < ($2, $3) AND ($4::text IS NULL OR g.task = $4)
    AND ($5::text IS NULL OR g.error_type = $5 OR right(g.error_type, length($5) + 1) = '.' || $5)
    AND ($8::bigint IS NULL OR g.fingerprint = $8)
ORDER BY g.last_seen DESC, g.fingerprint DESC
LIMIT $6;

-- name: delete_old_groups
-- Deletes causes that were not seen within the history.
DELETE FROM tickwork.error_group WHERE last_seen < tickwork.clock() - $1::interval;
