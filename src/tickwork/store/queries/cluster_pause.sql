-- How to read these queries: README.md

-- name: read_cluster
-- Whether the cluster is paused, and when its database was restored and backed up.
SELECT paused_at, paused_by, pause_reason, restored_at, restored_until, backed_up_at
FROM tickwork.cluster;

-- name: pause_cluster
-- Pauses the cluster, unless it is paused already, and tells of it.
WITH paused AS (
    -- The cluster, if it worked until now.
    UPDATE tickwork.cluster SET paused_at = tickwork.clock(), paused_by = $1, pause_reason = $2
    WHERE paused_at IS NULL
    RETURNING paused_by, pause_reason
)
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT t.id, $3, json_strip_nulls(json_build_object('by', paused.paused_by, 'reason', paused.pause_reason))::text
FROM paused CROSS JOIN tickwork.tenant t WHERE t.name = 'default';

-- name: lift_pause
-- Lets the cluster work again, and tells of it.
WITH paused AS (
    -- The cluster as it was, if it was paused.
    SELECT paused_at FROM tickwork.cluster WHERE paused_at IS NOT NULL FOR UPDATE
), lifted AS (
    -- The cluster, which works.
    UPDATE tickwork.cluster SET paused_at = NULL, paused_by = NULL, pause_reason = NULL
    FROM paused WHERE tickwork.cluster.paused_at IS NOT NULL
)
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT t.id, $2, json_build_object('by', $1::text, 'paused_at', paused.paused_at)::text
FROM paused CROSS JOIN tickwork.tenant t WHERE t.name = 'default';

-- name: note_backup
-- Notes when the database was last copied into a backup.
UPDATE tickwork.cluster SET backed_up_at = greatest(backed_up_at, $1);
