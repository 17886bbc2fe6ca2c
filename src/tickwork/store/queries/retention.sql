-- How to read these queries: README.md

-- name: set_job_retentions
-- Says how much of their history jobs keep.
INSERT INTO tickwork.job_retention (tenant_id, job_id, age, last)
SELECT $1, * FROM unnest($2::bigint[], $3::interval[], $4::int[]) AS sent (job_id, age, last)
ON CONFLICT (tenant_id, job_id) DO UPDATE SET age = excluded.age, last = excluded.last;

-- name: delete_job_retention
-- Lets a job keep what its queue, its tenant or the installation says.
DELETE FROM tickwork.job_retention WHERE tenant_id = $1 AND job_id = $2;

-- name: set_default_retention
-- Says how much the jobs of a queue keep, or those of a tenant, whose queue is empty.
INSERT INTO tickwork.default_retention (tenant_id, queue, age, last) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, queue) DO UPDATE SET age = excluded.age, last = excluded.last;

-- name: delete_default_retention
-- Says nothing any more for the jobs of a queue or of a tenant.
DELETE FROM tickwork.default_retention WHERE tenant_id = $1 AND queue = $2;

-- name: default_retention
-- What was said for the jobs of a queue, or of a tenant.
SELECT age, last FROM tickwork.default_retention WHERE tenant_id = $1 AND queue = $2;

-- name: is_pass_due
-- Whether there is anything to look at, and time for it. Where nobody has a retention, this is all that happens.
SELECT (EXISTS (SELECT FROM tickwork.job_retention) OR EXISTS (SELECT FROM tickwork.default_retention))
    AND EXISTS (SELECT FROM tickwork.retention_pass WHERE begins_at <= tickwork.clock()) AS is_due;

-- name: take_place
-- Locks the place that was reached, unless another node has it.
SELECT tenant_id, job_id FROM tickwork.retention_pass WHERE begins_at <= tickwork.clock() FOR UPDATE SKIP LOCKED;

-- name: jobs_to_look_at
-- The next jobs of a tenant, each with the retention that is the most specific: its own, its queue's or its tenant's.
-- Without one of a queue or the tenant, only jobs with one of their own.
SELECT place.id, j.rule_id IS NOT NULL AS repeats, r.age, r.last
FROM (
    (SELECT id FROM tickwork.job
     WHERE EXISTS (SELECT FROM tickwork.default_retention WHERE tenant_id = $1) AND tenant_id = $1 AND id > $2
     ORDER BY id LIMIT $3)
    UNION
    (SELECT job_id FROM tickwork.job_retention WHERE tenant_id = $1 AND job_id > $2 ORDER BY job_id LIMIT $3)
    ORDER BY id LIMIT $3
) place
LEFT JOIN LATERAL (SELECT rule_id, lane_id FROM tickwork.job WHERE id = place.id OFFSET 0) j ON true
LEFT JOIN LATERAL (SELECT queue FROM tickwork.lane WHERE id = j.lane_id OFFSET 0) l ON true
LEFT JOIN LATERAL (
    SELECT age, last FROM (
        SELECT 1 AS rank, age, last FROM tickwork.job_retention WHERE tenant_id = $1 AND job_id = place.id
        UNION ALL
        SELECT CASE queue WHEN '' THEN 3 ELSE 2 END, age, last FROM tickwork.default_retention
        WHERE tenant_id = $1 AND queue IN (l.queue, '')
    ) said
    ORDER BY rank LIMIT 1
) r ON true
ORDER BY place.id;

