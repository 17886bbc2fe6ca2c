-- How to read these queries: README.md
--
-- A search looks at executions in slices of at most $6, latest first: those before ($2, $3), due from $4 to $5. Each of
-- the three searches says which executions it sees (`seen`); `looked_at` has what the filter needs to know of them.

-- snippet: looked_at
-- The executions that can match, by their keys. Follows the CTE seen.
), looked_at AS (
    -- What the filter needs to know of them.
    SELECT e.* FROM seen CROSS JOIN LATERAL (
        SELECT scheduled_for, job_id, status, started_at, finished_at, lane_id, worker_id, failures, losses, trigger,
            reason
        FROM tickwork.execution
        WHERE tenant_id = $1 AND scheduled_for = seen.scheduled_for AND job_id = seen.job_id
        OFFSET 0
    ) e
    WHERE seen.is_likely

-- snippet: page
-- A page of at most $7 that match, how many match, and how far the search has come. Follows the CTE looked_at.
), matching AS (
    -- Those that the filter lets through.
    SELECT e.scheduled_for, e.job_id FROM looked_at e
    WHERE ($8::text IS NULL
           OR CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending'
                   ELSE e.status::text END = $8)
        AND ($9::text IS NULL AND $10::text IS NULL
             OR e.lane_id IN (SELECT id FROM tickwork.lane
                              WHERE tenant_id = $1 AND task = coalesce($9, task) AND queue = coalesce($10, queue)))
        AND ($11::int IS NULL OR e.worker_id = $11)
        AND (NOT $12::boolean OR e.finished_at IS NULL AND e.failures + e.losses > 0)
        AND ($13::interval IS NULL
             OR CASE WHEN e.status = 'running' THEN tickwork.clock() ELSE e.finished_at END - e.started_at > $13)
        AND ($14::interval IS NULL OR e.trigger <> 'backfill'
             AND coalesce(e.started_at, CASE WHEN e.finished_at IS NULL THEN tickwork.clock() END) - e.scheduled_for
                 > $14)
        AND ($15::text IS NULL OR EXISTS (
            SELECT FROM tickwork.job j WHERE j.id = e.job_id AND $15 = ANY(j.tags) OFFSET 0))
        AND NOT EXISTS (
            SELECT FROM unnest($16::text[]) AS wanted (error_type) WHERE NOT EXISTS (
                SELECT FROM tickwork.attempt a
                WHERE a.tenant_id = $1 AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
                    AND CASE WHEN a.outcome = 'lost' THEN 'WorkerLost'
                             WHEN tickwork.is_json(a.error) THEN convert_from(a.error, 'UTF8')::json ->> 'type' END
                        = wanted.error_type
                OFFSET 0))
        AND (NOT $17::boolean OR e.status = 'pending' AND tickwork.awaits_failed(e.job_id, e.scheduled_for))
        AND (NOT $19::boolean OR tickwork.was_not_taken(e.status, e.reason))
        AND ($18::text IS NULL OR EXISTS (
            SELECT FROM tickwork.execution_view v
            WHERE v.tenant_id = $1 AND v.scheduled_for = e.scheduled_for AND v.job_id = e.job_id
                AND v.waiting_for = $18
            OFFSET 0))
), page AS (
    -- The first of them, as users see them.
    SELECT v.* FROM (SELECT * FROM matching ORDER BY scheduled_for DESC, job_id DESC LIMIT $7) m
    CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution_view
        WHERE tenant_id = $1 AND scheduled_for = m.scheduled_for AND job_id = m.job_id
        OFFSET 0
    ) v
)
SELECT page.*, (SELECT count(*) FROM matching) AS match_count, (SELECT count(*) FROM seen) AS seen_count,
    last.scheduled_for AS seen_time, last.job_id AS seen_job
FROM (SELECT) AS always
LEFT JOIN page ON true
LEFT JOIN (SELECT scheduled_for, job_id FROM seen ORDER BY scheduled_for, job_id LIMIT 1) last ON true
ORDER BY page.scheduled_for DESC, page.job_id DESC

