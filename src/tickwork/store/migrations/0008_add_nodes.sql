-- Server nodes, for people to see. Nothing is decided by these rows: nodes do not know each other.

-- One row for each node, written by itself every few seconds, and deleted when it stops.
CREATE TABLE tickwork.node (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    address text,                       -- host and port where it answers; NULL: it answers nowhere
    started_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    seen_at timestamptz NOT NULL,
    clock_skew float8 NOT NULL,         -- seconds by which its clock is ahead of the database's
    database_latency float8 NOT NULL,   -- seconds for a small query
    problems text[] NOT NULL            -- what /readyz says of it; empty: it is well
);
