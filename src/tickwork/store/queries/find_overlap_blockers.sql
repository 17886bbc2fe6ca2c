-- How to read these queries: README.md

-- snippet: unended
-- From the executions of the rounds that were fired last (`last`) to those that have not ended.
SELECT found.job_id, found.off_schedule, found.scheduled_for, (
    -- Executions of the job that wait for one another.
    SELECT count(*) FROM tickwork.execution q
    WHERE q.tenant_id = found.tenant_id AND q.job_id = found.job_id
        AND q.blocked_by IS NOT NULL AND q.ready_at IS NOT NULL) AS queued
FROM (
    -- (a) The last execution by the rule; if it was skipped or cancelled, the one that it waited for, and so on.
    SELECT last.tenant_id, last.job_id, false AS off_schedule, unended.scheduled_for
    FROM last
    CROSS JOIN LATERAL tickwork.find_unended(last.tenant_id, last.job_id, last.scheduled_for) AS unended (scheduled_for)
    UNION ALL
    -- (b) Off-schedule executions: manual runs, and those that were noted because their rule goes on without the job.
    SELECT j.tenant_id, x.job_id, true, x.scheduled_for
    FROM tickwork.off_schedule_execution x JOIN tickwork.job j ON j.id = x.job_id
    WHERE x.job_id = ANY($5::bigint[]) AND x.backfill_id IS NULL AND EXISTS (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = x.scheduled_for AND e.job_id = x.job_id
            AND e.finished_at IS NULL
        OFFSET 0)
) found;

-- name: blockers
-- Executions of the given jobs that have not ended, each with how many executions of the job wait for one another. The
-- jobs come with the due times that their rules fired last. Executions are looked up by key, so that no index has to
-- follow what runs. Backfills keep their own pace and never block.
WITH last AS (
    -- Executions of the due time that each rule fired last, if they have not ended or waited for another one.
    SELECT r.tenant_id, e.job_id, r.last_at AS scheduled_for
    FROM unnest($1::int[], $2::timestamptz[], $3::int[], $4::int[]) AS r (tenant_id, last_at, first, last)
    CROSS JOIN LATERAL (
        SELECT e.job_id FROM tickwork.execution e
        WHERE e.tenant_id = r.tenant_id AND e.scheduled_for = r.last_at
            AND e.job_id = ANY(($5::bigint[])[r.first:r.last])
            AND (e.finished_at IS NULL OR e.blocked_by IS NOT NULL) AND e.trigger <> 'backfill'
        OFFSET 0
    ) e
)
-- include: unended

-- name: blockers_one_by_one
-- The same, with each job looked up by itself: up to PostgreSQL 16 a list that is the last part of a key is compared
-- with every execution of the round instead.
WITH last AS (
    -- Executions of the due time that each rule fired last, if they have not ended or waited for another one.
    SELECT r.tenant_id, e.job_id, r.last_at AS scheduled_for
    FROM unnest($1::int[], $2::timestamptz[], $3::int[], $4::int[]) AS r (tenant_id, last_at, first, last)
    CROSS JOIN LATERAL unnest(($5::bigint[])[r.first:r.last]) AS asked (job_id)
    CROSS JOIN LATERAL (
        SELECT e.job_id FROM tickwork.execution e
        WHERE e.tenant_id = r.tenant_id AND e.scheduled_for = r.last_at AND e.job_id = asked.job_id
            AND (e.finished_at IS NULL OR e.blocked_by IS NOT NULL) AND e.trigger <> 'backfill'
        OFFSET 0
    ) e
)
-- include: unended

-- name: cancel_blockers
-- Cancels the executions that newer ones replace, together with those they wait for and the manual runs of the same
-- jobs, and revokes them at their workers.
WITH RECURSIVE blocker AS (
    -- The given executions, those they wait for, those that these wait for, and so on.
    SELECT * FROM unnest($1::int[], $2::timestamptz[], $3::bigint[]) AS k (tenant_id, scheduled_for, job_id)
    UNION
    SELECT b.tenant_id, waiting.blocked_by, b.job_id FROM blocker b CROSS JOIN LATERAL (
        SELECT e.blocked_by FROM tickwork.execution e
        WHERE e.tenant_id = b.tenant_id AND e.scheduled_for = b.scheduled_for AND e.job_id = b.job_id
            AND e.blocked_by IS NOT NULL
        OFFSET 0
    ) waiting
), replaced AS (
    -- Those, and the off-schedule executions of the same jobs.
    SELECT tenant_id, scheduled_for, job_id FROM blocker
    UNION
    SELECT b.tenant_id, x.scheduled_for, x.job_id FROM blocker b CROSS JOIN LATERAL (
        SELECT scheduled_for, job_id FROM tickwork.off_schedule_execution
        WHERE job_id = b.job_id AND backfill_id IS NULL
        OFFSET 0
    ) x
), ended AS (
    -- Those of them that had not ended.
    UPDATE tickwork.execution e
    SET status = 'cancelled', ready_at = NULL, finished_at = tickwork.clock(), reason = 'replaced by the next one'
    FROM replaced k
    WHERE e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id
        AND e.finished_at IS NULL
    RETURNING e.tenant_id, e.scheduled_for, e.job_id, e.attempt, e.worker_id, e.reason
)
INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
SELECT tenant_id, scheduled_for, job_id, attempt, worker_id, reason FROM ended WHERE worker_id IS NOT NULL
ON CONFLICT DO NOTHING;
