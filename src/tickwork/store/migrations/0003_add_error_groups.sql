-- Failures grouped by their cause.

-- One row for each cause, added to when events are numbered: one node does so at a time, so nobody waits for the row.
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

ALTER TABLE tickwork.dead_letter ADD COLUMN fingerprint bigint;
CREATE INDEX dead_letter_of_cause ON tickwork.dead_letter (tenant_id, fingerprint, failed_at, scheduled_for, job_id)
    WHERE fingerprint IS NOT NULL;
