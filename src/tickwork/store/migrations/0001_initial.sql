-- The whole schema, ordered by idea: helpers, access, tasks and limits, rules, jobs, executions, workers, circuit
-- breakers, backfills; then the functions that follow dependencies, and the two views that users may read.
--
-- Rows refer to each other by number, without foreign keys on the tables that every execution touches: a key would cost
-- a lookup and a row lock for each. `tenant_id` is on every row and leads the keys, because every question is asked by
-- one tenant. Statements are in ../queries; what this file amounts to is dumped in ../schema.sql.


-- Helpers

-- The one clock: it decides what is due, late or lost. The test kit puts a settable clock in its place.
CREATE FUNCTION tickwork.clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT statement_timestamp()';

-- A batch is sent as one array per column. A column with the same value throughout is sent as that value alone.
CREATE FUNCTION tickwork.each(sent anyarray, element anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE
AS 'SELECT CASE cardinality(sent) WHEN 1 THEN sent[1] ELSE element END';

-- Microseconds since 1970: cheaper for clients to read than dates, and exact for the next two centuries.
CREATE FUNCTION tickwork.micros(at timestamptz) RETURNS bigint LANGUAGE sql STABLE
AS $$ SELECT (date_part('epoch', at) * 1e6::float8)::bigint $$;

-- The public id of a job, as model/public_ids.py writes it.
CREATE FUNCTION tickwork.job_name(id bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'j' || string_agg(
        substr('0123456789abcdefghjkmnpqrstvwxyz', (id >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 12) AS n WHERE id >> 5 * n > 0
$$;

-- Whether a result is JSON. What workers report is checked, but what is stored may still be anything.
CREATE FUNCTION tickwork.is_json(result bytea) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM convert_from(result, 'UTF8')::json;
    RETURN true;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END $$;


-- Access

-- The owner of everything below.
CREATE TABLE tickwork.tenant (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    signing_secret text NOT NULL,  -- signs the HTTP calls made for this tenant
    created_at timestamptz NOT NULL DEFAULT tickwork.clock()
);

-- The keys that let programs in, each with what it may do.
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

-- The answers given to requests with an Idempotency-Key, for the request that comes a second time.
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


-- Tasks, lanes and limits

-- The tasks that workers have offered, with what their payloads must look like.
CREATE TABLE tickwork.task (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    parameters jsonb NOT NULL,
    description text,
    offered_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    defaults jsonb NOT NULL DEFAULT '{}',  -- how its jobs are run unless they say otherwise
    PRIMARY KEY (tenant_id, name)
);

-- A lane is the executions that the same workers can run. Claiming looks only into lanes that some worker serves, so a
-- backlog without workers never delays the rest.
CREATE TABLE tickwork.lane (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    -- JSON: what a job asks for beyond its queue and its task: resources, labels, limits by key, its fair share. As a
    -- part of the lane it costs executions nothing, nor jobs that ask for nothing.
    placement text NOT NULL DEFAULT '',
    UNIQUE (tenant_id, queue, task, placement)
);

-- A thing that is limited: a queue, with its settings, or a key that jobs name, for which each of them says how much.
-- A transaction that starts executions under it locks its row.
CREATE TABLE tickwork.limiter (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('queue', 'key')),
    name text NOT NULL,
    used_until timestamptz NOT NULL DEFAULT '-infinity',  -- up to when the rate is used up
    paused boolean NOT NULL DEFAULT false,
    max_running integer CHECK (max_running > 0),
    rate text,
    max_backlog integer CHECK (max_backlog > 0),
    updated_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    UNIQUE (tenant_id, kind, name),
    CONSTRAINT only_queues_have_settings
        CHECK (kind = 'queue' OR NOT paused AND max_running IS NULL AND rate IS NULL AND max_backlog IS NULL)
) WITH (fillfactor = 50);


-- Rules

-- A rule is one timer for all the jobs that share a timing. Its row is the lock for which jobs belong to it: firing,
-- joining, leaving, pausing and resuming lock it before they read.
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
    CONSTRAINT cursor_is_whole CHECK ((cursor_priority IS NULL) = (cursor_job IS NULL)),
    CONSTRAINT due_times_advance CHECK (last_at < next_at)
) WITH (fillfactor = 60);
CREATE INDEX rule_due ON tickwork.rule (next_at) WHERE next_at IS NOT NULL;

-- The due times of a rule that were dealt with: fired, or missed for a reason. A missed range is one row: from
-- scheduled_for to missed_until there were `missed` due times that were not run.
CREATE TABLE tickwork.round (
    rule_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    missed integer NOT NULL DEFAULT 0,
    missed_until timestamptz,
    reason text,
    PRIMARY KEY (rule_id, scheduled_for),
    CONSTRAINT missed_has_reason CHECK ((missed = 0) = (missed_until IS NULL) AND (missed = 0) = (reason IS NULL))
);

-- Which time zone data the timers were computed with: one row at most.
CREATE TABLE tickwork.zone_data (
    version text NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);


-- Jobs

CREATE TYPE tickwork.job_status AS ENUM ('active', 'paused', 'completed', 'failed', 'cancelled');
CREATE TYPE tickwork.overlap AS ENUM ('skip', 'queue', 'allow', 'replace');

-- What to run, when, and under which policies. A sequence of its own lets a batch have its ids before its rows.
CREATE SEQUENCE tickwork.job_id;
CREATE TABLE tickwork.job (
    id bigint PRIMARY KEY DEFAULT nextval('tickwork.job_id'),
    rule_id bigint,                     -- null: due one time
    scheduled_for timestamptz,          -- that one time
    active_from timestamptz NOT NULL,   -- due times before this are not its own
    active_until timestamptz,           -- nor are those after this, when its number of runs is limited
    runs_left integer,                  -- how many of these were left when it was paused
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    timeout real NOT NULL,
    status tickwork.job_status NOT NULL DEFAULT 'active',
    overlap tickwork.overlap NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    deferred boolean NOT NULL DEFAULT false,  -- due beyond the partitions that exist: its execution is created later
    task text NOT NULL,
    payload bytea NOT NULL,             -- JSON
    target bytea,                       -- JSON: the HTTP call
    name text,
    key text,
    tags text[] NOT NULL DEFAULT '{}',
    definition bytea NOT NULL,          -- JSON: the request as it was made, without the payload
    followed boolean NOT NULL DEFAULT false,  -- other jobs depend on it
    depends boolean NOT NULL DEFAULT false,   -- it depends on others; with a rule, it runs once in each of their rounds
    CONSTRAINT recurring_or_one_time CHECK ((rule_id IS NULL) <> (scheduled_for IS NULL)),
    CONSTRAINT deferred_is_one_time CHECK (NOT deferred OR scheduled_for IS NOT NULL)
);
CREATE INDEX job_of_rule ON tickwork.job (rule_id, priority, id) WHERE rule_id IS NOT NULL;
CREATE INDEX job_of_tenant ON tickwork.job (tenant_id, id);
CREATE UNIQUE INDEX job_key ON tickwork.job (tenant_id, key) WHERE key IS NOT NULL AND status <> 'cancelled';
CREATE INDEX job_deferred ON tickwork.job (scheduled_for) WHERE deferred;
-- One-time jobs are deleted with their history: retention finds them by their due time.
CREATE INDEX job_once ON tickwork.job (scheduled_for, id) WHERE rule_id IS NULL;

-- The rules that a job belonged to before: where to look for its history.
CREATE TABLE tickwork.past_rule (
    job_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (job_id, until)
);

-- Which job depends on which.
CREATE TABLE tickwork.dependency (
    tenant_id integer NOT NULL,
    child_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    on_any boolean NOT NULL,             -- however the parent ends; else it must complete
    met boolean NOT NULL DEFAULT false,  -- for all rounds of the child, by a parent that is due once
    PRIMARY KEY (child_id, parent_id),
    CONSTRAINT depends_on_others CHECK (child_id <> parent_id)
);
CREATE INDEX dependency_of_parent ON tickwork.dependency (parent_id, child_id);


-- Executions

CREATE TYPE tickwork.execution_status AS ENUM
    ('pending', 'running', 'completed', 'failed', 'cancelled', 'skipped');
CREATE TYPE tickwork.execution_trigger AS ENUM ('schedule', 'manual', 'backfill', 'retry');

-- One row per due time of a job: its identity is (job, scheduled_for). Finishing changes no indexed column, so it is a
-- HOT update: ready_at alone carries the index of waiting executions, and it is null as soon as a worker has one.
CREATE TABLE tickwork.execution (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    ready_at timestamptz,    -- when a worker may get it; infinity: it waits for something else
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
    progress bytea,          -- JSON: how far the running attempt says it has come
    followed boolean NOT NULL DEFAULT false,  -- as its job was, or since others wait for it
    PRIMARY KEY (tenant_id, scheduled_for, job_id),
    CONSTRAINT waiting_is_pending CHECK ((status = 'pending') = (ready_at IS NOT NULL)),
    CONSTRAINT running_has_worker CHECK (status <> 'running' OR worker_id IS NOT NULL),
    CONSTRAINT ended_is_dated CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL))
) PARTITION BY RANGE (scheduled_for);
CREATE INDEX execution_ready ON tickwork.execution (lane_id, priority, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX execution_queued ON tickwork.execution (tenant_id, job_id)
    WHERE blocked_by IS NOT NULL AND ready_at IS NOT NULL;

-- Executions that no rule made: run now, backfilled, moved. With the rounds they list all executions of a job without
-- an index by job on the hot table.
CREATE TABLE tickwork.off_schedule_execution (
    job_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    backfill_id bigint,  -- the backfill that made it; null: a manual run, or moved
    PRIMARY KEY (job_id, scheduled_for)
);
CREATE INDEX off_schedule_execution_manual ON tickwork.off_schedule_execution (job_id, scheduled_for)
    WHERE backfill_id IS NULL;

CREATE TYPE tickwork.attempt_outcome AS ENUM
    ('completed', 'failed', 'lost', 'snoozed', 'returned', 'cancelled', 'held');

-- Attempts that did not complete. The execution itself tells of one that did.
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

-- What an attempt printed and logged, in chunks as they came. Only the newest chunks are kept.
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

-- Executions that ended as failed, until a user redrives or discards them.
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

-- What executions wait for: a row for each execution of a parent, until that has ended as it must. The last row that
-- goes lets the child go on. As a row can go only once, a parent counts once, however often it ends.
CREATE TABLE tickwork.awaited (
    child_id bigint NOT NULL,
    child_at timestamptz NOT NULL,
    parent_id bigint NOT NULL,
    parent_at timestamptz NOT NULL,
    tenant_id integer NOT NULL,
    on_any boolean NOT NULL,
    unsure boolean NOT NULL,             -- whether the parent is due at that time at all has yet to be seen
    ended tickwork.execution_status,     -- as the parent has, until the same transaction has counted it
    PRIMARY KEY (child_id, child_at, parent_id)
);
CREATE INDEX awaited_of_parent ON tickwork.awaited (parent_id, parent_at);
CREATE INDEX awaited_unsure ON tickwork.awaited (child_at) WHERE unsure;
CREATE INDEX awaited_ended ON tickwork.awaited (child_id) WHERE ended IS NOT NULL;


-- Workers

-- The processes that run attempts, and until when each is taken to be alive.
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
    ended_at timestamptz,
    resources jsonb NOT NULL DEFAULT '{}',
    weights jsonb NOT NULL DEFAULT '{}',  -- of its queues
    key_id integer                      -- the API key that registered it; null: built in
) WITH (fillfactor = 50);
CREATE INDEX worker_alive ON tickwork.worker (id) WHERE ended_at IS NULL;
CREATE INDEX worker_of_tenant ON tickwork.worker (tenant_id, id);

