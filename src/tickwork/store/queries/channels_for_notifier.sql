-- How to read these queries: README.md

-- name: told_channels
-- Channels, as far as they decide when and of what they are told: all, those of a tenant, or some by id.
SELECT id, tenant_id, name, kind, severity, quiet::text, digest, window_seconds, rate, paused FROM tickwork.channel
WHERE ($1::int IS NULL OR tenant_id = $1) AND ($2::int[] IS NULL OR id = ANY($2))
ORDER BY id;
