-- Backfills: due times of the past that are run now, at a pace.

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
    CHECK (begin_at <= end_at),
    CHECK (made BETWEEN 0 AND cardinality(times)),
    CHECK (cardinality(active) <= max_active),
    CHECK (status <> 'running' OR ended_at IS NULL),
    CHECK (status <> 'completed' OR ended_at IS NOT NULL),
    CHECK (ended_at IS NULL OR cardinality(active) = 0)
);
CREATE INDEX backfill_under_way ON tickwork.backfill (id) WHERE ended_at IS NULL;
CREATE INDEX backfill_of_job ON tickwork.backfill (tenant_id, job_id, id);
CREATE INDEX backfill_age ON tickwork.backfill (ended_at);

-- The backfill that made an execution; null: run by hand, or moved.
ALTER TABLE tickwork.extra ADD COLUMN backfill_id bigint;
CREATE INDEX extra_by_hand ON tickwork.extra (job_id, scheduled_for) WHERE backfill_id IS NULL;
