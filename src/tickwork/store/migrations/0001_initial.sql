-- The whole schema, ordered by subject: helpers; tenants and access; tasks, lanes and queues; rules; jobs; executions
-- and attempts; what attempts ran with; logs and checkpoints; workers and leases; callbacks; circuit breakers;
-- backfills; events; dependencies and fan-outs; statistics; search; channels and notifications; pings and heartbeats;
-- purges; the archive; retention; nodes and the cluster; and last the two views that users may read.
--
-- Rows refer to each other by number, without foreign keys on the tables that every execution touches: a key would cost
-- a lookup and a row lock for each. `tenant_id` is on every row that belongs to a tenant and leads most keys, because
-- nearly every question is asked by one tenant. A table with the column `one` has at most one row. Statements are in
-- ../queries; what this file amounts to is dumped in ../schema.sql.


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

-- A stored result as JSON that a condition can look at. Null when it cannot be read as that.
CREATE FUNCTION tickwork.readable_result(result bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(convert_from(result, 'UTF8')::jsonb, 'null');
EXCEPTION WHEN data_exception OR program_limit_exceeded OR untranslatable_character THEN
    RETURN NULL;
END $$;


-- Tenants and access

-- The owner of everything below. Tenant 0 is the system itself, which owns the deliveries of notifications. No key
-- belongs to it, so that no user sees them.
CREATE TABLE tickwork.tenant (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    signing_secret text NOT NULL,  -- signs the HTTP calls made for this tenant
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    CONSTRAINT tenant_name_check CHECK (id = 0 OR name ~ '^[a-z0-9][a-z0-9._-]{0,62}$')
);
INSERT INTO tickwork.tenant (id, name, signing_secret) OVERRIDING SYSTEM VALUE VALUES (0, '(system)', '');

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
    revoked_at timestamptz,
    CONSTRAINT system_has_no_key CHECK (tenant_id <> 0)
);

-- Sessions of browsers: a person signs in with an API key, and the browser keeps a cookie instead of the key. Only the
-- digest of the cookie's token is stored. A session ends with its API key.
CREATE TABLE tickwork.session (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    key_id integer NOT NULL REFERENCES tickwork.api_key,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    expires_at timestamptz NOT NULL     -- moves on while the session is used
);
CREATE INDEX session_of_key ON tickwork.session (key_id, created_at);
CREATE INDEX session_expiry ON tickwork.session (expires_at);

-- Links that sign a browser in once, with the rights of the API key that made them.
CREATE TABLE tickwork.sign_in_link (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    key_id integer NOT NULL REFERENCES tickwork.api_key,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_link_of_key ON tickwork.sign_in_link (key_id, expires_at);

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


-- Tasks, lanes and queues

-- The tasks that workers have offered, with what their payloads must look like. A task may be known before: then
-- offered_at is null. A disabled task waits: no worker gets executions of it. A retired one gets no new jobs; both may
-- be true.
CREATE TABLE tickwork.task (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    parameters jsonb NOT NULL,
    description text,
    offered_at timestamptz DEFAULT tickwork.clock(),
    defaults jsonb NOT NULL DEFAULT '{}',  -- how its jobs are run unless they say otherwise
    disabled_at timestamptz,
    disabled_by text,               -- the name of the API key, here and in retired_by
    disabled_reason text,
    retired_at timestamptz,
    retired_by text,
    replacement text,               -- the task to use instead of a retired one
    cancels_jobs boolean NOT NULL DEFAULT false,  -- its jobs are being cancelled, because it was retired
    PRIMARY KEY (tenant_id, name),
    CONSTRAINT only_retired_tasks_are_replaced
        CHECK (retired_at IS NOT NULL OR replacement IS NULL AND NOT cancels_jobs)
);
CREATE INDEX task_disabled ON tickwork.task (tenant_id, name) WHERE disabled_at IS NOT NULL;
CREATE INDEX task_cancelling ON tickwork.task (tenant_id, name) WHERE cancels_jobs;

-- A lane is the executions that the same workers can run. Claiming looks only into lanes that some worker serves, so a
-- backlog without workers never delays the rest.
CREATE TABLE tickwork.lane (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    -- JSON: what a job asks for beyond its queue and its task, such as resources, labels, limits by key, its fair
    -- share. As a part of the lane it costs executions nothing, nor jobs that ask for nothing.
    placement text NOT NULL DEFAULT '',
    UNIQUE (tenant_id, queue, task, placement)
);
-- The few lanes that nodes look at themselves: of fan-outs, of jobs whose task nobody has described yet, and of those
-- with a deadline.
CREATE INDEX lane_fanning_out ON tickwork.lane (id) WHERE placement LIKE '%"fans_out":true%';
CREATE INDEX lane_awaiting_task ON tickwork.lane (id) WHERE placement LIKE '%"awaits_task":true%';
CREATE INDEX lane_with_deadline ON tickwork.lane (id) WHERE placement LIKE '%"deadline":%';

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
    max_workers integer CHECK (max_workers > 0),  -- how many workers may have executions of the queue at once
    UNIQUE (tenant_id, kind, name),
    CONSTRAINT only_queues_have_settings
        CHECK (kind = 'queue' OR NOT paused AND max_running IS NULL AND rate IS NULL AND max_backlog IS NULL
               AND max_workers IS NULL)
) WITH (fillfactor = 50);
CREATE INDEX limiter_bounded ON tickwork.limiter (tenant_id, name) WHERE max_backlog IS NOT NULL;

-- Which queues go before others, and which after. Not in `limiter`: claiming locks those rows, and an order needs no
-- lock. A queue that is not here has the priority `normal`.
CREATE TABLE tickwork.queue_priority (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3 AND priority <> 2),
    PRIMARY KEY (tenant_id, queue)
);


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
-- Those of recurring jobs that have ended, because no due time is left.
CREATE INDEX rule_ended ON tickwork.rule (tenant_id, id) WHERE next_at IS NULL;

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
    -- The span of the request that defined it, if it was sampled: `parent` or `link`, and its traceparent, as
    -- model/current_span_and_job_origin.py writes it. Executions have no column for their trace: its ids are derived
    -- from the execution.
    trace_origin text,
    description text,                   -- what it is for
    owner text,                         -- who looks after it
    created_by integer,                 -- the API key
    warn_after real,                    -- seconds of running after which executions are slow; null: as for all jobs
    reason_to_skip text,                -- it is deferred and its parents decided against it: skipped when it is created
    element_of bigint,                  -- the job that runs for each element of a list, of which this is one
    element_at timestamptz,             -- in its execution of this time
    element_number integer,             -- from 0
    CONSTRAINT recurring_or_one_time CHECK ((rule_id IS NULL) <> (scheduled_for IS NULL)),
    CONSTRAINT deferred_is_one_time CHECK (NOT deferred OR scheduled_for IS NOT NULL)
);
CREATE INDEX job_of_rule ON tickwork.job (rule_id, priority, id) WHERE rule_id IS NOT NULL;
CREATE INDEX job_of_tenant ON tickwork.job (tenant_id, id);
CREATE UNIQUE INDEX job_key ON tickwork.job (tenant_id, key) WHERE key IS NOT NULL AND status <> 'cancelled';
CREATE INDEX job_deferred ON tickwork.job (scheduled_for) WHERE deferred;
-- One-time jobs are deleted with their history: retention finds them by their due time.
CREATE INDEX job_once ON tickwork.job (scheduled_for, id) WHERE rule_id IS NULL;
-- Recurring jobs that have used up their runs have ended.
CREATE INDEX job_with_last_run ON tickwork.job (tenant_id, active_until) WHERE active_until IS NOT NULL;
-- These and cancelled ones are deleted when their history is gone. A job that goes on is not in here.
CREATE INDEX job_that_ends ON tickwork.job (id)
    WHERE rule_id IS NOT NULL AND (status = 'cancelled' OR active_until IS NOT NULL);
CREATE UNIQUE INDEX job_element ON tickwork.job (element_of, element_at, element_number)
    WHERE element_of IS NOT NULL;

-- The rules that a job belonged to before: where to look for its history.
CREATE TABLE tickwork.past_rule (
    job_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (job_id, until)
);
CREATE INDEX past_rule_of_rule ON tickwork.past_rule (rule_id);
CREATE INDEX past_rule_age ON tickwork.past_rule (until);

-- Jobs of tasks that nobody had described when the job was written, so that its payload is still to be checked. Their
-- lane says so, too ("awaits_task"): no worker gets executions of it. A row that is no longer true is deleted later.
CREATE TABLE tickwork.unchecked_job (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    task text NOT NULL,
    mismatch text       -- why the payload does not fit the task, which is known by now: its executions fail
);
CREATE INDEX unchecked_job_of_task ON tickwork.unchecked_job (tenant_id, task) WHERE mismatch IS NULL;


-- Executions and attempts

-- Partitioned tables have the same partitions: one for each day, which nodes create ahead of time and drop when it is
-- older than the history is kept; and one for each month from before in which executions run again.

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
    worker_id integer,       -- 0: no worker has it, but an HTTP target that reports later
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
    own_payload boolean,     -- it has a row in retry_payload; null for nearly all, as is moved_by
    -- The transaction that edited its job while it waited. A claim that began before that has read the old job and must
    -- not take it.
    moved_by xid8,
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

-- Executions that ended as failed, until a user redrives or discards them.
CREATE TABLE tickwork.dead_letter (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    lane_id integer NOT NULL,      -- as when it failed: the task and the queue to choose by
    failed_at timestamptz NOT NULL,
    error_type text,               -- of the last attempt, to choose by
    fingerprint bigint,            -- equal for failures of one cause
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
);
CREATE INDEX dead_letter_age ON tickwork.dead_letter (tenant_id, failed_at, scheduled_for, job_id);
CREATE INDEX dead_letter_of_job ON tickwork.dead_letter (tenant_id, job_id, failed_at, scheduled_for);
CREATE INDEX dead_letter_of_cause ON tickwork.dead_letter (tenant_id, fingerprint, failed_at, scheduled_for, job_id)
    WHERE fingerprint IS NOT NULL;

