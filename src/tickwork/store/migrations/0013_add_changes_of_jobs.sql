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
