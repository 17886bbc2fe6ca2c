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
CREATE INDEX event_of_kind ON tickwork.event (tenant_id, kind, scheduled_for, job_id) WHERE scheduled_for IS NOT NULL;
CREATE INDEX event_of_cause ON tickwork.event (tenant_id, fingerprint, number) WHERE fingerprint IS NOT NULL;

-- The number that was given last. Its row is the lock for numbering.
CREATE TABLE tickwork.last_event (
    number bigint NOT NULL,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.last_event (number) VALUES (0);

-- An execution was skipped or cancelled, by whichever statement. Failures are written by the statement that keeps dead
-- letters, which knows the error.
CREATE FUNCTION tickwork.write_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
    VALUES (NEW.tenant_id, 'execution.' || NEW.status, NEW.job_id, NEW.scheduled_for, NEW.lane_id, NEW.attempt,
            json_build_object('reason', NEW.reason)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new AFTER INSERT ON tickwork.execution FOR EACH ROW
    WHEN (NEW.status = 'skipped') EXECUTE FUNCTION tickwork.write_event();
CREATE TRIGGER write_event AFTER UPDATE OF status ON tickwork.execution FOR EACH ROW
    WHEN (NEW.status IN ('skipped', 'cancelled') AND OLD.status <> NEW.status) EXECUTE FUNCTION tickwork.write_event();

-- Recurring jobs whose last execution failed for good. A job that is well has no row.
CREATE TABLE tickwork.failing_job (
    job_id bigint PRIMARY KEY,
    tenant_id integer NOT NULL,
    failures_in_a_row integer NOT NULL,
    failing_since timestamptz NOT NULL,
    last_failed_at timestamptz NOT NULL
);
CREATE INDEX failing_job_of_tenant ON tickwork.failing_job (tenant_id, job_id);

-- The pulse: the starts and ends of executions, passed from the node that records them to those on which somebody
-- follows. Written only while somebody does, and lost without harm.
CREATE UNLOGGED TABLE tickwork.pulse (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    at timestamptz NOT NULL DEFAULT tickwork.clock(),
    events bytea NOT NULL          -- JSON
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE UNLOGGED TABLE tickwork.pulse_wanted (
    tenant_id integer PRIMARY KEY,
    until timestamptz NOT NULL
);

-- Changes of jobs, queues, workers, circuit breakers and API keys, by whichever statement. None of these columns is
-- written by firing, claiming or completing.
CREATE FUNCTION tickwork.write_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN OLD.status = NEW.status THEN 'job.changed'
                 WHEN NEW.status = 'active' THEN 'job.resumed'
                 ELSE 'job.' || NEW.status END,
            NEW.id, NEW.lane_id, json_build_object('version', NEW.version)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_job_event AFTER UPDATE OF version ON tickwork.job FOR EACH ROW
    WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION tickwork.write_job_event();

CREATE FUNCTION tickwork.write_queue_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE was_paused boolean := TG_OP = 'UPDATE' AND OLD.paused;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN NEW.paused AND NOT was_paused THEN 'queue.paused'
                 WHEN was_paused AND NOT NEW.paused THEN 'queue.resumed'
                 ELSE 'queue.changed' END,
            json_build_object('queue', NEW.name, 'max_running', NEW.max_running, 'rate', NEW.rate,
                              'max_backlog', NEW.max_backlog)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_event_of_new_queue AFTER INSERT ON tickwork.limiter FOR EACH ROW
    WHEN (NEW.kind = 'queue') EXECUTE FUNCTION tickwork.write_queue_event();
CREATE TRIGGER write_queue_event AFTER UPDATE OF paused, max_running, rate, max_backlog ON tickwork.limiter
    FOR EACH ROW WHEN (NEW.kind = 'queue' AND (OLD.paused, OLD.max_running, OLD.rate, OLD.max_backlog)
          IS DISTINCT FROM (NEW.paused, NEW.max_running, NEW.rate, NEW.max_backlog))
    EXECUTE FUNCTION tickwork.write_queue_event();

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
