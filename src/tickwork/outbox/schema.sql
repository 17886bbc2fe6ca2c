-- Tickwork's tables in your database. Safe to apply again, and by several at once.
SELECT pg_advisory_xact_lock(1952805748);

CREATE SCHEMA IF NOT EXISTS tickwork_outbox;

CREATE TABLE IF NOT EXISTS tickwork_outbox.version (
    number integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- An execution whose effect is committed: the row and the effect are one transaction.
CREATE TABLE IF NOT EXISTS tickwork_outbox.done (
    execution_id text PRIMARY KEY,
    result json,
    done_at timestamptz NOT NULL DEFAULT now()
);

-- What the relay sends in one request, and again under the same id until it has an answer.
CREATE TABLE IF NOT EXISTS tickwork_outbox.batch (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    begun_at timestamptz NOT NULL DEFAULT now()
);

-- A job to be created once the transaction that wrote it is committed.
CREATE TABLE IF NOT EXISTS tickwork_outbox.job (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    request json NOT NULL CHECK (json_typeof(request) = 'object' AND octet_length(request::text) <= 1048576),
    key text GENERATED ALWAYS AS (request ->> 'key') STORED,
    written_at timestamptz NOT NULL DEFAULT now(),
    batch bigint REFERENCES tickwork_outbox.batch,
    refused_at timestamptz,
    error text,
    CHECK ((refused_at IS NULL) = (error IS NULL)),
    CHECK (refused_at IS NULL OR batch IS NULL)
);

CREATE INDEX IF NOT EXISTS job_waiting ON tickwork_outbox.job (position)
    WHERE batch IS NULL AND refused_at IS NULL;
CREATE INDEX IF NOT EXISTS job_batch ON tickwork_outbox.job (batch, position) WHERE batch IS NOT NULL;
CREATE INDEX IF NOT EXISTS job_key ON tickwork_outbox.job (key, position)
    WHERE key IS NOT NULL AND refused_at IS NULL;

CREATE OR REPLACE FUNCTION tickwork_outbox.wake_relay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY tickwork_outbox;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER job_written AFTER INSERT ON tickwork_outbox.job
    FOR EACH STATEMENT EXECUTE FUNCTION tickwork_outbox.wake_relay();

INSERT INTO tickwork_outbox.version (number) VALUES (1) ON CONFLICT DO NOTHING;