-- The due times at which executions of a job wait, whose lane is given. For a job that was always a one-time job they
-- are known, which matters because a million others may wait in its lane. For one that recurs, or did, they are looked
-- for in its lane; its manual runs that are bound to a worker are each in a lane of their own and are found by the list
-- of off-schedule executions. + 0: by the lane, not through all that the tenant ever ran.
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
        SELECT scheduled_for, ready_at, lane_id FROM tickwork.execution
        WHERE tenant_id = tenant AND scheduled_for = due.scheduled_for AND job_id = job
        OFFSET 0
    ) e
    WHERE e.ready_at IS NOT NULL AND (NOT asked.repeats OR e.lane_id <> lane)
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

-- The execution of a job that has not ended and is in the way of others, which led to `at`. In plpgsql, as
-- awaits_failed: a statement that only calls such a function for the few executions that need it does not open the
-- partitions of executions, which costs more than all else about reading one job.
CREATE FUNCTION tickwork.unended_execution(tenant integer, job bigint, at timestamptz)
RETURNS SETOF tickwork.execution LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT e.* FROM tickwork.find_unended(tenant, job, at) AS unended (at) CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution x
        WHERE x.tenant_id = tenant AND x.scheduled_for = unended.at AND x.job_id = job
        OFFSET 0
    ) e;
END $$;

-- When a job was due in a range, the latest times first: in the rounds of its rules, present and past, without those
-- that were missed; in the round that is being fired; in its off-schedule executions; and once, if it is a one-time
-- job. Not all have an execution of the job: a rule goes on while one of its jobs is paused.
CREATE FUNCTION tickwork.due_times_of_job(
    tenant integer, job bigint, since timestamptz, before timestamptz, at_most bigint
) RETURNS TABLE (at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT t.scheduled_for
    FROM tickwork.job j
    CROSS JOIN LATERAL (
        (SELECT r.scheduled_for
         FROM (SELECT j.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = j.id) belonged
         CROSS JOIN LATERAL (
             SELECT scheduled_for FROM tickwork.round
             WHERE rule_id = belonged.rule_id AND missed = 0
                 AND scheduled_for >= greatest(since, j.created_at) AND scheduled_for < before
             ORDER BY scheduled_for DESC LIMIT at_most
         ) r)
        UNION ALL
        SELECT next_at FROM tickwork.rule
        WHERE id = j.rule_id AND cursor_job IS NOT NULL AND next_at >= since AND next_at < before
        UNION ALL
        (SELECT scheduled_for FROM tickwork.off_schedule_execution
         WHERE job_id = j.id AND scheduled_for >= since AND scheduled_for < before
         ORDER BY scheduled_for DESC LIMIT at_most)
        UNION ALL
        SELECT j.scheduled_for WHERE j.scheduled_for >= since AND j.scheduled_for < before
    ) t
    WHERE j.tenant_id = tenant AND j.id = job
    ORDER BY t.scheduled_for DESC
    LIMIT at_most
$$;

-- Whether an execution has been tried, or was made to run again by somebody: all its attempts so far but those that did
-- not start have such a record. A fan-out was tried once it has become jobs. What was not tried within `start_within`
-- of its job, which is part of the lane, is given up.
CREATE FUNCTION tickwork.was_tried(tenant integer, at timestamptz, job bigint, attempts integer)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT attempts > 1 AND attempts - 1 > (
        SELECT count(*) FROM tickwork.attempt a
        WHERE a.tenant_id = tenant AND a.scheduled_for = at AND a.job_id = job AND a.outcome IN ('returned', 'held'))
        OR EXISTS (SELECT FROM tickwork.job x WHERE x.element_of = job AND x.element_at = at)
$$;


-- What attempts ran with, when their job was edited since

-- What workers were given of a job until it was edited. Nothing is written for a job that is not.
CREATE TABLE tickwork.job_version (
    job_id bigint NOT NULL,
    version integer NOT NULL,  -- the last one of the job with these values
    tenant_id integer NOT NULL,
    until timestamptz NOT NULL,
    task text NOT NULL,
    payload bytea,             -- null: forgotten, because the job has had many others since
    target bytea,
    PRIMARY KEY (job_id, version)
);
CREATE INDEX job_version_of_time ON tickwork.job_version (job_id, until);
CREATE INDEX job_version_age ON tickwork.job_version (until);

-- Attempts that had the values of a version when the job was edited: with a worker then, or ended so shortly before
-- that their times do not tell. All others are told apart by their times.
CREATE TABLE tickwork.attempt_version (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt)
);
CREATE INDEX attempt_version_of_version ON tickwork.attempt_version (job_id, version);
CREATE INDEX attempt_version_age ON tickwork.attempt_version (scheduled_for);

-- Payloads that somebody gave to an execution when retrying it: for that attempt and all later ones.
CREATE TABLE tickwork.retry_payload (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    payload bytea NOT NULL,
    given_by jsonb,
    given_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt)
);
CREATE INDEX retry_payload_age ON tickwork.retry_payload (scheduled_for);

-- What an attempt that a worker has was given: the same whenever it is sent again.
CREATE FUNCTION tickwork.given(tenant integer, at timestamptz, job bigint, number integer)
    RETURNS TABLE (task text, payload bytea, target bytea) LANGUAGE sql STABLE AS $$
    SELECT coalesce(v.task, j.task), coalesce(own.payload, v.payload, j.payload),
        CASE WHEN v.task IS NULL THEN j.target ELSE v.target END
    FROM tickwork.job j
    LEFT JOIN LATERAL (
        SELECT v.task, v.payload, v.target
        FROM tickwork.attempt_version a JOIN tickwork.job_version v ON v.job_id = a.job_id AND v.version = a.version
        WHERE a.tenant_id = tenant AND a.scheduled_for = at AND a.job_id = job AND a.attempt = number
            AND v.payload IS NOT NULL
        OFFSET 0
    ) v ON true
    LEFT JOIN LATERAL (
        SELECT p.payload FROM tickwork.retry_payload p
        WHERE p.tenant_id = tenant AND p.scheduled_for = at AND p.job_id = job AND p.attempt <= number
        ORDER BY p.attempt DESC LIMIT 1
    ) own ON true
    WHERE j.id = job
$$;


-- Logs, usage and checkpoints

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

-- What attempts in processes of their own have used. No other attempt has a row, and finishing writes none: a worker
-- reports it with the log. The key begins with the time, for deleting.
CREATE TABLE tickwork.process_usage (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    tenant_id integer NOT NULL,
    cpu_seconds double precision NOT NULL CHECK (cpu_seconds >= 0),
    peak_memory bigint NOT NULL CHECK (peak_memory >= 0),  -- bytes
    PRIMARY KEY (scheduled_for, job_id, attempt)
) WITH (fillfactor = 100);

-- What attempts have stored of their work, for the attempts after them: the results of steps that are done, and the
-- latest state. Only tasks that store something have rows.
CREATE TABLE tickwork.checkpoint (
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,      -- that stored it
    number integer NOT NULL,       -- of a step: its place among them; of a state: which of its attempt it is
    stored_at timestamptz NOT NULL,
    took real,                     -- seconds that the step ran, if that is known
    step text NOT NULL,            -- its name; empty: the state
    value bytea NOT NULL,          -- JSON
    PRIMARY KEY (tenant_id, scheduled_for, job_id, step),
    CONSTRAINT checkpoint_is_bounded CHECK (length(step) <= 200 AND octet_length(value) <= 262144)
) PARTITION BY RANGE (scheduled_for);


-- Workers and leases

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
    key_id integer,                     -- the API key that registered it; null: built in
    commands text[] NOT NULL DEFAULT '{}',  -- patterns of the programs that it runs
    load jsonb                          -- what it last measured of its machine and process, written with its lease
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
    job_ids bigint[] NOT NULL,
    leased_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    -- When a node is to look at it next, because the first of its attempts may have run too long by then: time limits
    -- hold whatever a worker does. Null: no node has looked yet. Most leases are over before the first look.
    check_at timestamptz
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
    needs_report boolean NOT NULL DEFAULT true,  -- false: a node has ended the attempt; its execution goes on elsewhere
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


-- Callbacks: attempts of HTTP jobs that their targets finish later

