-- The spine: tenants and keys, rules and jobs, executions and attempts, workers and what they hold.

-- The one clock: due, lease and lateness are decided by it. The test kit puts a settable one in its place.
CREATE FUNCTION tickwork.clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT statement_timestamp()';

CREATE TYPE tickwork.job_status AS ENUM ('active', 'paused', 'completed', 'failed', 'cancelled');
CREATE TYPE tickwork.execution_status AS ENUM
    ('pending', 'running', 'completed', 'failed', 'cancelled', 'skipped');
CREATE TYPE tickwork.execution_trigger AS ENUM ('schedule', 'manual', 'backfill', 'retry');
CREATE TYPE tickwork.attempt_outcome AS ENUM
    ('completed', 'failed', 'lost', 'snoozed', 'returned', 'cancelled');
CREATE TYPE tickwork.overlap AS ENUM ('skip', 'queue', 'allow', 'replace');
CREATE TYPE tickwork.on_worker_lost AS ENUM ('retry', 'fail');

CREATE TABLE tickwork.tenant (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    signing_secret text NOT NULL,  -- signs the HTTP calls made for this tenant
    created_at timestamptz NOT NULL DEFAULT tickwork.clock()
);

CREATE TABLE tickwork.api_key (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL REFERENCES tickwork.tenant,
    name text NOT NULL,
    prefix text NOT NULL,
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),  -- SHA-256: the key itself is never stored
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['admin', 'write', 'read', 'worker'] AND scopes <> '{}'),
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);

CREATE TABLE tickwork.idempotency (
    tenant_id integer NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    headers jsonb NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_age ON tickwork.idempotency (created_at);

-- A task that some worker has offered, and what its payload must look like.
CREATE TABLE tickwork.task (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    parameters jsonb NOT NULL,
    description text,
    offered_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, name)
);

-- A lane holds the executions that the same workers can run: claiming looks only into lanes somebody serves,
-- so a backlog without workers never stands in the way of the rest.
CREATE TABLE tickwork.lane (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    UNIQUE (tenant_id, queue, task)
);

-- A rule is one timer for all the jobs that share a timing. Its row is the lock for who belongs to it:
-- firing, joining, leaving, pausing and resuming all take it first and look afterwards.
CREATE TABLE tickwork.rule (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    timing text NOT NULL,          -- the canonical schedule as JSON
    catch_up text NOT NULL,        -- what to do about missed due times, as JSON
    next_at timestamptz,           -- the due time to fire next; null while no job needs it
    cursor_priority smallint,      -- how far the firing of next_at has come; null when not begun
    cursor_job bigint,
    last_at timestamptz,           -- the due time that was fired last
    UNIQUE (tenant_id, timing, catch_up),
    CHECK ((cursor_priority IS NULL) = (cursor_job IS NULL)),
    CHECK (last_at < next_at)
) WITH (fillfactor = 60);
CREATE INDEX rule_due ON tickwork.rule (next_at) WHERE next_at IS NOT NULL;

-- The due times of a rule that were dealt with: fired, or passed over with the reason. A missed range is one
-- row: from scheduled_for to missed_until there were `missed` due times that nobody ran.
CREATE TABLE tickwork.round (
    rule_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    missed integer NOT NULL DEFAULT 0,
    missed_until timestamptz,
    reason text,
    PRIMARY KEY (rule_id, scheduled_for),
    CHECK ((missed = 0) = (missed_until IS NULL) AND (missed = 0) = (reason IS NULL))
);

CREATE SEQUENCE tickwork.job_id;
CREATE TABLE tickwork.job (
    id bigint PRIMARY KEY DEFAULT nextval('tickwork.job_id'),
    rule_id bigint,                     -- null: due one time
    scheduled_for timestamptz,          -- that one time
    active_from timestamptz NOT NULL,   -- due times before this are not its own
    active_until timestamptz,           -- nor are those after this: it may run only so many times
    runs_left integer,                  -- how many of these were left when it was paused
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    timeout real NOT NULL,
    status tickwork.job_status NOT NULL DEFAULT 'active',
    overlap tickwork.overlap NOT NULL,
    on_worker_lost tickwork.on_worker_lost NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    held boolean NOT NULL DEFAULT false,  -- due beyond the partitions that exist: its execution comes later
    task text NOT NULL,
    payload bytea NOT NULL,             -- JSON
    target bytea,                       -- JSON: the HTTP call
    name text,
    key text,
    tags text[] NOT NULL DEFAULT '{}',
    definition bytea NOT NULL,          -- JSON: the request as it was made, without the payload
    CHECK ((rule_id IS NULL) <> (scheduled_for IS NULL)),
    CHECK (NOT held OR scheduled_for IS NOT NULL)
);
CREATE INDEX job_of_rule ON tickwork.job (rule_id, priority, id) WHERE rule_id IS NOT NULL;
CREATE INDEX job_of_tenant ON tickwork.job (tenant_id, id);
CREATE UNIQUE INDEX job_key ON tickwork.job (tenant_id, key) WHERE key IS NOT NULL AND status <> 'cancelled';
CREATE INDEX job_held ON tickwork.job (scheduled_for) WHERE held;

