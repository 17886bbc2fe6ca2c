-- Attempts of HTTP jobs that their targets finish later.

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

-- An execution as users see it. One that a worker was given ahead of its due time is still pending.
CREATE OR REPLACE VIEW tickwork.execution_view AS
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
