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
    'execution',  -- counted from executions: what was fired, and minutes that are counted again
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

-- How far upkeep has come. The row is the lock for it.
CREATE TABLE tickwork.statistic_upkeep (
    fired_until timestamptz,             -- fired executions are counted for the minutes before; null: not begun
    hours_until timestamptz,             -- the hours before are merged
    days_until timestamptz,
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.statistic_upkeep DEFAULT VALUES;

-- Minutes to count again from the executions.
CREATE TABLE tickwork.statistic_recount (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL
);
CREATE INDEX statistic_recount_age ON tickwork.statistic_recount (at);

-- Minutes that were counted again, or are about to be. Nodes add nothing to them; they ask for another recount instead.
CREATE TABLE tickwork.statistic_recounted (
    at timestamptz PRIMARY KEY
);

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
