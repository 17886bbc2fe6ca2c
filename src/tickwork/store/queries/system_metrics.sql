-- How to read these queries: README.md

-- name: system_state
-- What the metrics say about the whole system: how late the oldest due rule is, for how long the oldest event has had
-- no number, and the oldest after it has waited for the notifier, how many dead letters users have up to a limit, how
-- many workers of users live, when the next API key in use expires, and how many connections the server has and allows.
SELECT
    (
        SELECT greatest(extract(epoch FROM tickwork.clock() - next_at), 0)::float8 FROM tickwork.rule
        WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1
    ) AS fire_lag,
    (
        SELECT greatest(extract(epoch FROM tickwork.clock() - at), 0)::float8 FROM tickwork.new_event
        ORDER BY id LIMIT 1
    ) AS event_lag,
    (
        SELECT greatest(extract(epoch FROM tickwork.clock() - at), 0)::float8 FROM tickwork.event
        WHERE number > (SELECT place FROM tickwork.notifier) ORDER BY number LIMIT 1
    ) AS notifier_lag,
    (SELECT count(*) FROM (SELECT FROM tickwork.dead_letter WHERE tenant_id > 0 LIMIT $1) AS counted) AS dead_letters,
    (
        SELECT count(*) FROM tickwork.worker
        WHERE ended_at IS NULL AND tenant_id IS NOT NULL AND lease_until > tickwork.clock()
    ) AS workers,
    (
        SELECT extract(epoch FROM min(expires_at) - tickwork.clock())::float8 FROM tickwork.api_key
        WHERE revoked_at IS NULL AND expires_at > tickwork.clock()
            AND last_used_at > tickwork.clock() - interval '7 days'
    ) AS key_expires_in,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        AS connections_allowed;