-- name: next_tenant
-- The next tenant with a retention.
SELECT min(tenant_id) AS tenant_id FROM (
    (SELECT tenant_id FROM tickwork.job_retention WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
    UNION ALL
    (SELECT tenant_id FROM tickwork.default_retention WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
) next;

-- name: set_place
-- Notes the place that was reached. At the end of a pass, the next one begins after a while.
UPDATE tickwork.retention_pass SET tenant_id = $1, job_id = $2, begins_at = tickwork.clock() + $3::interval;

-- name: rounds_to_look_at
-- Of recurring jobs of a tenant, the oldest due times that may be beyond their retention: of rounds that were not
-- looked at yet, of off-schedule executions, and of what had to stay before. The execution that ended last always
-- stays: it says how the job is. `until`: what was due before is beyond. `has_ended`: long enough ago for this.
WITH asked AS MATERIALIZED (
    -- The jobs, and until when each may have had executions: in later rounds of its rule it only rests.
    SELECT j.id, j.rule_id, j.created_at, a.age, a.last, coalesce(m.kept, '{}') AS kept,
        coalesce(m.looked_until, '0001-01-01 00:00:00+00') AS looked_until,
        least(CASE WHEN j.status = 'active' THEN 'infinity' ELSE j.updated_at END, j.active_until)
            + interval '1 microsecond' AS rests_from
    FROM unnest($2::bigint[], $3::interval[], $4::int[]) AS a (job_id, age, last)
    CROSS JOIN LATERAL (SELECT * FROM tickwork.job WHERE id = a.job_id AND tenant_id = $1 OFFSET 0) j
    LEFT JOIN LATERAL (SELECT * FROM tickwork.retention_mark WHERE job_id = a.job_id OFFSET 0) m ON true
), bound AS MATERIALIZED (
    -- With the due times of the latest execution that has ended, and of the last one that is not too many.
    SELECT asked.*, ended.newest, ended.nth
    FROM asked CROSS JOIN LATERAL (
        SELECT max(due.at) AS newest, (array_agg(due.at ORDER BY due.at DESC))[asked.last] AS nth
        FROM tickwork.due_times_of_job(
            $1, asked.id, '-infinity', asked.rests_from, 2 * coalesce(asked.last, 1) + 100) AS due (at)
        CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution
            WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = asked.id AND finished_at IS NOT NULL
            OFFSET 0
        ) e
    ) ended
), beyond AS MATERIALIZED (
    -- With the time before which all is beyond.
    SELECT bound.*, least(newest, greatest(tickwork.clock() - age, nth)) AS until FROM bound
    WHERE newest IS NOT NULL AND (age IS NOT NULL OR nth IS NOT NULL)
)
SELECT b.id, b.until, b.looked_until, due.at, due.is_round, due.was_kept, e.scheduled_for IS NOT NULL AS is_there,
    coalesce(e.finished_at < tickwork.clock() - $5::interval
             AND (due.at < b.nth OR e.finished_at < tickwork.clock() - b.age), false) AS has_ended
FROM beyond b
CROSS JOIN LATERAL (
    (SELECT r.scheduled_for AS at, true AS is_round, false AS was_kept
     FROM (SELECT b.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = b.id) belonged
     CROSS JOIN LATERAL (
         SELECT scheduled_for FROM tickwork.round
         WHERE rule_id = belonged.rule_id AND missed = 0
             AND scheduled_for >= greatest(b.looked_until, b.created_at) AND scheduled_for < b.until
         ORDER BY scheduled_for LIMIT $6
     ) r
     ORDER BY r.scheduled_for LIMIT $6)
    UNION ALL
    (SELECT scheduled_for, false, false FROM tickwork.off_schedule_execution
     WHERE job_id = b.id AND scheduled_for < b.until
     ORDER BY scheduled_for LIMIT $6)
    UNION ALL
    SELECT each.at, false, true FROM unnest(b.kept) AS each (at) WHERE each.at < b.until
) due
LEFT JOIN LATERAL (
    SELECT scheduled_for, finished_at FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = b.id
    OFFSET 0
) e ON true
ORDER BY b.id, due.at;

-- name: one_time_executions_beyond
-- Of one-time jobs of a tenant, the executions that ended so long ago that they are beyond their retention: the job's
-- own, and those of manual runs.
SELECT j.id, due.at
FROM unnest($2::bigint[], $3::interval[]) AS a (job_id, age)
CROSS JOIN LATERAL (
    SELECT id, scheduled_for FROM tickwork.job
    WHERE id = a.job_id AND tenant_id = $1 AND scheduled_for < tickwork.clock() - a.age AND NOT deferred
    OFFSET 0
) j
CROSS JOIN LATERAL (
    SELECT j.scheduled_for AS at
    UNION
    SELECT scheduled_for FROM tickwork.off_schedule_execution WHERE job_id = j.id
) due
CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = j.id AND finished_at < tickwork.clock() - a.age
    OFFSET 0
) e
ORDER BY j.id, due.at DESC;

-- name: lock_one_time_jobs
-- Locks those of these jobs that are due one time and that nobody else works on: they go with their executions.
SELECT id FROM tickwork.job
WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND rule_id IS NULL
ORDER BY id
FOR UPDATE SKIP LOCKED;

