-- How to read these queries: README.md

-- name: report_node
-- Writes what a node says about itself. Gives the time, and that of its report before.
WITH before AS (
    -- Its report before, if there was one.
    SELECT seen_at FROM tickwork.node WHERE id = $1
)
INSERT INTO tickwork.node
    (id, host, pid, version, schema_version, address, seen_at, clock_skew, database_latency, fired_at, problems)
VALUES ($1, $2, $3, $4, $5, $6, tickwork.clock(), $7, $8, tickwork.clock() - make_interval(secs => $9), $10)
ON CONFLICT (id) DO UPDATE SET
    address = excluded.address, seen_at = excluded.seen_at, clock_skew = excluded.clock_skew,
    database_latency = excluded.database_latency, fired_at = excluded.fired_at, problems = excluded.problems
RETURNING seen_at, (SELECT before.seen_at FROM before);

-- name: note_alive
-- Notes that a node is alive, for whoever restores this database and must know how far its data reach.
UPDATE tickwork.cluster SET alive_at = tickwork.clock();

-- snippet: write_events_of_told
-- Writes an event of each node in `told`, for the operators. Its kind is $1.
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    SELECT t.id, $1, json_strip_nulls(json_build_object(
        'node', told.id, 'host', told.host, 'address', told.address, 'seen_at', told.seen_at,
        'fired_at', told.fired_at))::text
    FROM told CROSS JOIN tickwork.tenant t WHERE t.name = 'default'

-- name: replace_nodes
-- Deletes nodes in whose place node $2 was started: they have its address, and report themselves no more. Those that
-- were silent are back.
WITH replaced AS (
    -- The nodes, deleted.
    DELETE FROM tickwork.node old USING tickwork.node new
    WHERE new.id = $2 AND old.id <> new.id AND old.host = new.host AND old.address = new.address
        AND old.started_at < new.started_at AND old.seen_at < tickwork.clock() - $3::interval
    RETURNING old.*
), told AS (
    -- Those that were silent.
    SELECT * FROM replaced WHERE told_silent
)
-- include: write_events_of_told
;

-- name: tell_silent_nodes
-- Tells of nodes other than $2 that have not reported themselves or not fired for $3.
WITH told AS (
    -- The nodes, marked so that they are told of once.
    UPDATE tickwork.node SET told_silent = true WHERE id IN (
        SELECT id FROM tickwork.node
        WHERE id <> $2 AND NOT told_silent AND least(seen_at, fired_at) < tickwork.clock() - $3::interval
        FOR UPDATE SKIP LOCKED)
    RETURNING *
), written AS (
    -- Their events.
-- include: write_events_of_told
)
SELECT id FROM told;

-- name: tell_nodes_back
-- Tells of nodes that were silent and have fired within $2.
WITH told AS (
    -- The nodes, marked so that they can be told of again.
    UPDATE tickwork.node SET told_silent = false WHERE id IN (
        SELECT id FROM tickwork.node
        WHERE told_silent AND least(seen_at, fired_at) >= tickwork.clock() - $2::interval
        FOR UPDATE SKIP LOCKED)
    RETURNING *
), written AS (
    -- Their events.
-- include: write_events_of_told
)
SELECT id FROM told;

-- name: delete_silent_nodes
-- Deletes nodes that have said nothing for a while.
DELETE FROM tickwork.node WHERE seen_at < tickwork.clock() - $1::interval;

-- name: delete_node
-- Deletes a node that stops.
DELETE FROM tickwork.node WHERE id = $1;

-- name: nodes
-- All nodes, the oldest first, and for how long each has said or fired nothing.
SELECT id, host, pid, version, schema_version, address, started_at, seen_at, clock_skew, database_latency, fired_at,
    problems,
    extract(epoch FROM tickwork.clock() - least(seen_at, fired_at))::float8 AS silent_for
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