-- The executions that a worker got at once, under one lease. The row is deleted when all of them have ended.
-- Arrays, not rows: one write covers thousands of executions and finishing them touches no index.
CREATE TABLE tickwork.lease (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker_id integer NOT NULL,
    tenant_ids integer[] NOT NULL,      -- one value stands for all, here and in scheduled_fors
    scheduled_fors timestamptz[] NOT NULL,
    job_ids bigint[] NOT NULL
) WITH (
    -- A lease lives for a second and lists all its executions: not worth compressing, and to be vacuumed soon.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000,
    toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE tickwork.lease ALTER COLUMN tenant_ids SET STORAGE EXTERNAL,
    ALTER COLUMN scheduled_fors SET STORAGE EXTERNAL, ALTER COLUMN job_ids SET STORAGE EXTERNAL;
CREATE INDEX lease_of_worker ON tickwork.lease (worker_id);

-- Which part of a lease counts under a limiter: as long as the lease is there, and of it what is still running. So a
-- slot needs no releasing, and none is lost when a worker dies.
CREATE TABLE tickwork.slot (
    limiter_id integer NOT NULL,
    lease_id bigint NOT NULL,
    first integer NOT NULL,  -- subscripts of the lease's arrays
    last integer NOT NULL CHECK (last >= first),
    PRIMARY KEY (limiter_id, lease_id, first)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Stop requests for executions that a worker has, until the worker got them.
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

-- Of a lease, or of a part of it, the executions that are still running. A value that stands for all of the lease is
-- read once, not for each. As one STABLE SELECT the function becomes a part of the query that calls it. OFFSET 0 and +
-- 0: from the lease to its executions, each by its whole key, never the other way round, nor from the job.
CREATE FUNCTION tickwork.running_of_lease(
    lease tickwork.lease, first integer DEFAULT 1, last integer DEFAULT 2147483647
) RETURNS TABLE (
    tenant_id integer, scheduled_for timestamptz, job_id bigint, lane_id integer, priority smallint, attempt integer,
    started_at timestamptz, place bigint  -- the subscript in the lease's arrays
) LANGUAGE sql STABLE AS $$
    SELECT k.tenant_id, k.scheduled_for, k.job_id, e.lane_id, e.priority, e.attempt, e.started_at, k.place
    FROM (
        SELECT CASE cardinality(lease.tenant_ids) WHEN 1 THEN lease.tenant_ids[1] END AS tenant_id,
            CASE cardinality(lease.scheduled_fors) WHEN 1 THEN lease.scheduled_fors[1] END AS scheduled_for
        OFFSET 0
    ) alike
    CROSS JOIN LATERAL (
        SELECT coalesce(alike.tenant_id, each.tenant_id) AS tenant_id,
            coalesce(alike.scheduled_for, at) AS scheduled_for, each.job_id, first - 1 + ordinality AS place
        FROM unnest(lease.tenant_ids[first:last], lease.scheduled_fors[first:last], lease.job_ids[first:last])
            WITH ORDINALITY AS each (tenant_id, at, job_id)
        OFFSET 0
    ) k
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id + 0
    WHERE e.worker_id = lease.worker_id AND e.status = 'running'
$$;


-- Circuit breakers

-- Destinations of HTTP jobs that failed recently. One that works has no row. Transactions that hold or release
-- executions lock the row before they read.
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
    pace integer NOT NULL,               -- how many held executions are released next
    look_at timestamptz NOT NULL,        -- when some node looks at it again
    touched_at timestamptz NOT NULL,     -- when it failed, changed or held something last
    PRIMARY KEY (tenant_id, destination),
    CONSTRAINT closed_needs_no_probe CHECK ((state = 'closed') = (probe_at IS NULL))
);

-- Executions that wait for a breaker to close, in the order in which they are released.
CREATE TABLE tickwork.held_by_breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,
    priority smallint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, destination, priority, scheduled_for, job_id)
);


