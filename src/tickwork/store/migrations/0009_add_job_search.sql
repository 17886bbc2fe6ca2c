-- Finding jobs. What a search needs is written behind the jobs, by one node at a time, so that creating a job writes no
-- index for each filter. docs/adr/0016-jobs-are-found-by-sets.md has the reasons.

-- What a job is for, and who looks after it.
ALTER TABLE tickwork.job ADD COLUMN description text;
ALTER TABLE tickwork.job ADD COLUMN owner text;

-- How far the indexing has come. The row is the lock for indexing.
CREATE TABLE tickwork.job_index (
    indexed_to bigint NOT NULL DEFAULT 0,   -- jobs up to this id are indexed
    indexed_at timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',  -- jobs that were created before are
    -- A later id that will be indexed next, as soon as every transaction that had begun by then has ended: an id is
    -- taken before its job is committed, so a lower one may come later.
    marked_id bigint,
    marked_at timestamptz,                  -- when it was, by our clock
    marked_real_at timestamptz,             -- and by the clock that transactions begin by
    -- One-time jobs up to this place in the order of their due times were looked at: whether they have ended is known.
    settled_time timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',
    settled_job bigint NOT NULL DEFAULT 0,
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    CONSTRAINT mark_is_whole CHECK ((marked_id IS NULL) = (marked_at IS NULL)
        AND (marked_id IS NULL) = (marked_real_at IS NULL))
);
INSERT INTO tickwork.job_index DEFAULT VALUES;

-- The segments in which a tenant has indexed jobs: segment n holds the ids from n * 65536 on.
CREATE TABLE tickwork.job_segment (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    created bytea NOT NULL,       -- the first and the last created_at of every 1024 ids, as microseconds
    PRIMARY KEY (tenant_id, segment)
);

-- The jobs of a segment that have a term, such as a tag or a word of the name. A term that many have is a row of its
-- own with a bit for each id; its slot is negative. The others share 256 rows: each has six bytes for every job of
-- every term that belongs there, four of them for the term and two for the id. Terms are known by hashes: whoever finds
-- a job here looks at the job itself.
CREATE TABLE tickwork.job_term (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    slot bigint NOT NULL,
    jobs bytea NOT NULL,
    PRIMARY KEY (tenant_id, segment, slot)
) WITH (fillfactor = 80);

-- Jobs that were changed since they were indexed, as they were before. A search looks at each of them.
CREATE TABLE tickwork.job_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    lane_id integer NOT NULL,
    name text,
    key text,
    tags text[] NOT NULL,
    owner text,
    description text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX job_change_of_tenant ON tickwork.job_change (tenant_id, job_id);

-- One-time jobs that had not ended when they were looked at after their due time.
CREATE TABLE tickwork.job_unended (
    tenant_id integer NOT NULL,
    scheduled_for timestamptz NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, scheduled_for, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE FUNCTION tickwork.note_job_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.job_change (tenant_id, job_id, lane_id, name, key, tags, owner, description)
    VALUES (OLD.tenant_id, OLD.id, OLD.lane_id, OLD.name, OLD.key, OLD.tags, OLD.owner, OLD.description);
    RETURN NULL;
END $$;
CREATE TRIGGER note_job_change AFTER UPDATE OF version ON tickwork.job FOR EACH ROW
    WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION tickwork.note_job_change();

-- Recurring jobs that have ended: their rule has no due time left, or they have used up their runs.
CREATE INDEX rule_ended ON tickwork.rule (tenant_id, id) WHERE next_at IS NULL;
CREATE INDEX job_with_last_run ON tickwork.job (tenant_id, active_until) WHERE active_until IS NOT NULL;

-- As before, with the description and the owner.
CREATE OR REPLACE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.status IN ('completed', 'failed', 'cancelled') THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND history.is_gone THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR history.is_gone THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at,
    j.description, j.owner
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT status, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE j.rule_id IS NULL AND tenant_id = j.tenant_id AND scheduled_for = j.scheduled_for AND job_id = j.id
    OFFSET 0
) e ON true
CROSS JOIN LATERAL (
    -- The execution of a one-time job was dropped with its partition.
    SELECT j.rule_id IS NULL AND e.status IS NULL AND NOT j.deferred AS is_gone
) history;