-- Signs the tokens with which targets report on their attempts: one row.
CREATE TABLE tickwork.callback_secret (
    secret bytea NOT NULL CHECK (length(secret) = 32),
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.callback_secret (secret)
SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- Attempts that an HTTP target has accepted. No worker has such an execution: its worker_id is 0, and so is that of the
-- lease, which makes it count as running wherever that is asked. The row lives as long as the lease.
CREATE TABLE tickwork.callback_wait (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    lease_id bigint NOT NULL,
    timeout_at timestamptz NOT NULL,
    heartbeat interval,             -- the target must report at least this often; null: it need not
    deadline timestamptz NOT NULL,  -- the attempt is taken away at this time: it timed out, or no heartbeat came
    status_url text,                -- asked how the attempt ends, if the target does not report that itself
    target bytea,                   -- JSON: the HTTP call as it was made, for the headers of that
    poll_at timestamptz,            -- when to ask next
    PRIMARY KEY (tenant_id, scheduled_for, job_id),
    CONSTRAINT ends_with_its_timeout CHECK (deadline <= timeout_at),
    CONSTRAINT asked_or_not CHECK (num_nulls(status_url, target, poll_at) IN (0, 3))
) WITH (fillfactor = 70);
CREATE INDEX callback_wait_deadline ON tickwork.callback_wait (deadline);
CREATE INDEX callback_wait_poll ON tickwork.callback_wait (poll_at) WHERE poll_at IS NOT NULL;
CREATE INDEX callback_wait_of_lease ON tickwork.callback_wait (lease_id);

-- Ends the wait together with its lease, whoever deletes that. Leases of workers do not get here.
CREATE FUNCTION tickwork.end_callback_wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM tickwork.callback_wait WHERE lease_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER end_callback_wait AFTER DELETE ON tickwork.lease FOR EACH ROW
    WHEN (OLD.worker_id = 0) EXECUTE FUNCTION tickwork.end_callback_wait();


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


-- Events: what users follow, and how executions that are out of the ordinary are found. An execution that completes on
-- time writes none. Each event is written in the transaction that makes it true, first into new_event. One node at a
-- time then numbers what was committed and moves it into event, so that the numbers of the stream are in the order in
-- which readers see them: a sequence alone would let a reader pass over a number whose transaction commits later.

-- Events that have no number yet.
CREATE TABLE tickwork.new_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    at timestamptz NOT NULL DEFAULT tickwork.clock(),
    kind text NOT NULL CHECK (kind ~ '^[a-z]+\.[a-z]+$'),  -- noun.verb
    job_id bigint,
    scheduled_for timestamptz,     -- with job_id: the execution
    lane_id integer,               -- the queue and the task
    attempt integer,
    error_type text,
    fingerprint bigint,            -- equal for failures of one cause
    detail text                    -- JSON: what else there is to say
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Events with their numbers: the stream.
CREATE TABLE tickwork.event (
    number bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    job_id bigint,
    scheduled_for timestamptz,
    lane_id integer,
    attempt integer,
    error_type text,
    fingerprint bigint,
    detail text
);
CREATE INDEX event_of_tenant ON tickwork.event (tenant_id, number);
CREATE INDEX event_of_job ON tickwork.event (job_id, number) WHERE job_id IS NOT NULL;
-- The changes of a job among all events: those of its executions can be many.
CREATE INDEX event_of_definition ON tickwork.event (job_id, number) WHERE kind LIKE 'job.%';
-- Executions are found by what is out of the ordinary and by the errors of their attempts. With the lane in the index,
-- events of other tasks and queues are passed over there.
CREATE INDEX event_of_kind ON tickwork.event (tenant_id, kind, scheduled_for, job_id) INCLUDE (lane_id)
    WHERE scheduled_for IS NOT NULL;
CREATE INDEX event_of_error ON tickwork.event (tenant_id, error_type, scheduled_for, job_id) INCLUDE (lane_id)
    WHERE error_type IS NOT NULL AND scheduled_for IS NOT NULL;
CREATE INDEX event_of_cause ON tickwork.event (tenant_id, fingerprint, number) WHERE fingerprint IS NOT NULL;

-- The number that was given last. Its row is the lock for numbering.
CREATE TABLE tickwork.last_event (
    number bigint NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.last_event (number) VALUES (0);

-- Recurring jobs whose last execution failed for good. A job that is well has no row.
CREATE TABLE tickwork.failing_job (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    failures_in_a_row integer NOT NULL,
    failing_since timestamptz NOT NULL,
    last_failed_at timestamptz NOT NULL
);
CREATE INDEX failing_job_of_tenant ON tickwork.failing_job (tenant_id, job_id);

-- Failures grouped by their cause: one row for each, added to when events are numbered. One node does so at a time, so
-- nobody waits for the row.
CREATE TABLE tickwork.error_group (
    tenant_id integer NOT NULL,
    fingerprint bigint NOT NULL,
    task text NOT NULL,
    error_type text NOT NULL,
    message text,                  -- of the failure seen last
    failed_attempts bigint NOT NULL,
    failed_executions bigint NOT NULL,  -- those that failed for good
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, fingerprint)
);
CREATE INDEX error_group_age ON tickwork.error_group (tenant_id, last_seen, fingerprint);

-- Up to when waiting and running executions have been looked at: those that became late or slow before have their
-- events. One row, which a node locks while it looks, so that each is told of once.
CREATE TABLE tickwork.overdue_watch (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    watched_until timestamptz NOT NULL
);
INSERT INTO tickwork.overdue_watch (watched_until) VALUES (tickwork.clock());

-- The pulse: the starts and ends of executions, passed from the node that records them to those on which somebody
-- follows. Written only while somebody does, and lost without harm. Its ids begin below the milliseconds since 1970,
-- with which skip_ids goes on.
CREATE UNLOGGED TABLE tickwork.pulse (
    id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1000000000000) PRIMARY KEY,
    tenant_id integer NOT NULL,
    at timestamptz NOT NULL DEFAULT tickwork.clock(),
    events bytea NOT NULL          -- JSON
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE UNLOGGED TABLE tickwork.pulse_wanted (
    tenant_id integer PRIMARY KEY,
    until timestamptz NOT NULL
);

-- The pulse may be lost, but not the sequence of its ids: the sequence of an unlogged table is unlogged itself since
-- PostgreSQL 15, and on a standby that is promoted it cannot be read.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 150000 THEN
        EXECUTE 'ALTER SEQUENCE tickwork.pulse_id_seq SET LOGGED';
    END IF;
END $$;

-- The triggers below write events of changes by whichever statement.

-- Writes that an execution was skipped or cancelled, and notes a cancelled one that has elements. That is done here and
-- not by a trigger of its own, which executions that complete would pay for. Failures are written by the statement that
-- keeps dead letters, which knows the error.
CREATE FUNCTION tickwork.write_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
    VALUES (NEW.tenant_id, 'execution.' || NEW.status, NEW.job_id, NEW.scheduled_for, NEW.lane_id, NEW.attempt,
            json_build_object('reason', NEW.reason)::text);
    IF NEW.status = 'cancelled' AND EXISTS (
        SELECT FROM tickwork.job WHERE element_of = NEW.job_id AND element_at = NEW.scheduled_for)
    THEN
        INSERT INTO tickwork.cancelled_fan_out (tenant_id, scheduled_for, job_id)
        VALUES (NEW.tenant_id, NEW.scheduled_for, NEW.job_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new AFTER INSERT ON tickwork.execution FOR EACH ROW
    WHEN (NEW.status = 'skipped') EXECUTE FUNCTION tickwork.write_event();
CREATE TRIGGER write_event AFTER UPDATE OF status ON tickwork.execution FOR EACH ROW
    WHEN (NEW.status IN ('skipped', 'cancelled') AND OLD.status <> NEW.status) EXECUTE FUNCTION tickwork.write_event();

-- Writes that a job was changed. The transaction that changes it says in the setting tickwork.job_change who does, and
-- which fields change. A statement that says nothing changes a job on its own. Firing, claiming and completing write
-- none of the columns that this trigger and those below look at.
CREATE FUNCTION tickwork.write_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE change jsonb := nullif(current_setting('tickwork.job_change', true), '')::jsonb;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN OLD.status = NEW.status THEN 'job.changed'
                 WHEN NEW.status = 'active' THEN 'job.resumed'
                 ELSE 'job.' || NEW.status END,
            NEW.id, NEW.lane_id,
            (jsonb_build_object('version', NEW.version)
             || CASE WHEN change ->> 'job' = NEW.id::text THEN change - 'job' ELSE '{}' END)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_job_event AFTER UPDATE OF version ON tickwork.job FOR EACH ROW
    WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION tickwork.write_job_event();

-- Writes that a queue was paused, resumed or set otherwise.
CREATE FUNCTION tickwork.write_queue_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE was_paused boolean := TG_OP = 'UPDATE' AND OLD.paused;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN NEW.paused AND NOT was_paused THEN 'queue.paused'
                 WHEN was_paused AND NOT NEW.paused THEN 'queue.resumed'
                 ELSE 'queue.changed' END,
            json_build_object('queue', NEW.name, 'max_running', NEW.max_running, 'rate', NEW.rate,
                              'max_backlog', NEW.max_backlog, 'max_workers', NEW.max_workers)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new_queue AFTER INSERT ON tickwork.limiter FOR EACH ROW
    WHEN (NEW.kind = 'queue') EXECUTE FUNCTION tickwork.write_queue_event();
CREATE TRIGGER write_queue_event AFTER UPDATE OF paused, max_running, rate, max_backlog, max_workers
    ON tickwork.limiter
    FOR EACH ROW WHEN (NEW.kind = 'queue'
        AND (OLD.paused, OLD.max_running, OLD.rate, OLD.max_backlog, OLD.max_workers)
            IS DISTINCT FROM (NEW.paused, NEW.max_running, NEW.rate, NEW.max_backlog, NEW.max_workers))
    EXECUTE FUNCTION tickwork.write_queue_event();

-- Writes that a worker joined, left or was lost. The built-in ones belong to no tenant and write nothing.
CREATE FUNCTION tickwork.write_worker_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN NEW.ended_at IS NULL THEN 'worker.joined'
                 WHEN NEW.lease_until < NEW.ended_at THEN 'worker.lost'
                 ELSE 'worker.left' END,
            json_build_object('worker_id', 'w' || substr(tickwork.job_name(NEW.id), 2), 'name', NEW.name,
                              'host', NEW.host)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new_worker AFTER INSERT ON tickwork.worker FOR EACH ROW
    WHEN (NEW.tenant_id IS NOT NULL) EXECUTE FUNCTION tickwork.write_worker_event();
CREATE TRIGGER write_worker_event AFTER UPDATE OF ended_at ON tickwork.worker FOR EACH ROW
    WHEN (NEW.tenant_id IS NOT NULL AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)
    EXECUTE FUNCTION tickwork.write_worker_event();

-- Writes that a circuit breaker opened or closed.
CREATE FUNCTION tickwork.write_breaker_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id, CASE NEW.state WHEN 'closed' THEN 'breaker.closed' ELSE 'breaker.opened' END,
            json_build_object('destination', NEW.destination, 'reason', NEW.reason,
                              'last_error', NEW.last_error)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_breaker_event AFTER UPDATE OF state ON tickwork.breaker FOR EACH ROW
    WHEN ((OLD.state = 'closed') <> (NEW.state = 'closed')) EXECUTE FUNCTION tickwork.write_breaker_event();

-- Writes that an API key was created or revoked.
CREATE FUNCTION tickwork.write_key_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id, CASE WHEN NEW.revoked_at IS NULL THEN 'key.created' ELSE 'key.revoked' END,
            json_build_object('key_id', 'k' || substr(tickwork.job_name(NEW.id), 2), 'name', NEW.name,
                              'prefix', NEW.prefix, 'scopes', NEW.scopes)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new_key AFTER INSERT ON tickwork.api_key FOR EACH ROW
    EXECUTE FUNCTION tickwork.write_key_event();
CREATE TRIGGER write_key_event AFTER UPDATE OF revoked_at ON tickwork.api_key FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION tickwork.write_key_event();


-- Dependencies and fan-outs

-- Branches: a dependency may need a failure instead of a success, or a result for which a condition is true. A child
-- whose branch is not taken is skipped. `any outcome` counts whatever happened, also that the parent is blocked.
CREATE TYPE tickwork.needed_outcome AS ENUM ('success', 'failure', 'any outcome');

-- What the end of a parent means for a child.
CREATE TYPE tickwork.verdict AS ENUM (
    'met',        -- the parent ended as needed
    'left out',   -- the parent was not taken; the child goes on without it if another parent was
    'not taken',  -- the parent ended otherwise than the branch needs, for good
    'skipped',    -- the parent was skipped for another reason, and so is the child
    'blocked');   -- the child waits until the parent is retried

-- Which job depends on which.
CREATE TABLE tickwork.dependency (
    tenant_id integer NOT NULL,
    child_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    met boolean NOT NULL DEFAULT false,  -- for all rounds of the child, by a parent that is due once
    needs tickwork.needed_outcome NOT NULL DEFAULT 'success',
    condition jsonpath,                  -- must be true for the result of the parent
    PRIMARY KEY (child_id, parent_id),
    CONSTRAINT depends_on_others CHECK (child_id <> parent_id)
);
CREATE INDEX dependency_of_parent ON tickwork.dependency (parent_id, child_id);

-- What executions wait for: a row for each execution of a parent, until that has ended as it must. The last row that
-- goes lets the child go on. As a row can go only once, a parent counts once, however often it ends. A fan-out waits in
-- the same way for the jobs that it has become, one for each element of the list that a parent returned, and completes
-- after them.
CREATE TABLE tickwork.awaited (
    child_id bigint NOT NULL,
    child_at timestamptz NOT NULL,
    parent_id bigint NOT NULL,
    parent_at timestamptz NOT NULL,
    tenant_id integer NOT NULL,
    unsure boolean NOT NULL,             -- whether the parent is due at that time at all has yet to be seen
    needs tickwork.needed_outcome NOT NULL DEFAULT 'success',
    condition jsonpath,
    verdict tickwork.verdict,            -- on the parent, until the same transaction has counted it
    PRIMARY KEY (child_id, child_at, parent_id)
);
CREATE INDEX awaited_of_parent ON tickwork.awaited (parent_id, parent_at);
CREATE INDEX awaited_unsure ON tickwork.awaited (child_at) WHERE unsure;
CREATE INDEX awaited_judged ON tickwork.awaited (child_id) WHERE verdict IS NOT NULL;

-- Fan-outs that were cancelled and may have elements that have not ended. These are cancelled afterwards, some at a
-- time: the end of an element locks it before its fan-out, so cancelling both in one transaction could deadlock.
CREATE TABLE tickwork.cancelled_fan_out (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
);

-- The reason of elements that were cancelled with their fan-out.
CREATE FUNCTION tickwork.cancelled_with(fan_out bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('fan-out %s was cancelled', tickwork.job_name(fan_out))
$$;

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

-- Whether an execution waits in vain: one that it needs has failed or was cancelled, or can never be created because
-- its job was cancelled. It goes on when that one is retried and completes.
CREATE FUNCTION tickwork.awaits_failed(child bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM tickwork.awaited a JOIN tickwork.job p ON p.id = a.parent_id
        LEFT JOIN LATERAL (
            SELECT status FROM tickwork.execution
            WHERE tenant_id = a.tenant_id AND scheduled_for = a.parent_at AND job_id = a.parent_id
            OFFSET 0
        ) e ON true
        WHERE a.child_id = child AND a.child_at = at AND a.needs <> 'any outcome'
            AND (e.status IN ('failed', 'cancelled')
                 OR e.status IS NULL AND p.status = 'cancelled' AND p.scheduled_for = a.parent_at));
END $$;

-- Whether an execution waits in vain, directly or through others: the row of a parent that has ended is still there.
-- VOLATILE, so that it sees what is true once the locks are taken.
CREATE FUNCTION tickwork.is_blocked(job bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (
        WITH RECURSIVE way AS (
            -- What it waits for, then what each of these waits for.
            SELECT a.tenant_id, a.parent_id, a.parent_at FROM tickwork.awaited a
            WHERE a.child_id = job AND a.child_at = at AND a.needs <> 'any outcome'
            UNION
            SELECT a.tenant_id, a.parent_id, a.parent_at
            FROM way JOIN tickwork.awaited a ON a.child_id = way.parent_id AND a.child_at = way.parent_at
            WHERE a.needs <> 'any outcome'
        )
        SELECT FROM way JOIN tickwork.job p ON p.id = way.parent_id LEFT JOIN LATERAL (
            SELECT e.status FROM tickwork.execution e
            WHERE e.tenant_id = way.tenant_id AND e.scheduled_for = way.parent_at AND e.job_id = way.parent_id
            OFFSET 0
        ) e ON true
        WHERE e.status IN ('failed', 'cancelled') OR e.status IS NULL AND p.deferred AND p.status = 'cancelled');
END $$;

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

-- Whether an execution was skipped because its branch was not taken.
CREATE FUNCTION tickwork.was_not_taken(status tickwork.execution_status, reason text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(status = 'skipped' AND reason LIKE 'not taken%', false) $$;

-- What the end of a parent means for a child. `result`: null when there is no condition to look at it.
CREATE FUNCTION tickwork.judge(
    needs tickwork.needed_outcome, condition jsonpath, status tickwork.execution_status, reason text, result jsonb
) RETURNS tickwork.verdict LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN needs = 'any outcome' THEN 'met'
        WHEN status = 'failed' AND needs = 'failure' THEN 'met'
        WHEN status IN ('failed', 'cancelled') THEN 'blocked'
        WHEN status = 'skipped' AND NOT tickwork.was_not_taken(status, reason) THEN 'skipped'
        WHEN needs = 'failure' THEN 'not taken'
        WHEN condition IS NOT NULL AND status = 'completed' AND jsonb_path_match(result, condition, '{}', true)
            THEN 'met'
        WHEN condition IS NOT NULL THEN 'not taken'
        WHEN status = 'completed' THEN 'met'
        ELSE 'left out' END::tickwork.verdict
$$;

-- Judges an execution that has ended, for all that waits for it. Its result is read once, if there is a condition.
CREATE FUNCTION tickwork.judge_ended(ended tickwork.execution) RETURNS void LANGUAGE plpgsql AS $$
DECLARE result jsonb;
BEGIN
    IF ended.status = 'completed' AND EXISTS (
        SELECT FROM tickwork.awaited
        WHERE parent_id = ended.job_id AND parent_at = ended.scheduled_for AND condition IS NOT NULL)
    THEN
        result := tickwork.readable_result(ended.result);
    END IF;
    UPDATE tickwork.awaited SET verdict = tickwork.judge(needs, condition, ended.status, ended.reason, result)
    WHERE parent_id = ended.job_id AND parent_at = ended.scheduled_for;
END $$;

-- Why a branch is not taken. The parent is one that decided it.
CREATE FUNCTION tickwork.not_taken_reason(tenant integer, child bigint, parent bigint, at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT 'not taken: ' || format(CASE
        WHEN e.status = 'skipped' OR p.reason_to_skip IS NOT NULL THEN 'parent %s was not taken'
        WHEN d.needs = 'failure' THEN 'parent %s did not fail'
        WHEN NOT tickwork.is_json(e.result) THEN 'the result of parent %s is not valid JSON'
        ELSE 'the condition on the result of parent %s is not true' END, tickwork.job_name(parent))
    FROM tickwork.job p
    LEFT JOIN tickwork.dependency d ON d.child_id = child AND d.parent_id = parent
    LEFT JOIN LATERAL (
        SELECT e.status, e.result FROM tickwork.execution e
        WHERE e.tenant_id = tenant AND e.scheduled_for = coalesce(p.scheduled_for, at) AND e.job_id = parent
        OFFSET 0
    ) e ON true
    WHERE p.id = parent
$$;

-- Whether an execution has nothing to do because none of its parents was taken, and it does not run whatever happened.
CREATE FUNCTION tickwork.is_off_all_branches(tenant integer, child bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status, e.reason FROM tickwork.execution e
            WHERE e.tenant_id = tenant AND e.scheduled_for = coalesce(p.scheduled_for, at) AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = child
            AND (d.needs = 'any outcome'
                 OR NOT tickwork.was_not_taken(e.status, e.reason) AND p.reason_to_skip IS NULL));
END $$;

-- Writes that executions are blocked by one of a parent, which had this outcome.
CREATE FUNCTION tickwork.write_blocked(
    parent bigint, at timestamptz, outcome text, children bigint[] DEFAULT NULL
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
    SELECT a.tenant_id, 'execution.blocked', a.child_id, a.child_at, c.lane_id,
        json_build_object('reason', format('parent %s %s', tickwork.job_name(parent),
                                           CASE outcome WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END))::text
    FROM tickwork.awaited a JOIN tickwork.job c ON c.id = a.child_id
    WHERE a.parent_id = parent AND a.parent_at = at
        AND (a.needs = 'success' OR a.needs = 'failure' AND outcome <> 'failed')
        AND (children IS NULL OR a.child_id = ANY(children))
$$;

-- Makes executions wait for those of their parents that have not ended as required. The execution of a one-time parent
-- is locked first: either it has ended before, or it sees afterwards which executions wait. A recurring parent has not
-- ended in a round that is only being created. Whether it is due in that round at all is found out later, if it can
-- miss it (`unsure`). What has a verdict is to be counted by the same transaction. An execution that is created in a
-- round waits also for a parent that has met what it needs already, such as one that was skipped when it was fired:
-- otherwise nobody would count that parent, and the execution would wait for ever.
CREATE FUNCTION tickwork.await_parents(children bigint[], round_at timestamptz, can_miss boolean)
RETURNS void LANGUAGE plpgsql AS $$
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
    INSERT INTO tickwork.awaited
        (child_id, child_at, parent_id, parent_at, tenant_id, needs, condition, unsure, verdict)
    SELECT edge.child_id, edge.child_at, edge.parent_id, edge.parent_at, edge.tenant_id, edge.needs, edge.condition,
        can_miss AND edge.repeats AND e.status IS NULL, e.verdict
    FROM (
        SELECT d.tenant_id, d.child_id, coalesce(c.scheduled_for, round_at) AS child_at, d.parent_id,
            coalesce(p.scheduled_for, round_at) AS parent_at, d.needs, d.condition, p.scheduled_for IS NULL AS repeats,
            p.reason_to_skip, CASE WHEN p.deferred AND p.status = 'cancelled' THEN 'cancelled'
                                   WHEN p.reason_to_skip IS NOT NULL THEN 'skipped' END::tickwork.execution_status
                AS ended_early
        FROM tickwork.dependency d
        JOIN tickwork.job c ON c.id = d.child_id
        JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met
        OFFSET 0
    ) edge
    LEFT JOIN LATERAL (
        SELECT e.status, CASE WHEN e.finished_at IS NOT NULL THEN tickwork.judge(
            edge.needs, edge.condition, e.status, e.reason,
            CASE WHEN edge.condition IS NOT NULL THEN tickwork.readable_result(e.result) END) END AS verdict
        FROM tickwork.execution e
        WHERE e.tenant_id = edge.tenant_id AND e.scheduled_for = edge.parent_at AND e.job_id = edge.parent_id
        UNION ALL
        SELECT NULL, tickwork.judge(edge.needs, edge.condition, edge.ended_early, edge.reason_to_skip, NULL)
        WHERE edge.ended_early IS NOT NULL
        LIMIT 1
    ) e ON true
    WHERE e.verdict IS DISTINCT FROM 'met' OR round_at IS NOT NULL
    ON CONFLICT DO NOTHING;
    UPDATE tickwork.awaited a SET verdict = 'met'
    FROM tickwork.job p
    WHERE a.child_id = ANY(children) AND a.child_at = coalesce(round_at, a.child_at) AND a.needs = 'any outcome'
        AND p.id = a.parent_id AND p.depends AND NOT p.id = ANY(children)
        AND tickwork.is_blocked(a.parent_id, a.parent_at);
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
-- its parents at a time: the child waits for the others. A parent that was skipped when it was created is judged.
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
        PERFORM tickwork.judge_ended(NEW);
    END IF;
    RETURN NULL;
END $$;

-- Judges an execution that has ended, for all that waits for it. That is counted once the whole statement is done. An
-- execution that was moved to another time has not ended.
CREATE FUNCTION tickwork.note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.judge_ended(NEW);
    UPDATE tickwork.dependency d SET met = true
    FROM tickwork.job p, tickwork.job c
    WHERE d.parent_id = NEW.job_id AND NOT d.met
        AND p.id = d.parent_id AND p.scheduled_for = NEW.scheduled_for AND c.id = d.child_id AND c.rule_id IS NOT NULL
        AND tickwork.judge(d.needs, d.condition, NEW.status, NEW.reason,
                           CASE WHEN d.condition IS NOT NULL THEN tickwork.readable_result(NEW.result) END) = 'met';
    RETURN NULL;
END $$;

-- Counts for steps that run whatever happened that their parents are blocked: what waits, directly or through others,
-- for a parent that was judged so. It is looked for again once it is locked, until nothing is added: who adds a child
-- locks its parents, too, so one of the two sees the other.
CREATE FUNCTION tickwork.count_blocked() RETURNS void LANGUAGE plpgsql AS $$
DECLARE firsts bigint[]; first_times timestamptz[]; jobs bigint[]; times timestamptz[]; locked bigint[] := '{}';
BEGIN
    WITH waiting AS (
        -- What waits for a parent that has failed or was cancelled.
        UPDATE tickwork.awaited SET verdict = NULL WHERE verdict = 'blocked' RETURNING child_id, child_at
    )
    SELECT array_agg(child_id), array_agg(child_at) INTO firsts, first_times FROM waiting;
    IF firsts IS NULL THEN
        RETURN;
    END IF;
    LOOP
        WITH RECURSIVE way AS (
            -- What waits in vain, then what waits for that.
            SELECT * FROM unnest(firsts, first_times) AS first (id, at)
            UNION
            SELECT a.child_id, a.child_at
            FROM way JOIN tickwork.awaited a ON a.parent_id = way.id AND a.parent_at = way.at
            WHERE a.needs <> 'any outcome'
        )
        SELECT array_agg(id), array_agg(at) INTO jobs, times FROM way;
        EXIT WHEN NOT EXISTS (SELECT unnest(jobs) EXCEPT SELECT unnest(locked));
        PERFORM FROM tickwork.job WHERE id = ANY(jobs) ORDER BY id FOR NO KEY UPDATE;
        locked := jobs;
    END LOOP;
    UPDATE tickwork.awaited a SET verdict = 'met'
    FROM unnest(jobs, times) AS blocked (id, at)
    WHERE a.parent_id = blocked.id AND a.parent_at = blocked.at AND a.needs = 'any outcome';
END $$;

-- Notes that deferred jobs will be skipped, and judges them for all that waits for them.
CREATE FUNCTION tickwork.skip_deferred(jobs bigint[], reasons text[]) RETURNS void LANGUAGE sql AS $$
    WITH skipped AS (
        -- The jobs, with their reasons.
        UPDATE tickwork.job j SET reason_to_skip = s.reason
        FROM unnest(jobs, reasons) AS s (id, reason)
        WHERE s.reason IS NOT NULL AND j.id = s.id AND j.deferred
        RETURNING j.id, j.scheduled_for, j.reason_to_skip
    )
    UPDATE tickwork.awaited a SET verdict = tickwork.judge(needs, condition, 'skipped', s.reason_to_skip, NULL)
    FROM skipped s WHERE a.parent_id = s.id AND a.parent_at = s.scheduled_for
$$;

-- Counts the parents that have ended. Children with nothing left to wait for go on. Those whose branch is not taken are
-- skipped, and so are those with a skipped parent. Their jobs are locked first: so when two parents end at the same
-- time, one of them sees the other, and a pause comes either before or after, never in between.
CREATE FUNCTION tickwork.count_ended() RETURNS void LANGUAGE plpgsql AS $$
DECLARE tenants integer[]; children bigint[]; times timestamptz[]; not_taken_fors bigint[]; skipped_fors bigint[];
    left_outs bigint[]; reasons text[];
BEGIN
    WHILE EXISTS (SELECT FROM tickwork.awaited WHERE verdict IS NOT NULL) LOOP
        PERFORM tickwork.count_blocked();
        PERFORM FROM tickwork.job
        WHERE id = ANY(ARRAY(SELECT DISTINCT child_id FROM tickwork.awaited WHERE verdict IS NOT NULL))
        ORDER BY id FOR NO KEY UPDATE;
        WITH counted AS (
            -- What parents that have ended were waited for by, deleted.
            DELETE FROM tickwork.awaited WHERE verdict IS NOT NULL RETURNING *
        ), child AS (
            -- The executions that waited for them, each with a parent that decides what becomes of it.
            SELECT tenant_id, child_id, child_at,
                min(parent_id) FILTER (WHERE verdict = 'not taken') AS not_taken_for,
                min(parent_id) FILTER (WHERE verdict = 'skipped') AS skipped_for,
                min(parent_id) FILTER (WHERE verdict = 'left out') AS left_out
            FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 3, 2
        )
        SELECT array_agg(tenant_id), array_agg(child_id), array_agg(child_at), array_agg(not_taken_for),
            array_agg(skipped_for), array_agg(left_out)
        INTO tenants, children, times, not_taken_fors, skipped_fors, left_outs FROM child;
        DELETE FROM tickwork.awaited a
        USING unnest(children, times, not_taken_fors, skipped_fors) AS c (id, at, not_taken_for, skipped_for)
        WHERE coalesce(c.not_taken_for, c.skipped_for) IS NOT NULL AND a.child_id = c.id AND a.child_at = c.at;
        SELECT array_agg(c.tenant_id), array_agg(c.id), array_agg(c.at), array_agg(CASE
            WHEN c.not_taken_for IS NOT NULL THEN tickwork.not_taken_reason(c.tenant_id, c.id, c.not_taken_for, c.at)
            WHEN c.skipped_for IS NOT NULL THEN tickwork.skip_reason(c.tenant_id, c.skipped_for, c.at)
            WHEN c.left_out IS NOT NULL AND tickwork.is_off_all_branches(c.tenant_id, c.id, c.at)
                THEN tickwork.not_taken_reason(c.tenant_id, c.id, c.left_out, c.at) END)
        INTO tenants, children, times, reasons
        FROM unnest(tenants, children, times, not_taken_fors, skipped_fors, left_outs)
            AS c (tenant_id, id, at, not_taken_for, skipped_for, left_out)
        WHERE NOT tickwork.awaits_parents(c.id, c.at);
        UPDATE tickwork.execution e
        SET status = CASE WHEN c.reason IS NULL THEN e.status ELSE 'skipped' END,
            ready_at = CASE WHEN c.reason IS NOT NULL THEN NULL
                            WHEN c.paused OR e.blocked_by IS NOT NULL THEN 'infinity'
                            ELSE greatest(e.scheduled_for, tickwork.clock()) END,
            finished_at = CASE WHEN c.reason IS NOT NULL THEN tickwork.clock() END,
            reason = c.reason
        FROM (
            SELECT c.*, (SELECT j.status = 'paused' FROM tickwork.job j WHERE j.id = c.id) AS paused
            FROM unnest(tenants, children, times, reasons) AS c (tenant_id, id, at, reason)
            OFFSET 0
        ) c
        WHERE e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.at AND e.job_id = c.id
            AND e.ready_at IS NOT DISTINCT FROM 'infinity';  -- not =, which the index of what waits could answer
        IF array_remove(reasons, NULL) <> '{}' THEN
            PERFORM tickwork.skip_deferred(children, reasons);
        END IF;
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

-- Writes that executions are blocked by one that has failed or was cancelled.
CREATE FUNCTION tickwork.write_blocked_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.job_id, NEW.scheduled_for, NEW.status::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_blocked_events AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.finished_at IS NULL AND NEW.status IN ('failed', 'cancelled')
          AND NOT (NEW.status = 'cancelled' AND NEW.reason IS NOT DISTINCT FROM 'rescheduled'))
    EXECUTE FUNCTION tickwork.write_blocked_events();

-- The execution of a job that is cancelled long before its due time does not exist yet: the job itself ends.
CREATE FUNCTION tickwork.write_blocked_events_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.id, NEW.scheduled_for, 'cancelled');
    UPDATE tickwork.awaited SET verdict = tickwork.judge(needs, condition, 'cancelled', NULL, NULL)
    WHERE parent_id = NEW.id AND parent_at = NEW.scheduled_for;
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;
CREATE TRIGGER write_blocked_events AFTER UPDATE OF status ON tickwork.job FOR EACH ROW
    WHEN (NEW.followed AND OLD.deferred AND OLD.status <> 'cancelled' AND NEW.status = 'cancelled')
    EXECUTE FUNCTION tickwork.write_blocked_events_of_job();

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


-- Statistics: how many executions were fired, started, completed and so on, and how long they took, by minute and lane.
-- What is ordinary, each node counts in memory and appends every few seconds; nobody shares a row. What is out of the
-- ordinary is counted in the transaction that makes it true. Minutes are merged into hours, and hours into days.

-- The bucket of a duration in a histogram, as model/histogram.py computes it: in units of 128 µs, one each below 16,
-- and from there on eight for each power of two. Each function is one expression, so that it becomes a part of the
-- query that calls it.
CREATE FUNCTION tickwork.bucket_of_units(units bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN units < 16 THEN greatest(units, 0)
                ELSE 8 * (61 - position(B'1' IN units::bit(64))) + (units >> 61 - position(B'1' IN units::bit(64)))
           END::smallint
$$;
CREATE FUNCTION tickwork.histogram_bucket(took interval) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT tickwork.bucket_of_units((date_part('epoch', took) * 1e6::float8)::bigint >> 7)
$$;

CREATE TYPE tickwork.statistic_span AS ENUM ('minute', 'hour', 'day');
CREATE TYPE tickwork.statistic_source AS ENUM (
    'memory',     -- counted in the memory of a node
    'execution',  -- counted from executions: what no rule fired, and minutes that are counted again
    'exception',  -- counted in the transaction that made it true
    'merged');    -- hours and days

-- What happened in a lane in a minute, an hour or a day. Several rows may have the same key: they add up.
CREATE TABLE tickwork.statistic (
    span tickwork.statistic_span NOT NULL,
    at timestamptz NOT NULL,             -- the beginning
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,            -- the queue and the task
    source tickwork.statistic_source NOT NULL,
    is_sum boolean NOT NULL DEFAULT false,  -- of rows that were there before: nothing new
    fired bigint NOT NULL DEFAULT 0,
    started bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    snoozed bigint NOT NULL DEFAULT 0,
    lost bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    skipped_overlap bigint NOT NULL DEFAULT 0,
    skipped_paused bigint NOT NULL DEFAULT 0,
    skipped_rescheduled bigint NOT NULL DEFAULT 0,
    skipped_queue_full bigint NOT NULL DEFAULT 0,
    skipped_parent bigint NOT NULL DEFAULT 0,
    delay_buckets smallint[],            -- of the histogram of start delays, those that are not empty
    delay_counts bigint[],               -- and how many are in each
    run_buckets smallint[],              -- the same for run times
    run_counts bigint[]
);
CREATE INDEX statistic_of_tenant ON tickwork.statistic (tenant_id, span, at);

-- The nodes that count in memory. One that stops deletes its row; one that is silent was killed, and the minutes of
-- which it had not written everything are counted again.
CREATE TABLE tickwork.statistic_writer (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    writes bigint NOT NULL DEFAULT 0,    -- so that a write whose answer was lost is not repeated
    written_at timestamptz NOT NULL DEFAULT tickwork.clock()
) WITH (fillfactor = 50);

-- How far upkeep has come. The row is the lock for it. One node at a time counts from the executions, in many small
-- transactions, and claims that here.
CREATE TABLE tickwork.statistic_upkeep (
    fired_until timestamptz,             -- fired executions are counted for the minutes before; null: not begun
    hours_until timestamptz,             -- the hours before are merged
    days_until timestamptz,
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    claim bigint NOT NULL DEFAULT 0,     -- grows with each that claims it
    claimed_until timestamptz            -- null: by none
);
INSERT INTO tickwork.statistic_upkeep DEFAULT VALUES;

-- What rules fire, nodes count in memory. What is created in other ways (one-time jobs, manual runs, dependent jobs,
-- changes of jobs) notes its minute here, and what was fired in that minute is counted from the executions instead.
CREATE TABLE tickwork.fired_to_count (
    at timestamptz NOT NULL,             -- the minute
    tenant_id integer NOT NULL           -- several rows may say the same
);
CREATE INDEX fired_to_count_minute ON tickwork.fired_to_count (at, tenant_id);

-- Minutes to count again from the executions.
CREATE TABLE tickwork.statistic_recount (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL
);
CREATE INDEX statistic_recount_age ON tickwork.statistic_recount (at);

-- Minutes that were counted again, or are about to be. Nodes add nothing to them; they ask for another recount instead.
CREATE TABLE tickwork.statistic_recounted (
    at timestamptz PRIMARY KEY,
    is_counted boolean NOT NULL DEFAULT false  -- false while a node counts, or if one was killed then
);
CREATE INDEX statistic_recounted_open ON tickwork.statistic_recounted (at) WHERE NOT is_counted;

-- Hours that got more since they were merged.
CREATE TABLE tickwork.statistic_remerge (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT tickwork.clock()
);

-- An execution was created so long after its due time that its minute may have been counted.
CREATE FUNCTION tickwork.request_recount() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE minute timestamptz := date_trunc('minute', NEW.scheduled_for);
BEGIN
    IF current_setting('tickwork.recount_requested', true) = minute::text THEN
        RETURN NULL;  -- by this transaction: those that are late come in great numbers
    END IF;
    PERFORM set_config('tickwork.recount_requested', minute::text, true);
    -- A request that is there stays there until this transaction has ended, or else it makes another.
    PERFORM FROM tickwork.statistic_recount WHERE at = minute LIMIT 1 FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO tickwork.statistic_recount (at) VALUES (minute);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER request_recount AFTER INSERT ON tickwork.execution FOR EACH ROW
    WHEN (NEW.scheduled_for < tickwork.clock() - interval '30 seconds' AND NEW.trigger <> 'backfill')
    EXECUTE FUNCTION tickwork.request_recount();

-- A minute got more when its hour may have been merged.
CREATE FUNCTION tickwork.request_remerge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE hour timestamptz := date_trunc('hour', NEW.at, 'UTC');
BEGIN
    PERFORM FROM tickwork.statistic_remerge WHERE at = hour LIMIT 1 FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO tickwork.statistic_remerge (at) VALUES (hour);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER request_remerge AFTER INSERT ON tickwork.statistic FOR EACH ROW
    WHEN (NEW.span = 'minute' AND NOT NEW.is_sum AND NEW.at < tickwork.clock() - interval '1 hour')
    EXECUTE FUNCTION tickwork.request_remerge();


-- Search

-- Finding jobs. What a search needs is written behind the jobs, by one node at a time, so that creating a job writes no
-- index for each filter. docs/adr/0016-jobs-are-found-by-sets.md has the reasons.

-- How far the indexing has come. The row is the lock for indexing.
CREATE TABLE tickwork.job_index (
    indexed_to bigint NOT NULL DEFAULT 0,   -- jobs up to this id are indexed
    indexed_at timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',  -- jobs that were created before are
    -- A later id that will be indexed next, as soon as every transaction that had begun by then has ended: an id is
    -- taken before its job is committed, so a lower one may come later.
    marked_id bigint,
    marked_at timestamptz,                  -- when it was, by our clock
    marked_real_at timestamptz,             -- and by the clock that transactions begin by
    -- One-time jobs up to this place in the order of their due times were looked at: whether they have ended is known.
    settled_time timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',
    settled_job bigint NOT NULL DEFAULT 0,
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    CONSTRAINT mark_is_whole CHECK ((marked_id IS NULL) = (marked_at IS NULL)
        AND (marked_id IS NULL) = (marked_real_at IS NULL))
);
INSERT INTO tickwork.job_index DEFAULT VALUES;

-- The segments in which a tenant has indexed jobs: segment n holds the ids from n * 65536 on.
CREATE TABLE tickwork.job_segment (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    created bytea NOT NULL,       -- the first and the last created_at of every 1024 ids, as microseconds
    PRIMARY KEY (tenant_id, segment)
);

-- The jobs of a segment that have a term, such as a tag, a word of the name, the hour of a one-time job or the rule of
-- a recurring one. A term that many have is a row of its own with a bit for each id; its slot is negative. The others
-- share 1024 rows: each has six bytes for every job of every term that belongs there, four of them for the term and two
-- for the id. Terms are known by hashes: whoever finds a job here looks at the job itself. Rows are kept in one piece,
-- so that a search for a rare term reads one page of each segment.
CREATE TABLE tickwork.job_term (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    slot bigint NOT NULL,
    jobs bytea NOT NULL,
    PRIMARY KEY (tenant_id, segment, slot)
) WITH (fillfactor = 80, toast_tuple_target = 8160);

-- Jobs that were changed since they were indexed, as they were before, so that the index forgets that. A search looks
-- at each of them.
CREATE TABLE tickwork.job_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    lane_id integer NOT NULL,
    name text,
    key text,
    tags text[] NOT NULL,
    owner text,
    description text,
    rule_id bigint,
    scheduled_for timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX job_change_of_tenant ON tickwork.job_change (tenant_id, job_id);

-- Notes a job that is changed. Jobs also get another rule when a job that they depend on does, and another due time
-- when they are resumed too late.
CREATE FUNCTION tickwork.note_job_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.job_change
        (tenant_id, job_id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for)
    VALUES (OLD.tenant_id, OLD.id, OLD.lane_id, OLD.name, OLD.key, OLD.tags, OLD.owner, OLD.description, OLD.rule_id,
            OLD.scheduled_for);
    RETURN NULL;
END $$;
CREATE TRIGGER note_job_change AFTER UPDATE OF version, rule_id, scheduled_for ON tickwork.job FOR EACH ROW
    WHEN (OLD.version <> NEW.version OR OLD.rule_id IS DISTINCT FROM NEW.rule_id
          OR OLD.scheduled_for IS DISTINCT FROM NEW.scheduled_for)
    EXECUTE FUNCTION tickwork.note_job_change();

-- One-time jobs that had not ended when they were looked at after their due time.
CREATE TABLE tickwork.job_unended (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Finding executions. Those that are out of the ordinary have events, by which they are found; those that wait are
-- looked for lane by lane.

-- Jobs that were moved to another lane: their executions that waited went with them, and may have events of the old
-- one.
CREATE TABLE tickwork.moved_job (
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    moved_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, job_id)
);

CREATE FUNCTION tickwork.note_moved_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.moved_job (tenant_id, job_id) VALUES (NEW.tenant_id, NEW.id)
    ON CONFLICT (tenant_id, job_id) DO UPDATE SET moved_at = excluded.moved_at;
    RETURN NULL;
END $$;
CREATE TRIGGER note_moved_job AFTER UPDATE OF lane_id ON tickwork.job FOR EACH ROW
    WHEN (OLD.lane_id <> NEW.lane_id) EXECUTE FUNCTION tickwork.note_moved_job();

-- The partitions of executions that begin by a time and in which any waits: of each day or month that is over, nothing
-- does, and whoever looks for what waits need not go through it lane by lane.
CREATE FUNCTION tickwork.partitions_with_waiting(begun_by timestamptz)
RETURNS TABLE (begins timestamptz, ends timestamptz) LANGUAGE sql STABLE AS $$
    SELECT p.begins AT TIME ZONE 'UTC', p.ends AT TIME ZONE 'UTC'
    FROM (
        SELECT day AS begins,
            day + CASE WHEN length(label) = 6 THEN interval '1 month' ELSE interval '1 day' END AS ends
        FROM (
            SELECT label, to_date(rpad(label, 8, '01'), 'YYYYMMDD')::timestamp AS day FROM (
                SELECT substring(c.relname FROM '\d+$') AS label
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'tickwork.execution'::regclass
            ) named
        ) labelled
        OFFSET 0
    ) p
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution
        WHERE scheduled_for >= p.begins AT TIME ZONE 'UTC' AND scheduled_for < p.ends AT TIME ZONE 'UTC'
            AND ready_at IS NOT NULL
        ORDER BY lane_id, priority, ready_at LIMIT 1
    ) waiting
    WHERE p.begins AT TIME ZONE 'UTC' <= begun_by
$$;


-- Channels and notifications

-- Where notifications go. What a kind of channel needs is in `settings`; what nobody may read back is in `secret`.
CREATE TABLE tickwork.channel (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL REFERENCES tickwork.tenant,
    name text NOT NULL,
    kind text NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    secret bytea,                           -- JSON: the fields that hold secrets; null: there are none
    severity text NOT NULL DEFAULT 'info',  -- the least that it tells
    quiet jsonb,                            -- {"from", "to", "timezone", "except"}; null: no quiet hours
    digest text NOT NULL DEFAULT 'immediately',
    window_seconds double precision NOT NULL DEFAULT 300,  -- facts of one cause within it are told together
    rate integer NOT NULL DEFAULT 30,       -- messages a minute, at most
    paused boolean NOT NULL DEFAULT false,
    template jsonb,                         -- {"title", "body"}; null: the usual texts
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    changed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    UNIQUE (tenant_id, name),
    CONSTRAINT known_severity CHECK (severity IN ('info', 'warning', 'error')),
    CONSTRAINT known_digest CHECK (digest IN ('immediately', 'hourly', 'daily')),
    CONSTRAINT positive_rate CHECK (rate > 0)
);

-- Notifications: who is told of which events, through which channel. One node at a time reads the stream of events
-- after its place, gathers what is to be told by channel and cause, and moves its place in the same transaction: so
-- each event counts once, whoever dies. What is due becomes a message, and its delivery is a one-time job of the system
-- tenant.

-- Who is told of what, besides what jobs say themselves.
CREATE TABLE tickwork.notification_rule (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    tag text,                          -- only of jobs with this tag
    queue text,                        -- only of this queue; with neither: of the whole tenant
    kinds text[] NOT NULL CHECK (kinds <> '{}'),
    channels text[] NOT NULL CHECK (channels <> '{}'),  -- by name
    dead_letters_above integer,        -- how many are told of as too many
    stuck_after interval,              -- how long nothing of a queue must start
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    changed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, name),
    CONSTRAINT one_scope CHECK (tag IS NULL OR queue IS NULL)
);

-- What a rule has told of as too much: dead letters, or a queue that is stuck. It tells again after it was less.
CREATE TABLE tickwork.exceeded_limit (
    tenant_id integer NOT NULL,
    rule text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('dead_letters', 'queue_stuck')),
    queue text NOT NULL DEFAULT '',
    since timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, rule, kind, queue)
);

-- Which executions of a watched queue wait foremost in their lanes, and since when none of them has been started.
CREATE TABLE tickwork.watched_queue (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    foremost text[] NOT NULL,
    since timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, queue)
);

-- The number of the last event that was handled. Its row is the lock for notifying.
CREATE TABLE tickwork.notifier (
    place bigint NOT NULL,
    installation uuid NOT NULL DEFAULT gen_random_uuid(),  -- makes keys of incidents differ from those of others
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.notifier (place) VALUES (0);

-- What one delivery tells a channel. It is on its way until its delivery has ended.
CREATE TABLE tickwork.notification_message (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dedupe_id text NOT NULL,           -- by which a receiver knows it again
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    status text NOT NULL DEFAULT 'sending' CHECK (status IN ('sending', 'sent', 'failed')),
    job_id bigint NOT NULL,            -- its delivery
    content bytea NOT NULL,            -- JSON, to be sent again
    attempts integer NOT NULL DEFAULT 0,
    error text,                        -- of the last attempt that failed
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    ended_at timestamptz,
    CONSTRAINT ended_is_dated CHECK ((status = 'sending') = (ended_at IS NULL))
);
CREATE INDEX notification_message_of_channel ON tickwork.notification_message (channel_id, created_at);
CREATE INDEX notification_message_on_its_way ON tickwork.notification_message (job_id) WHERE status = 'sending';
CREATE INDEX notification_message_age ON tickwork.notification_message (ended_at);

-- Facts of one cause that a channel is told of together: the first, the last, and how many there were.
CREATE TABLE tickwork.notification (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    channel text NOT NULL,             -- its name: the log outlives the channel
    cause text NOT NULL,
    kind text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
    count bigint NOT NULL CHECK (count > 0),
    first bytea NOT NULL,              -- JSON: the first as an item of a message
    last bytea,                        -- likewise the last, if there are several
    incident_key text,                 -- for a channel that keeps incidents
    incident_action text CHECK (incident_action IN ('open', 'close')),
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sending', 'sent', 'failed')),
    reason text,                       -- why it failed without a message
    message_id bigint,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    due_at timestamptz NOT NULL,       -- when it is told
    CONSTRAINT waits_without_message CHECK (status <> 'waiting' OR message_id IS NULL),
    CONSTRAINT incident_is_whole CHECK ((incident_key IS NULL) = (incident_action IS NULL))
);
CREATE UNIQUE INDEX notification_waiting ON tickwork.notification (channel_id, cause) WHERE status = 'waiting';
CREATE INDEX notification_due ON tickwork.notification (channel_id, due_at) WHERE status = 'waiting';
CREATE INDEX notification_of_tenant ON tickwork.notification (tenant_id, id);
CREATE INDEX notification_of_message ON tickwork.notification (message_id) WHERE message_id IS NOT NULL;

-- What a channel was told of lately. More of the same cause is gathered until the window ends.
CREATE TABLE tickwork.notification_window (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    until timestamptz NOT NULL,
    length interval NOT NULL,
    PRIMARY KEY (channel_id, cause)
);

-- What is in trouble under an incident: a recurring job, a destination, a ping or a queue. The incident is closed when
-- nothing is any more.
CREATE TABLE tickwork.incident (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    subject text NOT NULL,
    PRIMARY KEY (channel_id, cause, subject)
);
CREATE INDEX incident_of_subject ON tickwork.incident (subject, channel_id);

-- Jobs that have recovered lately, as a channel was told: one that fails and recovers in turn is flapping.
CREATE TABLE tickwork.flapping_job (
    channel_id integer NOT NULL,
    job_id bigint NOT NULL,
    recoveries integer NOT NULL,       -- one soon after the other
    changed_at timestamptz NOT NULL,   -- when it failed or recovered last
    is_failing boolean NOT NULL,
    is_told boolean NOT NULL,          -- as flapping: what it does now is not told
    example bytea NOT NULL,            -- JSON: the last of its facts as an item of a message
    PRIMARY KEY (channel_id, job_id)
);
CREATE INDEX flapping_job_settled ON tickwork.flapping_job (changed_at);


-- Pings and heartbeats: what stays away. Pings are things that run elsewhere and report here, expected by a schedule
-- with a grace. The reverse: jobs that call a heartbeat URL after success, and a cluster that reports itself outside.

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


-- Purges

-- Jobs that are deleted with everything about them, a batch at a time. Rows of ended ones are kept as long as the
-- history, so that a repeated request is answered.
CREATE TABLE tickwork.purge (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    requested_by jsonb,
    before timestamptz NOT NULL DEFAULT 'infinity',  -- what was due from here on is gone
    removed jsonb NOT NULL DEFAULT '{}',             -- how many rows, by what they were
    ended_at timestamptz,
    swept boolean NOT NULL DEFAULT false,            -- it was looked at once more after its end
    left_archive_at timestamptz                      -- from then on the archive has nothing of the job
);
CREATE INDEX purge_under_way ON tickwork.purge (requested_at) WHERE NOT swept;
CREATE INDEX purge_age ON tickwork.purge (ended_at);
CREATE INDEX purge_in_archive ON tickwork.purge (requested_at) WHERE left_archive_at IS NULL;

-- Tenants that are deleted with everything that they have, likewise. The row outlives the tenant, whose name may be
-- given to another one.
CREATE TABLE tickwork.tenant_purge (
    tenant_id integer PRIMARY KEY CHECK (tenant_id > 0),
    name text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    requested_by jsonb,
    removed jsonb NOT NULL DEFAULT '{}',
    ended_at timestamptz,
    swept boolean NOT NULL DEFAULT false,
    left_archive_at timestamptz
);


-- Archive

-- The partitions that were archived, or are about to be: one day each, or a month. One at a time is taken out of the
-- partitioned tables, so that it no longer changes, then written, read back, and dropped. A day in which executions
-- ran again after that has another part, with the next number.
CREATE TABLE tickwork.archive_part (
    label text NOT NULL,                -- the day or month, as its partitions are called
    number integer NOT NULL CHECK (number > 0),
    begin_at timestamptz NOT NULL,
    end_at timestamptz NOT NULL,
    state text NOT NULL DEFAULT 'sealed' CHECK (state IN ('sealed', 'archived', 'dropped')),
    -- Files are never overwritten: who writes a part, or writes it again, does so as a new generation. The archive
    -- has the one that is noted here.
    generation integer NOT NULL DEFAULT 0,
    manifest jsonb,                     -- of that generation: its files with their rows, sizes and checksums
    sealed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    archived_at timestamptz,
    PRIMARY KEY (label, number),
    CONSTRAINT archived_has_manifest CHECK ((state = 'sealed') = (manifest IS NULL))
);
CREATE INDEX archive_part_end ON tickwork.archive_part (end_at);
CREATE UNIQUE INDEX archive_part_under_way ON tickwork.archive_part ((true)) WHERE state <> 'dropped';

-- Which node archives, and what was wrong when one last tried: one row at most.
CREATE TABLE tickwork.archive_duty (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    node_id text NOT NULL,
    until timestamptz NOT NULL,         -- a node that says nothing until then has lost it
    problem text,
    problem_since timestamptz
);

-- The tables of the part that is under way. They are empty themselves and have what was taken out as children.
CREATE TABLE tickwork.sealed_execution (LIKE tickwork.execution, PRIMARY KEY (tenant_id, scheduled_for, job_id));
CREATE TABLE tickwork.sealed_attempt (LIKE tickwork.attempt, PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt));
CREATE TABLE tickwork.sealed_log (
    LIKE tickwork.log, PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt, first_line));