-- Backfills

-- Due times of the past that are run now, at a pace.
CREATE TABLE tickwork.backfill (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    begin_at timestamptz NOT NULL,
    end_at timestamptz NOT NULL,
    times timestamptz[] NOT NULL,      -- the due times to run, in that order
    total integer NOT NULL GENERATED ALWAYS AS (cardinality(times)) STORED,
    made integer NOT NULL DEFAULT 0,   -- how many of them, from the first on, have their execution
    active timestamptz[] NOT NULL DEFAULT '{}',  -- of those it made, the ones that had not ended when last counted
    completed integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    max_active integer NOT NULL CHECK (max_active BETWEEN 1 AND 1000),
    run_order text NOT NULL CHECK (run_order IN ('oldest', 'newest')),
    policy text NOT NULL CHECK (policy IN ('missing', 'failed')),
    status text NOT NULL CHECK (status IN ('running', 'completed', 'cancelled')),
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    ended_at timestamptz,              -- a cancelled one ends when the last of its executions has
    CONSTRAINT begins_before_its_end CHECK (begin_at <= end_at),
    CONSTRAINT makes_no_more_than_asked CHECK (made BETWEEN 0 AND cardinality(times)),
    CONSTRAINT keeps_its_pace CHECK (cardinality(active) <= max_active),
    CONSTRAINT running_has_not_ended CHECK (status <> 'running' OR ended_at IS NULL),
    CONSTRAINT completed_has_ended CHECK (status <> 'completed' OR ended_at IS NOT NULL),
    CONSTRAINT ended_has_none_active CHECK (ended_at IS NULL OR cardinality(active) = 0)
);
CREATE INDEX backfill_under_way ON tickwork.backfill (id) WHERE ended_at IS NULL;
CREATE INDEX backfill_of_job ON tickwork.backfill (tenant_id, job_id, id);
CREATE INDEX backfill_age ON tickwork.backfill (ended_at);


