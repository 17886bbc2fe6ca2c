-- How to read these queries: README.md

-- name: lock_cluster
-- Locks the row of the cluster, with the time up to which the database has data: when a node last reported itself.
-- Nodes of earlier versions left no such time, so other traces of life have to do.
SELECT tickwork.clock() AS now, greatest(coalesce(alive_at, '-infinity'),
    (SELECT max(seen_at) FROM tickwork.node), (SELECT max(started_at) FROM tickwork.worker),
    (SELECT max(last_at) FROM tickwork.rule),
    (SELECT at FROM tickwork.event ORDER BY number DESC LIMIT 1),
    (SELECT max(created_at) FROM tickwork.tenant)) AS data_until
FROM tickwork.cluster FOR UPDATE;

-- name: nodes_alive
-- The nodes that have reported themselves within $1, and whether there are sessions of Tickwork beside this one.
SELECT id, host, pid, seen_at, EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tickwork' AND pid <> pg_backend_pid()) AS in_use
FROM tickwork.node WHERE seen_at > tickwork.clock() - $1::interval ORDER BY host, pid;

-- name: move_sequences
-- Moves every sequence on: by $1 those of 64 bits, by $2 those of 32 bits, but by no more than a sixteenth of the ids
-- that are left.
SELECT sequencename AS name, setval(format('%I.%I', schemaname, sequencename)::regclass, last + least(
    CASE WHEN max_value > 2147483647 THEN $1::bigint ELSE $2::bigint END, (max_value - last) / 16)) AS last
FROM (
    SELECT schemaname, sequencename, max_value, coalesce(last_value, start_value) AS last
    FROM pg_sequences WHERE schemaname = 'tickwork'
) sequence
ORDER BY name;

-- name: move_event_numbers
-- Moves the numbers of events on, so that nobody who follows them takes a new event for one that is known.
UPDATE tickwork.last_event SET number = number + $1::bigint;

-- name: disown_workers
-- Ends the leases of all workers and makes their tokens void: each registers anew, and what it had counts as lost.
UPDATE tickwork.worker
SET lease_until = least(lease_until, tickwork.clock() - interval '1 second'), connection = greatest(connection, 1),
    token = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
WHERE ended_at IS NULL;

-- name: delete_sessions
-- Signs all browsers out: a session that was ended after the backup would be valid again.
WITH links AS (
    -- Sign-in links, which may have been used.
    DELETE FROM tickwork.sign_in_link
)
DELETE FROM tickwork.session;

-- name: delete_nodes
-- Forgets the nodes of before.
DELETE FROM tickwork.node;

-- name: note_restored
-- Pauses the cluster and notes that its database was restored, with data up to $1.
UPDATE tickwork.cluster SET restored_at = tickwork.clock(), restored_until = $1,
    paused_at = coalesce(paused_at, tickwork.clock()), paused_by = coalesce(paused_by, $2),
    pause_reason = coalesce(pause_reason, $3);

-- name: tell_restored
-- Tells of it.
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT t.id, $1, json_build_object('data_until', $2::timestamptz)::text FROM tickwork.tenant t WHERE t.name = 'default';
