-- How to read these queries: README.md

-- name: notification_rules
-- The rules of a tenant by name, or one of them.
SELECT name, tag, queue, kinds, channels, dead_letters_above, stuck_after, created_at, changed_at
FROM tickwork.notification_rule
WHERE tenant_id = $1 AND ($2::text IS NULL OR name = $2)
ORDER BY name;

-- name: set_notification_rule
-- Creates or replaces a rule.
INSERT INTO tickwork.notification_rule
    (tenant_id, name, tag, queue, kinds, channels, dead_letters_above, stuck_after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, name) DO UPDATE
SET tag = excluded.tag, queue = excluded.queue, kinds = excluded.kinds, channels = excluded.channels,
    dead_letters_above = excluded.dead_letters_above, stuck_after = excluded.stuck_after,
    changed_at = tickwork.clock();

-- name: delete_notification_rule
-- Deletes a rule, and what it has told of as too much.
WITH forgotten AS (
    -- What it has told of.
    DELETE FROM tickwork.exceeded_limit WHERE tenant_id = $1 AND rule = $2
)
DELETE FROM tickwork.notification_rule WHERE tenant_id = $1 AND name = $2;