-- What of a job waits, and what of it has not ended

-- The due times at which executions of a job wait. For a job that was always a one-time job they are known, which
-- matters because a million others may wait in its lane. For one that recurs, or did, they are looked for in its lane.
-- + 0: by the lane, not through all that the tenant ever ran.
CREATE FUNCTION tickwork.waiting_times(tenant integer, job bigint, lane integer) RETURNS SETOF timestamptz
LANGUAGE sql STABLE AS $$
    WITH asked AS MATERIALIZED (
        -- The job's only due time, if it has one, and whether it repeats or did.
        SELECT j.scheduled_for,
            j.rule_id IS NOT NULL OR EXISTS (SELECT FROM tickwork.past_rule p WHERE p.job_id = j.id OFFSET 0) AS repeats
        FROM tickwork.job j WHERE j.id = job
    )
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT scheduled_for FROM tickwork.execution
        WHERE asked.repeats AND (tenant_id + 0, job_id + 0) = (tenant, job) AND lane_id = lane AND ready_at IS NOT NULL
        OFFSET 0
    ) e
    UNION ALL
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT asked.scheduled_for
        UNION
        SELECT x.scheduled_for FROM tickwork.off_schedule_execution x WHERE x.job_id = job
    ) due CROSS JOIN LATERAL (
        SELECT scheduled_for, ready_at FROM tickwork.execution
        WHERE NOT asked.repeats AND tenant_id = tenant AND scheduled_for = due.scheduled_for AND job_id = job
        OFFSET 0
    ) e
    WHERE e.ready_at IS NOT NULL
