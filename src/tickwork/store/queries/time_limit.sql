-- How to read these queries: README.md

-- name: check_leases
-- Looks at leases that have lasted: returns the attempts in them that took too long or became slow, notes when to look
-- again, and deletes leases of which nothing is left.
WITH due AS MATERIALIZED (
    -- Leases to look at, locked against other nodes that look.
    SELECT l AS lease, l.id, l.worker_id, l.leased_at, tickwork.clock() AS now FROM tickwork.lease l
    WHERE coalesce(l.check_at, l.leased_at + $1::interval) <= tickwork.clock()
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
), running AS MATERIALIZED (
    -- What their workers have of them, with the time by which each must have ended, and from which it is slow.
    SELECT due.id AS lease_id, due.worker_id, due.leased_at, due.now, r.tenant_id, r.scheduled_for, r.job_id, r.lane_id,
        r.attempt, r.started_at, coalesce(j.timeout, 0) AS timeout,
        coalesce(r.started_at, greatest(due.leased_at, r.scheduled_for) + $4::interval) + allowed.time AS limit_at,
        coalesce(make_interval(secs => j.warn_after), $5::interval) AS slow_after,
        allowed.time AS may_run
    FROM due
    CROSS JOIN LATERAL tickwork.running_of_lease(due.lease) AS r
    LEFT JOIN LATERAL (SELECT timeout, warn_after FROM tickwork.job WHERE id = r.job_id OFFSET 0) j ON true
    CROSS JOIN LATERAL (SELECT make_interval(secs => coalesce(j.timeout, 0)) + $3::interval AS time) allowed
), judged AS MATERIALIZED (
    -- The same: whether each is too late or slow, and when to look again. While its start is not known, that is when it
    -- could be either at the earliest, and then less and less often.
    SELECT running.*,
        limit_at <= now AND (started_at IS NOT NULL OR NOT EXISTS (
            -- The worker got it again with a newer lease: that one says since when.
            SELECT FROM tickwork.lease newer
            WHERE newer.worker_id = running.worker_id AND newer.id > running.lease_id
                AND running.job_id = ANY(newer.job_ids) AND running.scheduled_for = ANY(newer.scheduled_fors)
            OFFSET 0
        )) AS is_overdue,
        coalesce(started_at + slow_after <= now, false) AS is_slow,
        CASE WHEN limit_at <= now THEN now + $6::interval
             WHEN started_at IS NULL THEN least(limit_at, greatest(
                 now + $6::interval, now + (now - leased_at) / 4, leased_at + least(may_run, slow_after)))
             WHEN started_at + slow_after > now THEN least(limit_at, started_at + slow_after)
             ELSE limit_at END AS check_at
    FROM running
), noted AS (
    -- When to look again.
    UPDATE tickwork.lease l SET check_at = following.check_at
    FROM (SELECT lease_id, min(check_at) AS check_at FROM judged GROUP BY lease_id) following
    WHERE l.id = following.lease_id
), closed AS (
    -- Leases of which everything has ended.
    DELETE FROM tickwork.lease WHERE id = ANY(ARRAY(SELECT id FROM due EXCEPT SELECT lease_id FROM running))
)
SELECT looked_at.leases, found.*, found.is_overdue AND w.lease_until > found.now + $7::interval AS is_to_end
FROM (SELECT count(*) AS leases FROM due) looked_at
LEFT JOIN (SELECT * FROM judged WHERE is_overdue OR is_slow) found ON true
LEFT JOIN tickwork.worker w ON w.id = found.worker_id;

-- name: check_again
-- Makes leases be looked at again soon.
UPDATE tickwork.lease SET check_at = tickwork.clock() + $2::interval WHERE id = ANY($1::bigint[]);

-- name: close_empty_leases
-- Deletes those of the leases of which everything has ended.
DELETE FROM tickwork.lease l
WHERE l.id = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM tickwork.running_of_lease(l));