CREATE TABLE tickwork.sealed_checkpoint (
    LIKE tickwork.checkpoint, PRIMARY KEY (tenant_id, scheduled_for, job_id, step));

-- Executions that somebody brought back from the archive to look at them. They are answers, as the API gave them: apart
-- from executions, so that nothing fires, retries or counts them.
CREATE TABLE tickwork.restored_execution (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    until timestamptz NOT NULL,         -- deleted then
    execution bytea NOT NULL,           -- JSON, as are the others
    attempts bytea NOT NULL,
    input bytea NOT NULL,               -- of the last attempt
    log bytea NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
);
CREATE INDEX restored_execution_of_job ON tickwork.restored_execution (tenant_id, job_id);
CREATE INDEX restored_execution_age ON tickwork.restored_execution (until);


-- Retention: who keeps less of the history than the installation does. One node at a time looks at the jobs that this
-- concerns, aside of all else. A job that it does not concern has no row in any of these tables.

-- Of jobs: how long their executions are kept after their end, and how many at most.
CREATE TABLE tickwork.job_retention (
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    age interval,
    last integer CHECK (last > 0),
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT says_something CHECK (age IS NOT NULL OR last IS NOT NULL)
);

-- Of queues and tenants, for each of their jobs that says nothing itself.
CREATE TABLE tickwork.default_retention (
    tenant_id integer NOT NULL,
    queue text NOT NULL,           -- empty: of the tenant, for queues that say nothing themselves
    age interval,
    last integer CHECK (last > 0),
    PRIMARY KEY (tenant_id, queue),
    CONSTRAINT says_something CHECK (age IS NOT NULL OR last IS NOT NULL)
);

