-- Who created a job, and who changed what of it. A change is an event; the transaction that makes it says who does, and
-- which fields change, in the setting tickwork.job_change. A statement that says nothing changes a job on its own.

ALTER TABLE tickwork.job ADD COLUMN created_by integer;  -- the API key

-- The changes of a job among all events: those of its executions can be many.
CREATE INDEX event_of_definition ON tickwork.event (job_id, number) WHERE kind LIKE 'job.%';

CREATE OR REPLACE FUNCTION tickwork.write_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE change jsonb := nullif(current_setting('tickwork.job_change', true), '')::jsonb;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN OLD.status = NEW.status THEN 'job.changed'
                 WHEN NEW.status = 'active' THEN 'job.resumed'
                 ELSE 'job.' || NEW.status END,
            NEW.id, NEW.lane_id,
            (jsonb_build_object('version', NEW.version)
             || CASE WHEN change ->> 'job' = NEW.id::text THEN change - 'job' ELSE '{}' END)::text);
    RETURN NULL;
END $$;

-- When a job was due in a range, the latest times first: in the rounds of its rules, present and past, without those
-- that were missed; in the round that is being fired; in its off-schedule executions; and once, if it is a one-time
-- job. Not all have an execution of the job: a rule goes on while one of its jobs is paused.
CREATE FUNCTION tickwork.due_times_of_job(
    tenant integer, job bigint, since timestamptz, before timestamptz, at_most bigint
) RETURNS TABLE (at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT t.scheduled_for
    FROM tickwork.job j
    CROSS JOIN LATERAL (
        (SELECT r.scheduled_for
         FROM (SELECT j.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = j.id) belonged
         CROSS JOIN LATERAL (
             SELECT scheduled_for FROM tickwork.round
             WHERE rule_id = belonged.rule_id AND missed = 0
                 AND scheduled_for >= greatest(since, j.created_at) AND scheduled_for < before
             ORDER BY scheduled_for DESC LIMIT at_most
         ) r)
        UNION ALL
        SELECT next_at FROM tickwork.rule
        WHERE id = j.rule_id AND cursor_job IS NOT NULL AND next_at >= since AND next_at < before
        UNION ALL
        (SELECT scheduled_for FROM tickwork.off_schedule_execution
         WHERE job_id = j.id AND scheduled_for >= since AND scheduled_for < before
         ORDER BY scheduled_for DESC LIMIT at_most)
        UNION ALL
        SELECT j.scheduled_for WHERE j.scheduled_for >= since AND j.scheduled_for < before
    ) t
    WHERE j.tenant_id = tenant AND j.id = job
    ORDER BY t.scheduled_for DESC
    LIMIT at_most
$$;
