-- Jobs are found by when they are due: the hour of a one-time job and the rule of a recurring one are terms of their
-- index.

-- As they were before the change, so that the index forgets them.
ALTER TABLE tickwork.job_change ADD COLUMN rule_id bigint;
ALTER TABLE tickwork.job_change ADD COLUMN scheduled_for timestamptz;

CREATE OR REPLACE FUNCTION tickwork.note_job_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.job_change
        (tenant_id, job_id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for)
    VALUES (OLD.tenant_id, OLD.id, OLD.lane_id, OLD.name, OLD.key, OLD.tags, OLD.owner, OLD.description, OLD.rule_id,
            OLD.scheduled_for);
    RETURN NULL;
END $$;

-- Jobs also get another rule when a job that they depend on does, and another due time when they are resumed too late.
DROP TRIGGER note_job_change ON tickwork.job;
CREATE TRIGGER note_job_change AFTER UPDATE OF version, rule_id, scheduled_for ON tickwork.job FOR EACH ROW
    WHEN (OLD.version <> NEW.version OR OLD.rule_id IS DISTINCT FROM NEW.rule_id
          OR OLD.scheduled_for IS DISTINCT FROM NEW.scheduled_for)
    EXECUTE FUNCTION tickwork.note_job_change();

-- Terms that few jobs have share 1024 rows of a segment instead of 256, and these rows are kept in one piece: a search
-- for a rare term reads one page of each segment. The index is filled again from the first job on.
ALTER TABLE tickwork.job_term SET (toast_tuple_target = 8160);
TRUNCATE tickwork.job_term, tickwork.job_segment, tickwork.job_unended;
UPDATE tickwork.job_index
SET indexed_to = 0, indexed_at = '0001-01-01 00:00:00+00', settled_time = '0001-01-01 00:00:00+00', settled_job = 0,
    marked_id = NULL, marked_at = NULL, marked_real_at = NULL;