$$;

-- An execution if it has not ended; otherwise what it was skipped for or cancelled waiting for, and so on, until one
-- that has not ended. No row when all of them have.
CREATE FUNCTION tickwork.find_unended(tenant integer, job bigint, at timestamptz) RETURNS SETOF timestamptz
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH RECURSIVE way AS (
        -- The execution, then the one that was in its way, as long as these have ended.
        SELECT first.* FROM (
            SELECT e.scheduled_for, e.finished_at, e.blocked_by FROM tickwork.execution e
            WHERE e.tenant_id = tenant AND e.scheduled_for = at AND e.job_id = job
            OFFSET 0
        ) first
        UNION
        SELECT before.* FROM way CROSS JOIN LATERAL (
            SELECT b.scheduled_for, b.finished_at, b.blocked_by FROM tickwork.execution b
            WHERE b.tenant_id = tenant AND b.scheduled_for = way.blocked_by AND b.job_id = job
            OFFSET 0
        ) before
        WHERE way.finished_at IS NOT NULL
    )
    SELECT scheduled_for FROM way WHERE finished_at IS NULL
$$;


-- Dependencies: functions and triggers

-- Whether an execution waits for parents. VOLATILE, so that it sees what is true once the locks are taken, not what was
-- true when the statement began.
CREATE FUNCTION tickwork.awaits_parents(job bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM tickwork.awaited WHERE child_id = job AND child_at = at);
END $$;

-- All that an execution waits for, directly or through others, the nearest first. A query with a LIMIT walks no further
-- than it needs: as one STABLE SELECT the function becomes a part of it.
CREATE FUNCTION tickwork.awaited_by(child bigint, at timestamptz)
RETURNS TABLE (tenant_id integer, parent_id bigint, parent_at timestamptz, is_parent boolean) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE way AS (
        -- Its own parents, then the parents of each of them.
        SELECT a.tenant_id, a.parent_id, a.parent_at, true AS is_parent
        FROM tickwork.awaited a WHERE a.child_id = child AND a.child_at = at
        UNION
        SELECT a.tenant_id, a.parent_id, a.parent_at, false
        FROM way JOIN tickwork.awaited a ON a.child_id = way.parent_id AND a.child_at = way.parent_at
    )
    SELECT * FROM way
$$;

