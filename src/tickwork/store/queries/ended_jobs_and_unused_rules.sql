-- How to read these queries: README.md

-- name: lock_stopped_jobs
-- Locks some recurring jobs that were cancelled or had their last run before the history that is kept, by id.
SELECT j.tenant_id, j.id, j.id AS place FROM tickwork.job j
WHERE j.rule_id IS NOT NULL AND (j.status = 'cancelled' OR j.active_until IS NOT NULL) AND j.id > $3
    AND j.updated_at < tickwork.clock() - $1::interval
    AND (j.status = 'cancelled' OR j.status = 'active' AND j.active_until < tickwork.clock() - $1::interval)
ORDER BY j.id
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: lock_jobs_without_due_times
-- Locks some recurring jobs whose schedule ended before the history that is kept: along the rules that have ended, as
-- there are few of them beside all jobs.
SELECT j.tenant_id, j.id, r.tenant_id AS place, r.id AS rule_id, j.priority, j.id AS job_id
FROM tickwork.rule r
CROSS JOIN LATERAL (
    SELECT tenant_id, priority, id FROM tickwork.job
    WHERE rule_id = r.id AND status = 'active' AND updated_at < tickwork.clock() - $1::interval
        AND ((r.tenant_id, r.id) > ($3, $4) OR (priority, id) > ($5::smallint, $6::bigint))
    ORDER BY priority, id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) j
WHERE r.next_at IS NULL AND coalesce(r.last_at, '-infinity') < tickwork.clock() - $1::interval
    AND (r.tenant_id, r.id) >= ($3::int, $4::bigint)
ORDER BY r.tenant_id, r.id, j.priority, j.id
LIMIT $2;

-- name: those_without_history
-- Those of these jobs that nothing refers to: no execution, no backfill that goes on, no child, no element.
SELECT j.id, j.tenant_id FROM tickwork.job j
WHERE j.id = ANY($1::bigint[])
    AND NOT EXISTS (
        SELECT FROM tickwork.due_times_of_job(
            j.tenant_id, j.id, '-infinity', greatest(j.updated_at, j.active_until), 1000) AS due (at)
        CROSS JOIN LATERAL (
            SELECT FROM tickwork.execution e
            WHERE e.tenant_id = j.tenant_id AND e.scheduled_for = due.at AND e.job_id = j.id
            OFFSET 0
        ) e)
    AND NOT EXISTS (SELECT FROM tickwork.off_schedule_execution x WHERE x.job_id = j.id OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM tickwork.backfill b
        WHERE b.tenant_id = j.tenant_id AND b.job_id = j.id AND b.ended_at IS NULL OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.dependency d WHERE d.parent_id = j.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.job x WHERE x.element_of = j.id OFFSET 0);

-- name: forget_past_rules
-- Deletes which rules jobs belonged to before, if no round of that time is left.
DELETE FROM tickwork.past_rule p
WHERE p.until < tickwork.clock() - $1::interval
    AND NOT EXISTS (
        SELECT FROM tickwork.round r WHERE r.rule_id = p.rule_id AND r.scheduled_for <= p.until OFFSET 0);

-- snippet: unused
-- That a rule r is of no use: no job has it, and no round of it is left.
    NOT EXISTS (SELECT FROM tickwork.job j WHERE j.rule_id = r.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.past_rule p WHERE p.rule_id = r.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.round o WHERE o.rule_id = r.id OFFSET 0)

-- name: lock_unused_rules
-- Locks some rules of no use that fire no more.
SELECT r.id FROM tickwork.rule r
WHERE r.next_at IS NULL AND
-- include: unused
LIMIT $1
FOR UPDATE OF r SKIP LOCKED;

-- name: last_of_next_rules
-- How far a look at the next rules by id goes.
SELECT max(id) AS id, count(*) AS number
FROM (SELECT id FROM tickwork.rule WHERE id > $1 ORDER BY id LIMIT $2) next;

-- name: lock_unused_rules_between
-- Locks those rules in a range of ids that are of no use, but may be about to fire for nobody.
SELECT r.id FROM tickwork.rule r
WHERE r.id > $1 AND r.id <= $2 AND
-- include: unused
FOR UPDATE OF r SKIP LOCKED;

-- name: forget_rules
-- Deletes those of these rules that no job has joined until they were locked.
DELETE FROM tickwork.rule r
WHERE r.id = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM tickwork.job j WHERE j.rule_id = r.id OFFSET 0);