-- name: lock_ended
-- Locks those of these executions that have ended, unless somebody else works on them.
SELECT k.job_id, k.at AS scheduled_for
FROM (SELECT * FROM unnest($2::bigint[], $3::timestamptz[]) AS sent (job_id, at) ORDER BY at, job_id OFFSET 0) k
CROSS JOIN LATERAL (
    SELECT FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = k.at AND job_id = k.job_id AND finished_at IS NOT NULL
    OFFSET 0
    FOR UPDATE SKIP LOCKED
) e;

-- name: those_that_may_go
-- Those of these executions that nothing needs any more: none waits as a dead letter, is of a backfill that goes on, or
-- is a link to one in its way that has not ended; nothing that depends on one has yet to run; and a one-time job goes
-- with its own, so nothing may be left that needs the job. $4: the one-time jobs that are locked.
SELECT k.job_id, k.at
FROM unnest($2::bigint[], $3::timestamptz[]) AS k (job_id, at)
CROSS JOIN LATERAL (
    SELECT scheduled_for, rule_id, followed, element_of, element_at FROM tickwork.job WHERE id = k.job_id OFFSET 0
) j
CROSS JOIN LATERAL (
    SELECT blocked_by FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = k.at AND job_id = k.job_id
    OFFSET 0
) e
WHERE NOT EXISTS (
        SELECT FROM tickwork.dead_letter WHERE tenant_id = $1 AND scheduled_for = k.at AND job_id = k.job_id OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM tickwork.cancelled_fan_out
        WHERE tenant_id = $1 AND scheduled_for = k.at AND job_id = k.job_id OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.awaited WHERE parent_id = k.job_id AND parent_at = k.at OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM tickwork.backfill
        WHERE tenant_id = $1 AND job_id = k.job_id AND ended_at IS NULL AND begin_at <= k.at AND end_at >= k.at
        OFFSET 0)
    AND (e.blocked_by IS NULL OR NOT EXISTS (SELECT FROM tickwork.find_unended($1, k.job_id, k.at)))
    AND NOT (j.followed AND EXISTS (
        SELECT FROM tickwork.dependency d JOIN tickwork.job c ON c.id = d.child_id
        CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution x
            WHERE x.tenant_id = $1 AND x.scheduled_for = coalesce(c.scheduled_for, k.at) AND x.job_id = c.id
                AND x.finished_at IS NULL
            OFFSET 0
        ) unended
        WHERE d.parent_id = k.job_id))
    AND (j.element_of IS NULL OR NOT EXISTS (
        SELECT FROM tickwork.execution f
        WHERE f.tenant_id = $1 AND f.scheduled_for = j.element_at AND f.job_id = j.element_of
            AND (f.finished_at IS NULL OR f.status = 'failed')
        OFFSET 0))
    AND (j.rule_id IS NOT NULL OR j.scheduled_for <> k.at
         OR k.job_id = ANY($4::bigint[])
            AND NOT EXISTS (SELECT FROM tickwork.dependency WHERE parent_id = k.job_id OFFSET 0)
            AND NOT EXISTS (SELECT FROM tickwork.off_schedule_execution WHERE job_id = k.job_id OFFSET 0)
            AND NOT EXISTS (SELECT FROM tickwork.past_rule WHERE job_id = k.job_id OFFSET 0)
            AND NOT EXISTS (SELECT FROM tickwork.job x WHERE x.element_of = k.job_id OFFSET 0));

-- name: delete_events
-- Deletes the events of executions.
DELETE FROM tickwork.event e
USING (
    SELECT kind, job_id, at
    FROM unnest($2::bigint[], $3::timestamptz[]) AS sent (job_id, at) CROSS JOIN unnest($4::text[]) AS kind
    OFFSET 0
) o
WHERE e.tenant_id = ANY(ARRAY[$1::int]) AND e.kind = o.kind AND e.scheduled_for = o.at AND e.job_id = o.job_id + 0;

-- name: set_retention_mark
-- Notes how far the rounds of a job were gone through, and what had to stay, if it had come as far as $5 before.
INSERT INTO tickwork.retention_mark AS m (job_id, tenant_id, looked_until, kept)
SELECT $2, $1, $3, $4 WHERE EXISTS (SELECT FROM tickwork.job WHERE tenant_id = $1 AND id = $2)
ON CONFLICT (job_id) DO UPDATE SET looked_until = excluded.looked_until, kept = excluded.kept
WHERE m.looked_until = $5;