-- Why a parent did not run in a round, as the reason for skipping its child. In a chain of skipped parents the first
-- one is named.
CREATE FUNCTION tickwork.skip_reason(tenant integer, parent bigint, at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN e.reason LIKE 'parent %' THEN e.reason
                WHEN e.job_id IS NOT NULL THEN format('parent %s was skipped: %s', tickwork.job_name(parent), e.reason)
                ELSE format('parent %s did not run at that time: %s', tickwork.job_name(parent), CASE
                     WHEN missed.reason IS NOT NULL THEN missed.reason
                     WHEN p.status IN ('paused', 'cancelled') THEN 'it was ' || p.status
                     ELSE 'it was not due' END) END
    FROM tickwork.job p
    LEFT JOIN tickwork.execution e ON e.tenant_id = tenant AND e.scheduled_for = at AND e.job_id = parent
    LEFT JOIN LATERAL (
        SELECT r.reason FROM tickwork.round r
        WHERE r.rule_id = p.rule_id AND r.scheduled_for <= at AND r.missed_until >= at
        ORDER BY r.scheduled_for DESC LIMIT 1
    ) missed ON true
    WHERE p.id = parent
$$;

-- How the parents of an execution ended, as JSON: [[id, name, key, task, status, result], …]. If that is too large to
-- be sent to a worker: its size, as a number. If a result is not JSON: a text that says so; only then are the results
-- checked one by one.
CREATE FUNCTION tickwork.outcomes_of_parents(child bigint, round_at timestamptz) RETURNS bytea
LANGUAGE plpgsql STABLE AS $$
DECLARE unreadable text;
BEGIN
    RETURN (
        SELECT convert_to(CASE WHEN sum(length(e.result)) > 262144 THEN sum(length(e.result))::text ELSE
            json_agg(json_build_array(tickwork.job_name(p.id), p.name, p.key, p.task, e.status,
                                      convert_from(e.result, 'UTF8')::json) ORDER BY p.id)::text END, 'UTF8')
        FROM tickwork.dependency d
        JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status, e.result FROM tickwork.execution e
            WHERE e.tenant_id = d.tenant_id AND e.scheduled_for = coalesce(p.scheduled_for, round_at)
                AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = child
    );
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    SELECT string_agg(tickwork.job_name(p.id), ', ' ORDER BY p.id) INTO unreadable
    FROM tickwork.dependency d
    JOIN tickwork.job p ON p.id = d.parent_id
    CROSS JOIN LATERAL (
        SELECT e.result FROM tickwork.execution e
        WHERE e.tenant_id = d.tenant_id AND e.scheduled_for = coalesce(p.scheduled_for, round_at) AND e.job_id = p.id
        OFFSET 0
    ) e
    WHERE d.child_id = child AND e.result IS NOT NULL AND NOT tickwork.is_json(e.result);
    RETURN convert_to(
        to_json(format('the result of %s, on which it depends, is not valid JSON', unreadable))::text, 'UTF8');
END $$;

-- Makes executions wait for those of their parents that have not ended as required. The execution of a one-time parent
-- is locked first: either it has ended before, or it sees afterwards which executions wait. A recurring parent has not
-- ended in a round that is only being created. Whether it is due in that round at all is found out later, if it can
-- miss it (`unsure`).
CREATE FUNCTION tickwork.await_parents(children bigint[], round_at timestamptz, can_miss boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM (
        SELECT DISTINCT p.tenant_id, p.scheduled_for, p.id
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        ORDER BY 1, 2, 3
    ) parent CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = parent.tenant_id AND e.scheduled_for = parent.scheduled_for AND e.job_id = parent.id
        FOR NO KEY UPDATE
    ) locked;
    UPDATE tickwork.execution e SET followed = true
    FROM (
        SELECT DISTINCT p.tenant_id, p.scheduled_for, p.id
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        OFFSET 0
    ) parent
    WHERE e.tenant_id = ANY(ARRAY[parent.tenant_id]) AND e.scheduled_for = parent.scheduled_for AND e.job_id = parent.id
        AND NOT e.followed AND e.status <> 'completed';
    INSERT INTO tickwork.awaited (child_id, child_at, parent_id, parent_at, tenant_id, on_any, unsure, ended)
    SELECT edge.child_id, edge.child_at, edge.parent_id, edge.parent_at, edge.tenant_id, edge.on_any,
        can_miss AND edge.repeats AND e.status IS NULL, CASE WHEN e.status = 'skipped' THEN e.status END
    FROM (
        SELECT d.tenant_id, d.child_id, coalesce(c.scheduled_for, round_at) AS child_at, d.parent_id,
            coalesce(p.scheduled_for, round_at) AS parent_at, d.on_any, p.scheduled_for IS NULL AS repeats
        FROM tickwork.dependency d
        JOIN tickwork.job c ON c.id = d.child_id
        JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met
        OFFSET 0
    ) edge
    LEFT JOIN LATERAL (
        SELECT e.status, e.finished_at FROM tickwork.execution e
        WHERE e.tenant_id = edge.tenant_id AND e.scheduled_for = edge.parent_at AND e.job_id = edge.parent_id
        OFFSET 0
    ) e ON true
    WHERE e.status IS DISTINCT FROM 'completed' AND (e.finished_at IS NULL OR NOT edge.on_any)
    ON CONFLICT DO NOTHING;
    PERFORM tickwork.write_blocked(parent.id, parent.scheduled_for, parent.status, children)
    FROM (
        SELECT DISTINCT p.id, p.scheduled_for,
            coalesce(e.status::text, CASE p.status WHEN 'cancelled' THEN 'cancelled' END) AS status
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status FROM tickwork.execution e
            WHERE e.tenant_id = p.tenant_id AND e.scheduled_for = p.scheduled_for AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        OFFSET 0
    ) parent
    WHERE parent.status IN ('failed', 'cancelled');
END $$;

-- Creates the executions of a round for all jobs that depend on the one that was fired, to wait for it; or makes them
-- wait again if they were skipped because of it. A backfill runs rounds from before a child was active, and only one of
-- its parents at a time: the child waits for the others.
CREATE FUNCTION tickwork.make_round() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE backfilled boolean := NEW.trigger = 'backfill'; made bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM tickwork.job WHERE id = NEW.job_id AND rule_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    WITH RECURSIVE follower AS (
        -- The job and all recurring jobs that depend on it, directly or through others, and were active then.
        SELECT NEW.job_id AS id
        UNION
        SELECT c.id FROM follower f
        JOIN tickwork.dependency d ON d.parent_id = f.id
        JOIN tickwork.job c ON c.id = d.child_id
        WHERE c.rule_id IS NOT NULL AND c.status <> 'cancelled' AND (c.active_from <= NEW.scheduled_for OR backfilled)
    ), beside AS (
        -- Their executions: created, or made to wait again if they were skipped because of a parent.
        INSERT INTO tickwork.execution AS e
            (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
        SELECT NEW.tenant_id, NEW.scheduled_for, c.id, c.lane_id, c.priority, NEW.trigger, 'pending', 'infinity',
            c.followed
        FROM follower JOIN tickwork.job c ON c.id = follower.id
        WHERE c.id <> NEW.job_id
        ORDER BY c.id
        ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
        SET status = 'pending', ready_at = 'infinity', finished_at = NULL, reason = NULL, attempt = e.attempt + 1,
            trigger = excluded.trigger, lane_id = excluded.lane_id, priority = excluded.priority,
            followed = excluded.followed
        WHERE e.status = 'skipped' AND e.reason LIKE 'parent %'
        RETURNING job_id
    ), noted AS (
        -- The same as off-schedule executions, if the job's own is one.
        INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for, backfill_id)
        SELECT beside.job_id, x.scheduled_for, x.backfill_id
        FROM beside
        JOIN tickwork.off_schedule_execution x ON x.job_id = NEW.job_id AND x.scheduled_for = NEW.scheduled_for
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(job_id) INTO made FROM beside;
    IF made IS NOT NULL THEN
        PERFORM tickwork.await_parents(made, NEW.scheduled_for, NOT backfilled);
    END IF;
    IF NEW.finished_at IS NOT NULL THEN
        UPDATE tickwork.awaited SET ended = NEW.status WHERE parent_id = NEW.job_id AND parent_at = NEW.scheduled_for;
    END IF;
    RETURN NULL;
END $$;

-- Marks what waited for an execution that has ended. It is counted once the whole statement is done. An execution that
-- was moved to another time has not ended.
CREATE FUNCTION tickwork.note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tickwork.awaited SET ended = NEW.status
    WHERE parent_id = NEW.job_id AND parent_at = NEW.scheduled_for
        AND (on_any OR NEW.status IN ('completed', 'skipped'));
    UPDATE tickwork.dependency d SET met = true
    FROM tickwork.job p, tickwork.job c
    WHERE d.parent_id = NEW.job_id AND NOT d.met AND (d.on_any OR NEW.status = 'completed')
        AND p.id = d.parent_id AND p.scheduled_for = NEW.scheduled_for AND c.id = d.child_id AND c.rule_id IS NOT NULL;
    RETURN NULL;
END $$;

-- Counts the parents that have ended. Children with nothing left to wait for go on, and those with a skipped parent are
-- skipped. Their jobs are locked first: so when two parents end at the same time, one of them sees the other, and a
-- pause comes either before or after, never in between.
CREATE FUNCTION tickwork.count_ended() RETURNS void LANGUAGE plpgsql AS $$
DECLARE tenants integer[]; children bigint[]; times timestamptz[]; skipped_fors bigint[];
BEGIN
    WHILE EXISTS (SELECT FROM tickwork.awaited WHERE ended IS NOT NULL) LOOP
        PERFORM FROM tickwork.job
        WHERE id = ANY(ARRAY(SELECT DISTINCT child_id FROM tickwork.awaited WHERE ended IS NOT NULL))
        ORDER BY id FOR NO KEY UPDATE;
        WITH counted AS (
            -- What parents that have ended were waited for by, deleted.
            DELETE FROM tickwork.awaited WHERE ended IS NOT NULL RETURNING *
        ), child AS (
            -- The executions that waited for them, each with a skipped parent that makes it be skipped, too.
            SELECT tenant_id, child_id, child_at,
                min(parent_id) FILTER (WHERE ended = 'skipped' AND NOT on_any) AS skipped_for
            FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 3, 2
        )
        SELECT array_agg(tenant_id), array_agg(child_id), array_agg(child_at), array_agg(skipped_for)
        INTO tenants, children, times, skipped_fors FROM child;
        FOR n IN 1 .. cardinality(children) LOOP
            IF skipped_fors[n] IS NOT NULL THEN
                DELETE FROM tickwork.awaited WHERE child_id = children[n] AND child_at = times[n];
            END IF;
        END LOOP;
        UPDATE tickwork.execution e
        SET status = CASE WHEN c.skipped_for IS NULL THEN e.status ELSE 'skipped' END,
            ready_at = CASE WHEN c.skipped_for IS NOT NULL THEN NULL
                            WHEN c.paused OR e.blocked_by IS NOT NULL THEN 'infinity'
                            ELSE greatest(e.scheduled_for, tickwork.clock()) END,
            finished_at = CASE WHEN c.skipped_for IS NOT NULL THEN tickwork.clock() END,
            reason = CASE WHEN c.skipped_for IS NOT NULL
                          THEN tickwork.skip_reason(c.tenant_id, c.skipped_for, c.at) END
        FROM (
            SELECT c.*, (SELECT j.status = 'paused' FROM tickwork.job j WHERE j.id = c.id) AS paused
            FROM unnest(tenants, children, times, skipped_fors) AS c (tenant_id, id, at, skipped_for)
            WHERE NOT tickwork.awaits_parents(c.id, c.at)
            OFFSET 0
        ) c
        WHERE e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.at AND e.job_id = c.id
            AND e.ready_at IS NOT DISTINCT FROM 'infinity';  -- not =, which the index of what waits could answer
    END LOOP;
END $$;

CREATE FUNCTION tickwork.count_what_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;

-- A statement that creates, ends or revives an execution need not know what waits for it. For an execution without
-- children these conditions are all that it costs. At the top level only: these functions look after what they change
-- themselves.
CREATE TRIGGER make_round AFTER INSERT ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND NEW.trigger <> 'manual' AND pg_trigger_depth() = 0) EXECUTE FUNCTION tickwork.make_round();
CREATE TRIGGER make_round_again AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.status = 'skipped' AND NEW.finished_at IS NULL AND pg_trigger_depth() = 0)
    EXECUTE FUNCTION tickwork.make_round();
