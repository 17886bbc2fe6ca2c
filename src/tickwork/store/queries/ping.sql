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

-- name: is_any_ping_to_check
-- Whether it is time to look at a ping. Nearly always it is not, and this needs no transaction.
SELECT EXISTS (SELECT FROM tickwork.ping WHERE check_at <= tickwork.clock()) AS is_any;

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

-- name: write_ping_states
-- Writes how things stand with pings, and gives the numbers up to which their runs are numbered then.
UPDATE tickwork.ping p SET
    check_at = s.check_at, last_run = p.last_run + s.runs, status = s.status, expected_at = s.expected_at,
    started_at = s.started_at, log = s.log, told_late = s.told_late, told_slow = s.told_slow,
    late_after = s.late_after, slow_after = s.slow_after, missed_at = s.missed_at,
    told_missing_at = s.told_missing_at, failing_since = s.failing_since, failures_in_a_row = s.failures_in_a_row,
    last_heard_at = s.last_heard_at, last_success_at = s.last_success_at
FROM unnest($1::int[], $2::timestamptz[], $3::int[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[],
            $8::boolean[], $9::boolean[], $10::interval[], $11::interval[], $12::timestamptz[], $13::timestamptz[],
            $14::timestamptz[], $15::int[], $16::timestamptz[], $17::timestamptz[])
    AS s (id, check_at, runs, status, expected_at, started_at, log, told_late, told_slow, late_after, slow_after,
          missed_at, told_missing_at, failing_since, failures_in_a_row, last_heard_at, last_success_at)
WHERE p.id = s.id
RETURNING p.id, p.last_run;

-- name: add_ping_runs
-- Adds runs to the history of pings, and drops what is beyond its bounds: very many runs, and the logs of older ones.
WITH dropped AS (
    -- The run of each ping that is one too many; more only if the bound was lowered.
    DELETE FROM tickwork.ping_run WHERE ctid = ANY(ARRAY(
        SELECT r.ctid FROM unnest($1::int[], $2::bigint[]) AS n (ping_id, number)
        CROSS JOIN LATERAL (
            SELECT ctid FROM tickwork.ping_run WHERE ping_id = n.ping_id AND number <= n.number - $10::bigint OFFSET 0
        ) r))
), shortened AS (
    -- The run of each ping that is the first whose log is no longer kept.
    UPDATE tickwork.ping_run SET log = NULL WHERE ctid = ANY(ARRAY(
        SELECT r.ctid FROM unnest($1::int[], $2::bigint[]) AS n (ping_id, number)
        CROSS JOIN LATERAL (
            SELECT ctid FROM tickwork.ping_run
            WHERE ping_id = n.ping_id AND number = n.number - $11::bigint AND log IS NOT NULL OFFSET 0
        ) r))
)
INSERT INTO tickwork.ping_run (ping_id, number, outcome, due_at, started_at, ended_at, missed, exit_code, log)
SELECT * FROM unnest($1::int[], $2::bigint[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[],
                     $7::int[], $8::smallint[], $9::text[]);

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
