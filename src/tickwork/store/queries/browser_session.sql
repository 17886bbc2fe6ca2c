-- How to read these queries: README.md

-- name: create_session
-- Begins a session of an API key.
INSERT INTO tickwork.session (digest, key_id, expires_at) VALUES ($1, $2, tickwork.clock() + $3::interval);

-- name: end_surplus_sessions
-- Ends the oldest sessions of an API key beyond a number.
DELETE FROM tickwork.session WHERE digest IN (
    SELECT digest FROM tickwork.session WHERE key_id = $1 ORDER BY created_at DESC, digest OFFSET $2
);

-- name: find_session
-- The API key, and its tenant, of the session with this digest.
SELECT k.id, k.name, k.tenant_id, t.name AS tenant, k.scopes
FROM tickwork.session s
JOIN tickwork.api_key k ON k.id = s.key_id
JOIN tickwork.tenant t ON t.id = k.tenant_id
WHERE s.digest = $1 AND s.expires_at > tickwork.clock()
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > tickwork.clock());

-- name: identity
-- Who a caller is: the API key, and when it or the session expires.
SELECT k.id, t.name AS tenant, k.name, k.scopes, least(s.expires_at, k.expires_at) AS expires_at
FROM tickwork.api_key k
JOIN tickwork.tenant t ON t.id = k.tenant_id
LEFT JOIN tickwork.session s ON s.key_id = k.id AND s.digest = $2
WHERE k.id = $1;

-- name: extend_sessions
-- Moves the expiry of sessions that were used, up to their longest life.
UPDATE tickwork.session SET expires_at = least(created_at + $3::interval, tickwork.clock() + $2::interval)
WHERE digest = ANY($1::bytea[]) AND expires_at > tickwork.clock();

-- name: delete_expired_sessions
-- Deletes sessions that have expired, and those of API keys that are no longer valid.
DELETE FROM tickwork.session s USING tickwork.api_key k
WHERE k.id = s.key_id
    AND (s.expires_at <= tickwork.clock() OR k.revoked_at IS NOT NULL OR k.expires_at <= tickwork.clock());

-- name: delete_expired_links
-- Deletes sign-in links that have expired.
DELETE FROM tickwork.sign_in_link WHERE expires_at <= tickwork.clock();

-- name: end_session
-- Ends one session.
DELETE FROM tickwork.session WHERE digest = $1;

-- name: end_sessions_of_key
-- Ends all sessions of an API key, and the sign-in links that were not used.
WITH links AS (  -- links that nobody has used yet
    DELETE FROM tickwork.sign_in_link WHERE key_id = $1
)
DELETE FROM tickwork.session WHERE key_id = $1;

-- name: create_link
-- Creates a sign-in link of an API key.
INSERT INTO tickwork.sign_in_link (digest, key_id, expires_at)
VALUES ($1, $2, tickwork.clock() + $3::interval)
RETURNING expires_at;

-- name: delete_surplus_links
-- Deletes the oldest sign-in links of an API key beyond a number.
DELETE FROM tickwork.sign_in_link WHERE digest IN (
    SELECT digest FROM tickwork.sign_in_link WHERE key_id = $1 ORDER BY expires_at DESC, digest OFFSET $2
);

-- name: use_link
-- Uses up a sign-in link, and gives the API key that made it.
DELETE FROM tickwork.sign_in_link l USING tickwork.api_key k, tickwork.tenant t
WHERE l.digest = $1 AND l.expires_at > tickwork.clock() AND k.id = l.key_id AND t.id = k.tenant_id
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > tickwork.clock())
RETURNING k.id, k.name, k.tenant_id, t.name AS tenant, k.scopes;
