-- What stays away. Pings: things that run elsewhere and report here, expected by a schedule with a grace. The reverse:
-- jobs that call a heartbeat URL after success, and a cluster that reports itself outside. And nodes that fire nothing.

-- One row for each ping: what is expected, and how things stand. Whoever changes it locks its row, so that each due
-- time is missed once, whichever node notices.
CREATE TABLE tickwork.ping (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    definition bytea NOT NULL,          -- JSON, as the user wrote it
    timing text NOT NULL,               -- the canonical schedule as JSON
    grace interval NOT NULL,
    notify jsonb NOT NULL,              -- which channels are told of what
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),  -- of the token in its URL
    token_begins text NOT NULL,         -- what is shown of the token
    status text NOT NULL CHECK (status IN ('new', 'ok', 'late', 'missing', 'failed')),
    expected_at timestamptz,            -- the due time that is awaited; null: its schedule has ended
    started_at timestamptz,             -- of the run in progress
    log text NOT NULL,                  -- likewise
    told_late boolean NOT NULL,         -- of the due time that is awaited
    told_slow boolean NOT NULL,         -- of the run in progress
    late_after interval,                -- from the due time on it is later than usual; null: not known yet
    slow_after interval,                -- from the start on it takes longer than usual
    missed_at timestamptz,              -- the latest due time that was missed, until something is heard
    told_missing_at timestamptz,
    failing_since timestamptz,
    failures_in_a_row integer NOT NULL,
    last_heard_at timestamptz,
    last_success_at timestamptz,
    check_at timestamptz,               -- when to look at it, if nothing is heard before; null: never
    last_run bigint NOT NULL DEFAULT 0, -- the number of its latest run
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    updated_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    UNIQUE (tenant_id, name)
);
CREATE INDEX ping_to_check ON tickwork.ping (check_at) WHERE check_at IS NOT NULL;

-- The runs of pings, numbered from 1 on.
CREATE TABLE tickwork.ping_run (
    ping_id integer NOT NULL REFERENCES tickwork.ping ON DELETE CASCADE,
    number bigint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('success', 'failed', 'missing')),
    due_at timestamptz,                 -- null: it came when none was expected
    started_at timestamptz,             -- null: its start was not reported
    ended_at timestamptz NOT NULL,
    missed integer NOT NULL CHECK ((missed > 0) = (outcome = 'missing')),  -- due times that it stands for
    exit_code smallint,
    log text,
    PRIMARY KEY (ping_id, number)
);
CREATE INDEX ping_run_by_time ON tickwork.ping_run (ended_at);

-- The URLs that are called after an execution of a job has completed. However many complete, one call tells of the
-- last.
CREATE TABLE tickwork.heartbeat (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    url text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    completed_at timestamptz,           -- when the execution completed that is to be told of; null: none did yet
    due_at timestamptz,                 -- when to call; null: there is nothing to tell
    failures smallint NOT NULL DEFAULT 0,  -- calls that failed since the execution completed
    called_at timestamptz,
    error text                          -- of the last call
);
CREATE INDEX heartbeat_due ON tickwork.heartbeat (due_at) WHERE due_at IS NOT NULL;

-- Where the cluster reports itself while it fires, for somebody outside to notice if all of it is down.
CREATE TABLE tickwork.outside_ping (
    url text NOT NULL,
    due_at timestamptz NOT NULL,        -- when to call next: the node that moves it calls
    called_at timestamptz,
    answered_at timestamptz,            -- the last time with success
    error text,                         -- of the last call
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);

-- A node that fires nothing is told of once by the others, and again when it is back.
ALTER TABLE tickwork.node
    ADD COLUMN fired_at timestamptz,    -- when its loop that fires last worked
    ADD COLUMN told_silent boolean NOT NULL DEFAULT false;