-- snippet: is_likely
-- Whether an event can be about an execution with the wanted task and queue: by its lane, or because its job was moved
-- to another lane, and what waited went with it.
    bool_or($9::text IS NULL AND $10::text IS NULL OR lane_id IS NULL
            OR lane_id IN (SELECT id FROM tickwork.lane
                           WHERE tenant_id = $1 AND task = coalesce($9, task) AND queue = coalesce($10, queue))
            OR job_id IN (SELECT job_id FROM tickwork.moved_job WHERE tenant_id = $1)) AS is_likely

-- name: search_in_order_of_time
-- Searches all executions of a tenant. What has begun was due by now, or nearly: a worker may get it a little earlier.
WITH seen AS (
    -- The next ones by their key.
    SELECT scheduled_for, job_id, status, started_at, finished_at, lane_id, worker_id, failures, losses, trigger,
        reason
    FROM tickwork.execution
    WHERE tenant_id = $1 AND (scheduled_for, job_id) < ($2, $3) AND scheduled_for >= $4
        AND scheduled_for <= CASE WHEN $8::text = 'completed' OR $11::int IS NOT NULL
                                      OR $13::interval IS NOT NULL OR $14::interval IS NOT NULL
                                  THEN least($5, tickwork.clock() + interval '1 minute') ELSE $5 END
    ORDER BY tenant_id DESC, scheduled_for DESC, job_id DESC
    LIMIT $6
), looked_at AS (
    -- They were read with their columns.
    SELECT * FROM seen
-- include: page
;

-- name: search_history_of_job
-- Searches the executions of the job $20, found by the rounds of its rules and its off-schedule executions.
WITH seen AS (
    -- The next due times: of the rounds of its rules, present and past; of the round that is being fired; of its
    -- off-schedule executions; and of a one-time job.
    SELECT DISTINCT scheduled_for, job_id, true AS is_likely FROM (
        (SELECT r.scheduled_for, j.id AS job_id
         FROM tickwork.job j
         CROSS JOIN LATERAL (
             SELECT j.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = j.id
         ) belonged
         CROSS JOIN LATERAL (
             SELECT scheduled_for FROM tickwork.round
             WHERE rule_id = belonged.rule_id AND scheduled_for >= j.created_at AND missed = 0
                 AND scheduled_for < $2 AND scheduled_for >= $4 AND scheduled_for <= $5
             ORDER BY scheduled_for DESC LIMIT $6
         ) r
         WHERE j.tenant_id = $1 AND j.id = $20)
        UNION ALL
        (SELECT u.next_at, j.id
         FROM tickwork.job j
         CROSS JOIN LATERAL (
             SELECT next_at FROM tickwork.rule WHERE id = j.rule_id AND cursor_job IS NOT NULL OFFSET 0
         ) u
         WHERE j.tenant_id = $1 AND j.id = $20
             AND u.next_at < $2 AND u.next_at >= $4 AND u.next_at <= $5)
        UNION ALL
        (SELECT x.scheduled_for, x.job_id
         FROM tickwork.off_schedule_execution x
         WHERE x.job_id = $20 AND x.scheduled_for < $2 AND x.scheduled_for >= $4 AND x.scheduled_for <= $5
         ORDER BY x.scheduled_for DESC LIMIT $6)
        UNION ALL
        (SELECT j.scheduled_for, j.id
         FROM tickwork.job j
         WHERE j.tenant_id = $1 AND j.id = $20
             AND j.scheduled_for < $2 AND j.scheduled_for >= $4 AND j.scheduled_for <= $5)
    ) times
    WHERE (scheduled_for, job_id) < ($2, $3)
    ORDER BY scheduled_for DESC
    LIMIT $6
-- include: looked_at
-- include: page
;

-- name: search_candidates
-- Searches the executions that have events of the kinds $20 or with errors of the type $23, and those with the keys
-- ($21, $22). Events of other lanes are passed over: their executions are seen, but not looked at.
WITH candidates AS (
    -- The next ones of each kind; of the type of error; what happened just now and has no number yet; the given ones.
    SELECT e.scheduled_for, e.job_id, e.is_likely FROM unnest($20::text[]) AS wanted (kind) CROSS JOIN LATERAL (
        SELECT scheduled_for, job_id,
        -- include: is_likely
        FROM tickwork.event
        WHERE tenant_id = $1 AND kind = wanted.kind AND (scheduled_for, job_id) < ($2, $3)
            AND scheduled_for >= $4 AND scheduled_for <= $5
        GROUP BY scheduled_for, job_id
        ORDER BY scheduled_for DESC, job_id DESC
        LIMIT $6
    ) e
    UNION ALL
    (SELECT scheduled_for, job_id,
     -- include: is_likely
     FROM tickwork.event
     WHERE tenant_id = $1 AND error_type = $23::text AND (scheduled_for, job_id) < ($2, $3)
         AND scheduled_for >= $4 AND scheduled_for <= $5
     GROUP BY scheduled_for, job_id
     ORDER BY scheduled_for DESC, job_id DESC
     LIMIT $6)
    UNION ALL
    SELECT scheduled_for, job_id, true
    FROM (
        SELECT tenant_id, kind, error_type, scheduled_for, job_id FROM tickwork.new_event ORDER BY id DESC LIMIT 10000
    ) fresh
    WHERE tenant_id = $1 AND (kind = ANY($20) OR error_type = $23) AND (scheduled_for, job_id) < ($2, $3)
        AND scheduled_for >= $4 AND scheduled_for <= $5
    UNION ALL
    SELECT scheduled_for, job_id, true
    FROM unnest($21::timestamptz[], $22::bigint[]) AS given (scheduled_for, job_id)
    WHERE (scheduled_for, job_id) < ($2, $3) AND scheduled_for >= $4 AND scheduled_for <= $5
), seen AS (
    -- The next of them all.
    SELECT scheduled_for, job_id, bool_or(is_likely) AS is_likely FROM candidates
    GROUP BY scheduled_for, job_id
    ORDER BY scheduled_for DESC, job_id DESC
    LIMIT $6
-- include: looked_at
-- include: page
;

-- name: waiting_keys
-- The executions of a tenant that wait and that a worker may get from $4 to $5 (null: now); $6 at most. If $7, only
-- those that were due by now.
WITH part AS MATERIALIZED (
    -- The partitions to look at.
    SELECT * FROM tickwork.partitions_with_waiting(CASE WHEN $7::boolean THEN tickwork.clock() ELSE 'infinity' END)
)
SELECT e.scheduled_for, e.job_id
FROM part CROSS JOIN tickwork.lane l CROSS JOIN generate_series(0, 3) AS priority CROSS JOIN LATERAL (
    SELECT scheduled_for, job_id FROM tickwork.execution
    WHERE lane_id = l.id AND execution.priority = priority.priority AND ready_at IS NOT NULL
        AND ready_at >= $4::text::timestamptz AND ready_at <= coalesce($5::text::timestamptz, tickwork.clock())
        AND scheduled_for >= part.begins AND scheduled_for < part.ends
    ORDER BY ready_at LIMIT $6
) e
WHERE l.tenant_id = $1 AND l.task = coalesce($2::text, l.task) AND l.queue = coalesce($3::text, l.queue)
LIMIT $6;

-- name: running_keys
-- The executions of a tenant that workers have; $2 at most.
SELECT e.scheduled_for, e.job_id
FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE e.tenant_id = $1
LIMIT $2;

-- name: first_and_last_execution
-- When the first and the last execution of a tenant in a range are due.
SELECT
    (SELECT scheduled_for FROM tickwork.execution
     WHERE tenant_id = $1 AND scheduled_for >= $2 AND scheduled_for <= $3
     ORDER BY tenant_id, scheduled_for, job_id LIMIT 1) AS first,
    (SELECT scheduled_for FROM tickwork.execution
     WHERE tenant_id = $1 AND scheduled_for >= $2 AND scheduled_for <= $3
     ORDER BY tenant_id DESC, scheduled_for DESC, job_id DESC LIMIT 1) AS last;
