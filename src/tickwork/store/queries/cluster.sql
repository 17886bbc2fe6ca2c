-- How to read these queries: README.md

-- name: report_node
-- Writes what a node says about itself.
INSERT INTO tickwork.node (id, host, pid, version, address, seen_at, clock_skew, database_latency, problems)
VALUES ($1, $2, $3, $4, $5, tickwork.clock(), $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET
    address = excluded.address, seen_at = excluded.seen_at, clock_skew = excluded.clock_skew,
    database_latency = excluded.database_latency, problems = excluded.problems;

-- name: delete_silent_nodes
-- Deletes nodes that have said nothing for a while.
DELETE FROM tickwork.node WHERE seen_at < tickwork.clock() - $1::interval;

-- name: delete_node
-- Deletes a node that stops.
DELETE FROM tickwork.node WHERE id = $1;

-- name: nodes
-- All nodes, the oldest first, and for how long each has said nothing.
SELECT id, host, pid, version, address, started_at, seen_at, clock_skew, database_latency, problems,
    extract(epoch FROM tickwork.clock() - seen_at)::float8 AS silent_for
FROM tickwork.node ORDER BY started_at, id LIMIT $1;

-- name: database_state
-- The database as an operator looks at it, the time zone data that timers were computed with, and the schema.
SELECT current_setting('server_version') AS version,
    pg_database_size(current_database()) AS size,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections_used,
    current_setting('max_connections')::int AS connections_allowed,
    pg_is_in_recovery() AS is_replica,
    (SELECT count(*) FROM pg_stat_replication) AS replicas,
    (SELECT version FROM tickwork.zone_data) AS zone_data,
    (SELECT max(number) FROM tickwork.migration) AS schema_version;
