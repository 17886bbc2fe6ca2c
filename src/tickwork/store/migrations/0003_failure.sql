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
    lane_id integer NOT NULL,      -- as when it failed: the task and the queue to choose by
    failed_at timestamptz NOT NULL,
    error_type text,               -- of the last attempt, to choose by
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
);
CREATE INDEX dead_letter_age ON tickwork.dead_letter (tenant_id, failed_at, scheduled_for, job_id);
CREATE INDEX dead_letter_of_job ON tickwork.dead_letter (tenant_id, job_id, failed_at, scheduled_for);

-- What became of an attempt that found the circuit breaker of its destination open.
ALTER TYPE tickwork.attempt_outcome ADD VALUE 'held';

-- Destinations of HTTP jobs that have failed of late. One that works has no row. Its row is the lock for who is
-- held by it: holding and letting go take it first and look afterwards.
CREATE TABLE tickwork.breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,           -- scheme://host:port
    state text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since timestamptz NOT NULL,          -- when it opened, or closed
    failures_in_a_row integer NOT NULL DEFAULT 0,
    window_at timestamptz NOT NULL,      -- since when calls are counted
    calls integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    reason text,                         -- why it opened
    last_error text,
    failed_probes integer NOT NULL DEFAULT 0,  -- in a row: each makes it stay open for longer
    probe integer NOT NULL DEFAULT 0,    -- counts them: only the newest one decides
    probe_at timestamptz,                -- when a call may be tried; while one is: when it counts as lost
    pace integer NOT NULL,               -- how many of those it held are let go next
    look_at timestamptz NOT NULL,        -- when some node looks at it again
    touched_at timestamptz NOT NULL,     -- when it failed, changed or held something last
    PRIMARY KEY (tenant_id, destination),
    CHECK ((state = 'closed') = (probe_at IS NULL))
);

-- Executions that wait for a breaker to close, in the order in which they are let go.
CREATE TABLE tickwork.held_by_breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,
    priority smallint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, destination, priority, scheduled_for, job_id)
);

CREATE OR REPLACE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         WHEN e.ready_at = 'infinity' THEN CASE WHEN j.status = 'paused' THEN 'paused' ELSE 'limit' END
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
        AND a.outcome = 'failed'
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
