-- How to read these queries: README.md

-- name: server_history
-- Which history of WAL this server writes.
SELECT system_identifier::text AS system_id,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS wal_timeline
FROM pg_control_system();

-- name: server_started_at
-- Since when this server runs: it tells servers apart that are reached at the same address.
SELECT pg_postmaster_start_time();

-- name: mark_commit
-- Writes a mark into the row of a node. Gives what is known of the server at that moment.
UPDATE tickwork.node
SET commit_mark = $2, marked_at = tickwork.clock(), wal_timeline = $3,
    wal_position = (pg_current_wal_insert_lsn() - '0/0')::bigint
WHERE id = $1
RETURNING commit_mark AS number, marked_at, wal_position,
    current_setting('synchronous_standby_names') <> ''
        AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS synchronous;

-- name: lock_failovers
-- Lets one node at a time look at a failover.
SELECT pg_advisory_xact_lock(hashtext('tickwork.failover'));

-- name: what_survived
-- The last mark of a node that is there, up to where this server had the WAL when it was promoted, and the last sign of
-- life of any node.
SELECT n.commit_mark, n.marked_at, (pg_last_wal_replay_lsn() - '0/0')::bigint AS replayed,
    pg_last_xact_replay_timestamp() AS replayed_at, tickwork.clock() AS now,
    greatest((SELECT alive_at FROM tickwork.cluster),
        (SELECT max(greatest(seen_at, marked_at)) FROM tickwork.node)) AS alive_at
FROM (VALUES (1)) AS one LEFT JOIN tickwork.node n ON n.id = $1;

-- snippet: of_failover
-- What nodes go by after a failover. Follows SELECT or RETURNING.
    id, system_id, wal_timeline, noticed_at, loss, lost_after, due_until, first_attempt, first_lease

-- name: newest_failover
-- The history of WAL that nodes met last.
SELECT
-- include: of_failover
FROM tickwork.failover ORDER BY id DESC LIMIT 1;

-- name: note_first_history
-- Notes the first history of WAL.
INSERT INTO tickwork.failover (system_id, wal_timeline, loss, due_until, first_attempt, first_lease)
VALUES ($1, $2, 'none', '-infinity', 1, 0)
RETURNING
-- include: of_failover
;

-- name: skip_ids
-- Skips ids that lost commits may have given out: $1 of 64 bits, $2 of 32 bits.
SELECT tickwork.skip_ids($1, $2);

-- name: note_failover
-- Notes a failover. If commits may be lost, executions that were due by now get attempts from a higher number on:
-- higher than $7, too, which the node knows although the database may not.
INSERT INTO tickwork.failover (system_id, wal_timeline, loss, lost_after, due_until, first_attempt, first_lease)
SELECT $1, $2, $3, $4,
    CASE WHEN $3 = 'none' THEN before.due_until ELSE tickwork.clock() + $5::interval END,
    CASE WHEN $3 = 'none' THEN before.first_attempt
         ELSE greatest(before.first_attempt, $7::int) / $6::int * $6 + $6 + 1 END,
    CASE WHEN $3 = 'none' THEN before.first_lease ELSE nextval('tickwork.lease_id_seq') END
FROM (SELECT * FROM tickwork.failover ORDER BY id DESC LIMIT 1) before
RETURNING
-- include: of_failover
;

-- name: raise_loss
-- Notes of a failover what the node that noted it could not know: its loss $2, and that attempts have had numbers up to
-- $6. If those that it gives out are no higher, executions that were due by now get higher ones.
UPDATE tickwork.failover f
SET loss = $2, lost_after = coalesce($3, f.lost_after),
    due_until = CASE WHEN f.first_attempt <= $6::int THEN tickwork.clock() + $4::interval ELSE f.due_until END,
    first_attempt = CASE WHEN f.first_attempt <= $6::int THEN $6::int / $5::int * $5 + $5 + 1 ELSE f.first_attempt END,
    first_lease = CASE WHEN f.first_attempt <= $6::int THEN nextval('tickwork.lease_id_seq') ELSE f.first_lease END
WHERE f.id = $1
RETURNING
-- include: of_failover
;

-- name: write_failover_event
-- Tells the operators of a failover, or of lost commits.
INSERT INTO tickwork.new_event (tenant_id, kind, detail)
SELECT t.id, $1, $2 FROM tickwork.tenant t WHERE t.name = 'default';

-- name: failovers
-- The latest failovers, the newest first.
SELECT id, wal_timeline, noticed_at, loss, lost_after, first_attempt
FROM tickwork.failover WHERE id > (SELECT min(id) FROM tickwork.failover) ORDER BY id DESC LIMIT $1;

-- name: vanished_jobs
-- Those of these jobs that are not there.
SELECT created.id FROM unnest($1::bigint[]) AS created (id)
WHERE NOT EXISTS (SELECT FROM tickwork.job j WHERE j.id = created.id OFFSET 0)
ORDER BY created.id;