-- How far the rounds of recurring jobs were gone through, from the oldest on: what was due before is deleted, but for
-- what had to stay then and is looked at again.
CREATE TABLE tickwork.retention_mark (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    looked_until timestamptz NOT NULL,
    kept timestamptz[] NOT NULL
);

-- The job that was looked at last. The row is the lock for taking the next ones.
CREATE TABLE tickwork.retention_pass (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    tenant_id integer NOT NULL DEFAULT 0,
    job_id bigint NOT NULL DEFAULT 0,
    begins_at timestamptz NOT NULL DEFAULT '-infinity'  -- not to be gone on with before
);
INSERT INTO tickwork.retention_pass DEFAULT VALUES;


-- Nodes and the cluster

-- Server nodes, for people to see: nodes do not know each other. One row for each node, written by itself every few
-- seconds, and deleted when it stops. A node that fires nothing is told of once by the others, and again when it is
-- back.
--
-- With asynchronous replication, a failover of the database can lose the last commits, although nodes and clients had
-- their answers. Each node therefore marks its commits: it writes a number into its own row every second. After a
-- failover it looks for the last number that it knows to be committed. What may be lost must not happen twice under the
-- same name: ids that may have been given out are skipped, and attempts go on with higher numbers.
CREATE TABLE tickwork.node (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    schema_version integer NOT NULL,    -- the newest migration that its version knows
    address text,                       -- host and port where it answers; null: it answers nowhere
    started_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    seen_at timestamptz NOT NULL,
    clock_skew float8 NOT NULL,         -- seconds by which its clock is ahead of the database's
    database_latency float8 NOT NULL,   -- seconds for a small query
    problems text[] NOT NULL,           -- what /readyz says of it; empty: it is well
    fired_at timestamptz,               -- when its loop that fires last worked
    told_silent boolean NOT NULL DEFAULT false,
    commit_mark bigint,                 -- its last mark
    marked_at timestamptz,
    wal_timeline integer,               -- where in the WAL of the database that was written
    wal_position bigint                 -- bytes since the beginning
);

