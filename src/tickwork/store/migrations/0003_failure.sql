-- What is kept when things go wrong: output and progress of attempts, dead letters, circuit breakers.

-- What an attempt printed and logged, in chunks as they came. Only the newest of it is kept.
CREATE TABLE tickwork.log (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,
    first_line integer NOT NULL,   -- number of the chunk's first line in the attempt, from 0
    line_count integer NOT NULL CHECK (line_count > 0),
    lines bytea NOT NULL,          -- JSON: [[micros, level, text], …]
    PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt, first_line)
) PARTITION BY RANGE (scheduled_for);

DO $$
DECLARE part record;
BEGIN
    FOR part IN
        SELECT replace(c.relname, 'execution', 'log') AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'tickwork.execution'::regclass
    LOOP
        EXECUTE format('CREATE TABLE tickwork.%I PARTITION OF tickwork.log %s', part.name, part.bounds);
    END LOOP;
END $$;

-- How far the running attempt says it has come. No index knows it, so saying it is a HOT update.
ALTER TABLE tickwork.execution ADD COLUMN progress bytea;  -- JSON

-- Executions that ended as failed, until somebody redrives or discards them.
CREATE TABLE tickwork.dead_letter (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    failed_at timestamptz NOT NULL,
    error_type text,               -- of the last attempt, to choose by
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
);
CREATE INDEX dead_letter_newest ON tickwork.dead_letter (tenant_id, failed_at DESC, scheduled_for DESC, job_id DESC);

-- Destinations of HTTP jobs that have failed of late. One that works has no row.
CREATE TABLE tickwork.breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,           -- scheme://host:port
    state text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    failures_in_a_row integer NOT NULL DEFAULT 0,
    window_at timestamptz NOT NULL,      -- since when calls are counted
    calls integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    opened_at timestamptz,
    opened_times integer NOT NULL DEFAULT 0,  -- in a row: each time it stays open for longer
    probe_at timestamptz,                -- when the next call may be tried
    last_error text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, destination),
    CHECK ((state = 'closed') = (probe_at IS NULL))
);
CREATE INDEX breaker_probe ON tickwork.breaker (probe_at) WHERE probe_at IS NOT NULL;

-- Executions that wait for a breaker to close.
CREATE TABLE tickwork.held_by_breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, destination, scheduled_for, job_id)
);

CREATE OR REPLACE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         -- Paused jobs keep no reason on what waits; a breaker says that it holds it.
         WHEN e.ready_at = 'infinity' THEN CASE WHEN e.reason IS NULL THEN 'paused' ELSE 'limit' END
         WHEN e.ready_at > tickwork.clock() AND e.attempt > 1 THEN 'retry'
         WHEN e.ready_at > tickwork.clock() OR e.scheduled_for > tickwork.clock() THEN 'due'
         WHEN e.ready_at IS NOT NULL THEN 'worker' END AS waiting_for,
    CASE WHEN isfinite(e.ready_at) THEN e.ready_at ELSE e.scheduled_for END AS due_at,
    e.progress, e.failures, e.losses
FROM tickwork.execution e
JOIN tickwork.lane l ON l.id = e.lane_id
JOIN tickwork.job j ON j.id = e.job_id
LEFT JOIN LATERAL (
    SELECT a.error FROM tickwork.attempt a
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
