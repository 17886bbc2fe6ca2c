-- How to read these queries: README.md

-- snippet: state
-- What changes whenever a ping is heard of or missed, in the order of PingState.
    p.status, p.expected_at, p.started_at, p.log, p.told_late, p.told_slow, p.late_after, p.slow_after, p.missed_at,
    p.told_missing_at, p.failing_since, p.failures_in_a_row, p.last_heard_at, p.last_success_at

-- snippet: shown
-- What users see of pings. Follows SELECT.
    p.id, p.name, p.definition, p.timing, p.grace, p.token_begins, p.created_at, p.updated_at, p.status, p.expected_at,
    p.started_at, p.log, p.failing_since, p.failures_in_a_row, p.last_heard_at, p.last_success_at
FROM tickwork.ping p

-- snippet: delay
-- How late a run began, or ended if its start was not reported.
    CASE WHEN due_at IS NOT NULL
         THEN greatest(extract(epoch FROM coalesce(started_at, ended_at) - due_at)::float8, 0) END AS delay

-- name: pings
-- One page of a tenant's pings by name: all, or those of one status and with a text in their name.
SELECT
-- include: shown
WHERE p.tenant_id = $1 AND p.name > $2 AND ($3::text IS NULL OR p.status = $3)
    AND ($4::text IS NULL OR strpos(lower(p.name), lower($4)) > 0)
ORDER BY p.name
LIMIT $5;

-- name: ping
-- One ping.
SELECT
-- include: shown
WHERE p.tenant_id = $1 AND p.name = $2;

-- name: recent_ping_runs
-- The latest runs of each of some pings, latest first.
SELECT p.id, run.number, run.outcome, run.ended_at, run.run_time
FROM unnest($1::int[]) AS p (id)
CROSS JOIN LATERAL (
    SELECT number, outcome, ended_at, extract(epoch FROM ended_at - started_at)::float8 AS run_time
    FROM tickwork.ping_run WHERE ping_id = p.id
    ORDER BY number DESC LIMIT $2
) run
ORDER BY p.id, run.number DESC;

-- name: latest_ping_runs
-- The latest runs of one ping, for its statistics.
SELECT outcome, extract(epoch FROM ended_at - started_at)::float8 AS run_time,
-- include: delay
FROM tickwork.ping_run WHERE ping_id = $1
ORDER BY number DESC LIMIT $2;

-- name: ping_history
-- One page of the runs of a ping before a number, latest first.
SELECT number, outcome, due_at, started_at, ended_at, missed, exit_code, log,
    extract(epoch FROM ended_at - started_at)::float8 AS run_time,
-- include: delay
FROM tickwork.ping_run WHERE ping_id = $1 AND number < $2
ORDER BY number DESC LIMIT $3;

-- name: find_ping
-- The number of a ping.
SELECT id FROM tickwork.ping WHERE tenant_id = $1 AND name = $2;

-- name: lock_ping
-- Locks a ping by its name.
SELECT p.id, p.tenant_id, p.name, p.timing, p.grace, tickwork.clock() AS now,
-- include: state
FROM tickwork.ping p WHERE p.tenant_id = $1 AND p.name = $2
FOR UPDATE;

-- name: lock_ping_by_token
-- Locks the ping whose URL has this token.
SELECT p.id, p.tenant_id, p.name, p.timing, p.grace, tickwork.clock() AS now,
-- include: state
FROM tickwork.ping p WHERE p.digest = $1
FOR UPDATE;

-- name: lock_pings_to_check
-- Locks pings that it is time to look at, unless another node does or something is just heard of them.
SELECT p.id, p.tenant_id, p.name, p.timing, p.grace, tickwork.clock() AS now,
-- include: state
FROM tickwork.ping p WHERE p.check_at <= tickwork.clock()
ORDER BY p.check_at LIMIT $1
FOR UPDATE SKIP LOCKED;

-- name: lock_pings_after
-- Locks some pings after one, by their numbers.
SELECT p.id, p.tenant_id, p.name, p.timing, p.grace, tickwork.clock() AS now,
-- include: state
FROM tickwork.ping p WHERE p.id > $1
ORDER BY p.id LIMIT $2
FOR UPDATE;

-- name: create_ping
-- Creates a ping, unless its name is taken.
INSERT INTO tickwork.ping AS p
    (tenant_id, name, definition, timing, grace, notify, digest, token_begins, check_at, status, expected_at,
     started_at, log, told_late, told_slow, late_after, slow_after, missed_at, told_missing_at, failing_since,
     failures_in_a_row, last_heard_at, last_success_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING p.id;

-- name: define_ping
-- Changes what a ping is.
UPDATE tickwork.ping SET definition = $2, timing = $3, grace = $4, notify = $5, updated_at = tickwork.clock()
WHERE id = $1;

-- name: set_ping_token
-- Gives a ping another token: the one before stops working.
UPDATE tickwork.ping SET digest = $3, token_begins = $4, updated_at = tickwork.clock()
WHERE tenant_id = $1 AND name = $2;

-- name: delete_ping
-- Deletes a ping with its history.
DELETE FROM tickwork.ping WHERE tenant_id = $1 AND name = $2;

-- name: write_ping_state
-- Writes how things stand with a ping, and makes room for the numbers of new runs.
UPDATE tickwork.ping SET
    check_at = $2, last_run = last_run + $3, status = $4, expected_at = $5, started_at = $6, log = $7, told_late = $8,
    told_slow = $9, late_after = $10, slow_after = $11, missed_at = $12, told_missing_at = $13, failing_since = $14,
    failures_in_a_row = $15, last_heard_at = $16, last_success_at = $17
WHERE id = $1
RETURNING last_run;

-- name: add_ping_run
-- Adds a run to the history of a ping, and drops what is beyond its bounds: very many runs, and the logs of older ones.
WITH dropped AS (
    -- The run that is one too many; more only if the bound was lowered.
    DELETE FROM tickwork.ping_run WHERE ping_id = $1 AND number <= $2::bigint - $10::bigint
), shortened AS (
    -- The run that is the first whose log is no longer kept.
    UPDATE tickwork.ping_run SET log = NULL WHERE ping_id = $1 AND number = $2::bigint - $11::bigint AND log IS NOT NULL
)
INSERT INTO tickwork.ping_run (ping_id, number, outcome, due_at, started_at, ended_at, missed, exit_code, log)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: past_ping_successes
-- The latest runs of a ping that succeeded.
SELECT
-- include: delay
    , extract(epoch FROM ended_at - started_at)::float8 AS run_time
FROM (
    SELECT outcome, due_at, started_at, ended_at FROM tickwork.ping_run
    WHERE ping_id = $1 ORDER BY number DESC LIMIT $2
) latest
WHERE outcome = 'success';

-- name: put_off_ping
-- Puts off the look at a ping that cannot be read.
UPDATE tickwork.ping SET check_at = tickwork.clock() + $2::interval WHERE id = $1;

-- name: delete_old_ping_runs
-- Deletes some runs that are older than the history that is kept.
DELETE FROM tickwork.ping_run WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.ping_run WHERE ended_at < tickwork.clock() - $1::interval LIMIT $2));
