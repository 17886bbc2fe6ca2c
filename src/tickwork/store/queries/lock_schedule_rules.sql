-- How to read these queries: README.md

-- name: rule_of_job
-- The rule to lock before the job itself is read.
SELECT rule_id FROM tickwork.job WHERE tenant_id = $1 AND id = $2;

-- name: ensure_rules
-- Creates the rules that do not exist yet.
INSERT INTO tickwork.rule (tenant_id, timing, catch_up)
SELECT $1, * FROM unnest($2::text[], $3::text[]) AS r (timing, catch_up)
ORDER BY 2, 3
ON CONFLICT DO NOTHING;

-- name: lock_rules
-- Locks rules by timing and by id, before anything is decided about their jobs.
SELECT r.id, r.timing, r.catch_up, r.next_at, r.last_at, r.cursor_priority, r.cursor_job
FROM tickwork.rule r
WHERE r.tenant_id + 0 = $1 AND r.id = ANY(ARRAY(
    SELECT named.id FROM unnest($2::text[], $3::text[]) AS wanted (timing, catch_up)
    CROSS JOIN LATERAL (
        SELECT id FROM tickwork.rule
        WHERE tenant_id = $1 AND timing = wanted.timing AND catch_up = wanted.catch_up
        OFFSET 0
    ) named
    UNION ALL SELECT unnest($4::bigint[])))
ORDER BY r.id
FOR UPDATE OF r;

-- name: arm_rule
-- Gives a rule its next due time, after no job had needed one.
UPDATE tickwork.rule SET next_at = $2 WHERE id = $1 AND next_at IS NULL;
