-- Who goes first, how many at once, and where: terms of lanes, gates and their slots, resources of workers.

-- What a job asks for beyond its queue and its task: resources and labels, limits by key, its fair share. As JSON, and
-- a part of the lane, so that executions carry none of it and those who ask for nothing pay nothing.
ALTER TABLE tickwork.lane ADD COLUMN terms text NOT NULL DEFAULT '';
ALTER TABLE tickwork.lane DROP CONSTRAINT lane_tenant_id_queue_task_key;
ALTER TABLE tickwork.lane ADD UNIQUE (tenant_id, queue, task, terms);

-- A thing that is limited: a queue, with its settings, or a key that jobs name, for which each of them says how much.
-- Its row is the lock for handing out under it.
CREATE TABLE tickwork.gate (
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
    CHECK (kind = 'queue' OR NOT paused AND max_running IS NULL AND rate IS NULL AND max_backlog IS NULL)
) WITH (fillfactor = 50);

-- Which part of a lease counts under a gate: as long as the lease is there, and of it what is still running. A slot is
-- nothing of its own that could be forgotten when a worker dies.
CREATE TABLE tickwork.slot (
    gate_id integer NOT NULL,
    lease_id bigint NOT NULL,
    first integer NOT NULL,  -- subscripts of the lease's arrays
    last integer NOT NULL CHECK (last >= first),
    PRIMARY KEY (gate_id, lease_id, first)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

ALTER TABLE tickwork.worker ADD COLUMN resources jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN weights jsonb NOT NULL DEFAULT '{}';  -- of its queues