CREATE TRIGGER note_end AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL
          AND NOT (NEW.status = 'cancelled' AND NEW.reason IS NOT DISTINCT FROM 'rescheduled'))
    EXECUTE FUNCTION tickwork.note_end();
CREATE TRIGGER count_what_ended AFTER INSERT OR UPDATE OF finished_at ON tickwork.execution FOR EACH STATEMENT
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION tickwork.count_what_ended();

-- When a one-time job gets another due time, what waits for it and what it waits for move along.
CREATE FUNCTION tickwork.move_awaited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tickwork.awaited SET parent_at = NEW.scheduled_for
    WHERE parent_id = NEW.id AND parent_at = OLD.scheduled_for;
    UPDATE tickwork.awaited SET child_at = NEW.scheduled_for
    WHERE child_id = NEW.id AND child_at = OLD.scheduled_for;
    RETURN NULL;
END $$;
CREATE TRIGGER move_awaited AFTER UPDATE OF scheduled_for ON tickwork.job FOR EACH ROW
    WHEN ((NEW.followed OR NEW.depends) AND NEW.scheduled_for <> OLD.scheduled_for)
    EXECUTE FUNCTION tickwork.move_awaited();


-- Views: the part of the schema that users may read. Each execution is looked up by key; OFFSET 0 keeps it so also on a
-- day that has no statistics yet, when reading all of it seems to cost as little.

-- A job as users see it. A one-time job has the status of its execution, so that ending an execution costs no second
-- write. The next run of a job that waits for parents is not known.
CREATE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.status IN ('completed', 'failed', 'cancelled') THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND history.is_gone THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR history.is_gone THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT status, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE j.rule_id IS NULL AND tenant_id = j.tenant_id AND scheduled_for = j.scheduled_for AND job_id = j.id
    OFFSET 0
) e ON true
CROSS JOIN LATERAL (
    -- The execution of a one-time job was dropped with its partition.
    SELECT j.rule_id IS NULL AND e.status IS NULL AND NOT j.deferred AS is_gone
) history;

-- An execution as users see it. One that a worker was given ahead of its due time is still pending.
CREATE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         WHEN e.ready_at = 'infinity' THEN CASE
             WHEN j.depends AND EXISTS (
                 SELECT FROM tickwork.awaited a WHERE a.child_id = e.job_id AND a.child_at = e.scheduled_for OFFSET 0)
                 THEN 'dependency'
             WHEN j.status = 'paused' THEN 'paused' ELSE 'limit' END
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
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.outcome = 'failed'
        AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