-- The rules a job belonged to before: where to look for its history.
CREATE TABLE tickwork.job_past (
    job_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (job_id, until)
);

-- Executions that no rule made: run now, backfilled, moved. With the rounds they list all of a job's
-- executions without an index by job on the hot table.
CREATE TABLE tickwork.extra (
    job_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    PRIMARY KEY (job_id, scheduled_for)
);

CREATE TABLE tickwork.worker (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer,                  -- null: the built-in worker, which serves every tenant
    connection integer NOT NULL DEFAULT 1,  -- counts up at every reconnect: only the newest may take work
    token bytea NOT NULL CHECK (length(token) = 32),  -- SHA-256 of what lets it come back
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    tasks text[] NOT NULL,
    queues text[] NOT NULL,
    slots integer NOT NULL CHECK (slots > 0),
    labels jsonb NOT NULL DEFAULT '{}',
    draining boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    lease_until timestamptz NOT NULL,
    ended_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX worker_alive ON tickwork.worker (id) WHERE ended_at IS NULL;
CREATE INDEX worker_of_tenant ON tickwork.worker (tenant_id, id);

-- What a worker was handed in one go. Its lease covers all of it; the row goes when all of it has ended.
-- Arrays, not rows: one write covers thousands of executions and finishing them touches no index.
CREATE TABLE tickwork.lease (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker_id integer NOT NULL,
    tenant_ids integer[] NOT NULL,
    scheduled_fors timestamptz[] NOT NULL,
    job_ids bigint[] NOT NULL
);
CREATE INDEX lease_of_worker ON tickwork.lease (worker_id);

-- Which time zone data the timers were computed with.
CREATE TABLE tickwork.zone_data (
    version text NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);

-- Stop requests for executions in a worker's hands, until that worker has been told.
CREATE TABLE tickwork.revocation (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    worker_id integer NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt)
);
CREATE INDEX revocation_of_worker ON tickwork.revocation (worker_id);

-- One row per due time of a job. The identity is (job, scheduled_for); the tenant leads the key because every
-- question is asked by one. Finishing touches no indexed column, so it is a HOT update: ready_at alone
-- carries the index of waiting executions, and it is null from the moment a worker holds one.
CREATE TABLE tickwork.execution (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    ready_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    worker_id integer,
    status tickwork.execution_status NOT NULL,
    trigger tickwork.execution_trigger NOT NULL,
    priority smallint NOT NULL,
    attempt integer NOT NULL DEFAULT 1,
    failures smallint NOT NULL DEFAULT 0,
    losses smallint NOT NULL DEFAULT 0,
    blocked_by timestamptz,  -- the job's execution that had not ended: this one waits for it, or was skipped
    result bytea,            -- JSON
    reason text,
    PRIMARY KEY (tenant_id, scheduled_for, job_id),
    CONSTRAINT waiting_is_pending CHECK ((status = 'pending') = (ready_at IS NOT NULL)),
    CONSTRAINT running_is_held CHECK (status <> 'running' OR worker_id IS NOT NULL),
    CONSTRAINT ended_is_dated CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL))
) PARTITION BY RANGE (scheduled_for);
CREATE INDEX execution_ready ON tickwork.execution (lane_id, priority, ready_at) WHERE ready_at IS NOT NULL;

CREATE INDEX execution_queued ON tickwork.execution (tenant_id, job_id)
    WHERE blocked_by IS NOT NULL AND ready_at IS NOT NULL;

-- Tries that did not complete. One that did is told by the execution itself.
CREATE TABLE tickwork.attempt (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,
    outcome tickwork.attempt_outcome NOT NULL,
    worker_id integer,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    error bytea,  -- JSON
    PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt)
) PARTITION BY RANGE (scheduled_for);

-- A job as users see it. One that is due one time is what its execution says, so finishing it costs no second write.
CREATE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.status IN ('completed', 'failed', 'cancelled') THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN tickwork.execution e
    ON j.rule_id IS NULL AND e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id;

-- An execution as users see it: handed to a worker ahead of its time, it still waits to be due.
CREATE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         WHEN e.ready_at = 'infinity' THEN 'paused'
         WHEN e.ready_at > tickwork.clock() AND e.attempt > 1 THEN 'retry'
         WHEN e.ready_at > tickwork.clock() OR e.scheduled_for > tickwork.clock() THEN 'due'
         WHEN e.ready_at IS NOT NULL THEN 'worker' END AS waiting_for,
    CASE WHEN isfinite(e.ready_at) THEN e.ready_at ELSE e.scheduled_for END AS due_at
FROM tickwork.execution e
JOIN tickwork.lane l ON l.id = e.lane_id
JOIN tickwork.job j ON j.id = e.job_id
LEFT JOIN LATERAL (
    SELECT a.error FROM tickwork.attempt a
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
