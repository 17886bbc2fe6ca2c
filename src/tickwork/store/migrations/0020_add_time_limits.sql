-- Time limits that hold whatever a worker does. A lease knows when it was given, and, if it lasts, when a node is to
-- look at it next: when the first of its attempts may have run too long. Most leases are over before the first look.
ALTER TABLE tickwork.lease
    ADD COLUMN leased_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    ADD COLUMN check_at timestamptz;

-- Of an attempt that a node has ended, no report is awaited: its execution goes on without that worker.
ALTER TABLE tickwork.revocation ADD COLUMN needs_report boolean NOT NULL DEFAULT true;

-- After how many seconds of running the job's executions are slow. Null: after the time that counts for all.
ALTER TABLE tickwork.job ADD COLUMN warn_after real;
