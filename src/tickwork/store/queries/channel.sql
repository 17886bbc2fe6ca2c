-- How to read these queries: README.md

-- snippet: columns
-- Everything about a channel, with its secrets.
    id, tenant_id, name, kind, settings, secret, severity, quiet, digest, window_seconds, rate, paused, template,
    created_at, changed_at

-- name: channels
-- One page of a tenant's channels by name.
SELECT
-- include: columns
FROM tickwork.channel
WHERE tenant_id = $1 AND name > $2
ORDER BY name
LIMIT $3;

-- name: channel
-- A tenant's channel by name.
SELECT
-- include: columns
FROM tickwork.channel
WHERE tenant_id = $1 AND name = $2;

-- name: channel_by_id
-- A tenant's channel by id, for a delivery.
SELECT
-- include: columns
FROM tickwork.channel
WHERE tenant_id = $1 AND id = $2;

-- name: deliveries
-- How the latest messages of some channels fared, and how much is not told yet.
SELECT c.id, l.*, w.waiting
FROM unnest($1::int[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE status = 'sent') AS sent, count(*) FILTER (WHERE status = 'failed') AS failed,
        count(*) FILTER (WHERE status = 'sending') AS sending,
        max(ended_at) FILTER (WHERE status = 'sent') AS last_sent_at,
        max(ended_at) FILTER (WHERE status = 'failed') AS last_failed_at,
        (array_agg(error ORDER BY ended_at DESC) FILTER (WHERE status = 'failed'))[1] AS last_error,
        max(error) FILTER (WHERE status = 'sending') AS current_error
    FROM (
        SELECT status, ended_at, error FROM tickwork.notification_message m
        WHERE m.channel_id = c.id ORDER BY created_at DESC LIMIT $2
    ) latest
) l
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting
    FROM (SELECT FROM tickwork.notification n WHERE n.channel_id = c.id AND n.status = 'waiting' LIMIT $3) counted
) w;

-- name: lock_channel
-- Locks a channel to replace it: what it keeps of its secrets depends on those that are stored.
SELECT
-- include: columns
FROM tickwork.channel
WHERE tenant_id = $1 AND name = $2
FOR UPDATE;

-- name: set_channel
-- Creates a channel, or replaces everything about it but its id.
INSERT INTO tickwork.channel
    (tenant_id, name, kind, settings, secret, severity, quiet, digest, window_seconds, rate, paused, template)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant_id, name) DO UPDATE
SET kind = excluded.kind, settings = excluded.settings, secret = excluded.secret, severity = excluded.severity,
    quiet = excluded.quiet, digest = excluded.digest, window_seconds = excluded.window_seconds, rate = excluded.rate,
    paused = excluded.paused, template = excluded.template, changed_at = tickwork.clock()
RETURNING
-- include: columns
;

-- name: delete_channel
-- Deletes a channel.
DELETE FROM tickwork.channel WHERE tenant_id = $1 AND name = $2
RETURNING
-- include: columns
;