-- One row for each history of WAL that nodes have met: the first one, and one for each failover or restore since.
CREATE TABLE tickwork.failover (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_id text NOT NULL,             -- which PostgreSQL cluster
    wal_timeline integer NOT NULL,       -- its timeline: promotion begins a new one
    noticed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    loss text NOT NULL CHECK (loss IN ('none', 'possible', 'certain')),
    lost_after timestamptz,              -- the last commit that is known to be there; null: not known
    due_until timestamptz NOT NULL,      -- executions due until then get attempts from first_attempt on
    first_attempt integer NOT NULL CHECK (first_attempt > 0),
    first_lease bigint NOT NULL          -- leases before it were written before
);

-- Skips ids that lost commits may have given out: no id ever means two things. So many of 64 bits and of 32 bits, but
-- at most a sixteenth of those that are left. A promoted server has nothing of the pulse, and would lack its sequence,
-- too, if that was not logged.
CREATE FUNCTION tickwork.skip_ids(ids bigint, small_ids bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    each record;
    last bigint;
BEGIN
    FOR each IN
        SELECT c.oid::regclass AS sequence, s.seqmax AS most,
            CASE s.seqtypid WHEN 'bigint'::regtype THEN ids ELSE small_ids END AS skipped
        FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
        WHERE c.relnamespace = 'tickwork'::regnamespace AND c.relpersistence = 'p'
    LOOP
        last := nextval(each.sequence);
        PERFORM setval(each.sequence, last + least(each.skipped, (each.most - last) / 16));
    END LOOP;
    UPDATE tickwork.last_event SET number = number + ids;
    BEGIN
        PERFORM setval('tickwork.pulse_id_seq', (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    EXCEPTION WHEN internal_error THEN
        ALTER TABLE tickwork.pulse ALTER id DROP IDENTITY;
        ALTER TABLE tickwork.pulse ALTER id ADD GENERATED ALWAYS AS IDENTITY;
    END;
END $$;

-- What all nodes have in common: one row. A backup contains it, so a restored database knows how far its data reach.
-- While the cluster is paused, everything can be looked at and changed, but nothing fires and nothing is handed over.
CREATE TABLE tickwork.cluster (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    alive_at timestamptz,       -- when a node last reported itself, or stopped
    paused_at timestamptz,      -- null: the cluster works
    paused_by text,
    pause_reason text,
    restored_at timestamptz,    -- when this database was prepared after it had been restored or promoted
    restored_until timestamptz, -- up to when it had data then
    backed_up_at timestamptz,   -- when `tickwork db backup` last copied it
    CONSTRAINT pause_has_an_author CHECK ((paused_at IS NULL) = (paused_by IS NULL)),
    CONSTRAINT restored_has_an_end CHECK ((restored_at IS NULL) = (restored_until IS NULL))
) WITH (fillfactor = 50);
INSERT INTO tickwork.cluster DEFAULT VALUES;


-- Views: the part of the schema that users may read. Each execution is looked up by key; OFFSET 0 keeps it so also on a
-- day that has no statistics yet, when reading all of it seems to cost as little.

-- A job as users see it. A one-time job has the status of its execution, so that ending an execution costs no second
-- write. A deferred job whose branch was not taken is skipped before it has an execution. The next run of a job that
-- waits for parents is not known.
CREATE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.finished_at IS NOT NULL THEN e.status::text
         WHEN j.status = 'active' AND j.reason_to_skip IS NOT NULL THEN 'skipped'
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND history.is_gone THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR j.reason_to_skip IS NOT NULL OR history.is_gone THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at,
    j.description, j.owner
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

-- An execution as users see it. One that a worker was given ahead of its due time is still pending. A fan-out whose
-- queue has no capacity for its elements waits for a limit.
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
         WHEN e.reason IS NOT NULL AND l.placement LIKE '%"fans_out":true%' THEN 'limit'
         WHEN e.ready_at > tickwork.clock() AND e.attempt > 1 THEN 'retry'
         WHEN e.ready_at > tickwork.clock() OR e.scheduled_for > tickwork.clock() THEN 'due'
         WHEN e.ready_at IS NOT NULL THEN 'worker'
         WHEN e.worker_id = 0 THEN 'callback' END AS waiting_for,
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
