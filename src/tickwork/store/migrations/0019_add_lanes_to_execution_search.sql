-- Executions are found by task and queue together with what is out of the ordinary, and by what they wait for.

-- The partitions of executions that begin by a time and in which any waits: of each day or month that is over, nothing
-- does, and whoever looks for what waits need not go through it lane by lane.
CREATE FUNCTION tickwork.partitions_with_waiting(begun_by timestamptz)
RETURNS TABLE (begins timestamptz, ends timestamptz) LANGUAGE sql STABLE AS $$
    SELECT p.begins AT TIME ZONE 'UTC', p.ends AT TIME ZONE 'UTC'
    FROM (
        SELECT day AS begins,
            day + CASE WHEN length(label) = 6 THEN interval '1 month' ELSE interval '1 day' END AS ends
        FROM (
            SELECT label, to_date(rpad(label, 8, '01'), 'YYYYMMDD')::timestamp AS day FROM (
                SELECT substring(c.relname FROM '\d+$') AS label
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'tickwork.execution'::regclass
            ) named
        ) labelled
        OFFSET 0
    ) p
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution
        WHERE scheduled_for >= p.begins AT TIME ZONE 'UTC' AND scheduled_for < p.ends AT TIME ZONE 'UTC'
            AND ready_at IS NOT NULL
        ORDER BY lane_id, priority, ready_at LIMIT 1
    ) waiting
    WHERE p.begins AT TIME ZONE 'UTC' <= begun_by
$$;

-- Jobs that were moved to another lane: their executions that waited went with them, and may have events of the old
-- one.
CREATE TABLE tickwork.moved_job (
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    moved_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, job_id)
);
INSERT INTO tickwork.moved_job (tenant_id, job_id)
SELECT DISTINCT tenant_id, job_id FROM tickwork.event WHERE kind = 'job.changed' AND job_id IS NOT NULL;

CREATE FUNCTION tickwork.note_moved_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.moved_job (tenant_id, job_id) VALUES (NEW.tenant_id, NEW.id)
    ON CONFLICT (tenant_id, job_id) DO UPDATE SET moved_at = excluded.moved_at;
    RETURN NULL;
END $$;
CREATE TRIGGER note_moved_job AFTER UPDATE OF lane_id ON tickwork.job FOR EACH ROW
    WHEN (OLD.lane_id <> NEW.lane_id) EXECUTE FUNCTION tickwork.note_moved_job();

-- Events of other lanes are passed over in the index.
DROP INDEX tickwork.event_of_kind;
CREATE INDEX event_of_kind ON tickwork.event (tenant_id, kind, scheduled_for, job_id) INCLUDE (lane_id)
    WHERE scheduled_for IS NOT NULL;
DROP INDEX tickwork.event_of_error;
CREATE INDEX event_of_error ON tickwork.event (tenant_id, error_type, scheduled_for, job_id) INCLUDE (lane_id)
    WHERE error_type IS NOT NULL AND scheduled_for IS NOT NULL;
