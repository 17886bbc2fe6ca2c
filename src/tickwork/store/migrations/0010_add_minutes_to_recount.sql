-- What rules fire, nodes count in memory. What is created in other ways (one-time jobs, manual runs, dependent jobs,
-- changes of jobs) notes its minute here, and what was fired in that minute is counted from the executions instead.
CREATE TABLE tickwork.fired_to_count (
    at timestamptz NOT NULL,             -- the minute
    tenant_id integer NOT NULL           -- several rows may say the same
);
CREATE INDEX fired_to_count_minute ON tickwork.fired_to_count (at, tenant_id);

-- One node at a time counts from the executions, in many small transactions.
ALTER TABLE tickwork.statistic_upkeep
    ADD COLUMN claim bigint NOT NULL DEFAULT 0,  -- grows with each that claims it
    ADD COLUMN claimed_until timestamptz;        -- null: by none
ALTER TABLE tickwork.statistic_recounted
    ADD COLUMN is_counted boolean NOT NULL DEFAULT true;  -- false while a node counts, or if one was killed then
ALTER TABLE tickwork.statistic_recounted ALTER COLUMN is_counted SET DEFAULT false;
CREATE INDEX statistic_recounted_open ON tickwork.statistic_recounted (at) WHERE NOT is_counted;
