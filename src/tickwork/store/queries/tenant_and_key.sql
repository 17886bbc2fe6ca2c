-- How to read these queries: README.md

-- name: ensure_tenant
-- Creates a tenant on first use.
INSERT INTO tickwork.tenant (name, signing_secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: find_tenant
-- A tenant by name, and whether it is being deleted.
SELECT t.id, t.name, p.tenant_id IS NOT NULL AS is_being_purged
FROM tickwork.tenant t LEFT JOIN tickwork.tenant_purge p ON p.tenant_id = t.id
WHERE t.name = $1;

-- name: tenants
-- All tenants but the system's own, with their valid keys, and whether they are being deleted.
SELECT t.name, t.created_at, p.tenant_id IS NOT NULL AS is_being_purged,
    (SELECT count(*) FROM tickwork.api_key k
        WHERE k.tenant_id = t.id AND k.revoked_at IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > tickwork.clock())) AS keys
FROM tickwork.tenant t LEFT JOIN tickwork.tenant_purge p ON p.tenant_id = t.id
WHERE t.id <> 0 AND ($1::text IS NULL OR t.name = $1)
ORDER BY t.name;

-- name: contents_of_tenant
-- What a tenant has, each counted up to a limit ($2).
SELECT (SELECT count(*) FROM (SELECT FROM tickwork.job WHERE tenant_id = t.id LIMIT $2) x) AS jobs,
    (SELECT count(*) FROM (SELECT FROM tickwork.execution WHERE tenant_id = t.id LIMIT $2) x) AS executions,
    (SELECT count(*) FROM (SELECT FROM tickwork.dead_letter WHERE tenant_id = t.id LIMIT $2) x) AS dead_letters,
    (SELECT count(*) FROM (SELECT FROM tickwork.event WHERE tenant_id = t.id LIMIT $2) x) AS events,
    (SELECT count(*) FROM (SELECT FROM tickwork.notification WHERE tenant_id = t.id LIMIT $2) x) AS notifications,
    (SELECT count(*) FROM (SELECT FROM tickwork.channel WHERE tenant_id = t.id LIMIT $2) x) AS channels,
    (SELECT count(*) FROM (SELECT FROM tickwork.ping WHERE tenant_id = t.id LIMIT $2) x) AS pings,
    (SELECT count(*) FROM (SELECT FROM tickwork.task WHERE tenant_id = t.id LIMIT $2) x) AS tasks,
    (SELECT count(*) FROM (
        SELECT FROM tickwork.worker WHERE tenant_id = t.id AND ended_at IS NULL LIMIT $2) x) AS workers,
    EXISTS (SELECT FROM tickwork.archive_part) AS is_in_archive
FROM tickwork.tenant t WHERE t.name = $1;

-- name: signing_secret
-- The secret that signs a tenant's HTTP calls.
SELECT signing_secret FROM tickwork.tenant WHERE id = $1;

-- name: create_key
-- Creates an API key; only its digest is stored.
INSERT INTO tickwork.api_key (tenant_id, name, prefix, digest, scopes, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (digest) DO NOTHING
RETURNING id;

-- name: find_key
-- The valid API key with this digest, and its tenant.
SELECT k.id, k.name, k.tenant_id, t.name AS tenant, k.scopes
FROM tickwork.api_key k JOIN tickwork.tenant t ON t.id = k.tenant_id
WHERE k.digest = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > tickwork.clock());

-- name: is_valid_key
-- Whether an API key that was found before is still valid.
SELECT FROM tickwork.api_key
WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > tickwork.clock());

-- name: touch_keys
-- Records that API keys were used, at most once a minute.
UPDATE tickwork.api_key SET last_used_at = tickwork.clock()
WHERE id = ANY($1::int[]) AND (last_used_at IS NULL OR last_used_at < tickwork.clock() - interval '1 minute');

-- name: keys
-- The API keys of a tenant, or of all tenants.
SELECT k.id, t.name AS tenant, k.name, k.prefix, k.scopes, k.created_at, k.expires_at, k.last_used_at, k.revoked_at
FROM tickwork.api_key k JOIN tickwork.tenant t ON t.id = k.tenant_id
WHERE ($1::int IS NULL OR k.tenant_id = $1) AND ($2::int IS NULL OR k.id = $2)
ORDER BY k.id;

-- name: lock_keys_of_tenant
-- Locks the tenant of an API key, so that its keys are revoked one at a time.
SELECT t.id, t.name FROM tickwork.api_key k JOIN tickwork.tenant t ON t.id = k.tenant_id
WHERE k.id = $2 AND ($1::int IS NULL OR k.tenant_id = $1)
FOR NO KEY UPDATE OF t;

-- name: is_last_admin_key
-- Whether no API key that can create others would be left after this one. A key that expires is no substitute for one
-- that does not.
SELECT FROM tickwork.api_key k
WHERE k.id = $1 AND 'admin' = ANY(k.scopes) AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > tickwork.clock())
    AND NOT EXISTS (
        SELECT FROM tickwork.api_key o
        WHERE o.tenant_id = k.tenant_id AND o.id <> k.id AND 'admin' = ANY(o.scopes) AND o.revoked_at IS NULL
            AND (o.expires_at IS NULL OR (k.expires_at IS NOT NULL AND o.expires_at > tickwork.clock()))
    );

-- name: revoke_key
-- Revokes an API key.
UPDATE tickwork.api_key SET revoked_at = coalesce(revoked_at, tickwork.clock()) WHERE id = $1;

-- name: any_key
-- Whether any API key is not revoked.
SELECT EXISTS (SELECT FROM tickwork.api_key WHERE revoked_at IS NULL) AS any;
