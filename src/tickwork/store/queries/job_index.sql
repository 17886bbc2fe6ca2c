-- How to read these queries: README.md

-- snippet: last_id
-- The last id that was taken. A sequence that was never used says 1, too.
    (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM tickwork.job_id)

-- name: lock_index
-- Lets one node at a time write the index, and says how far it has come.
SELECT i.*, tickwork.clock() AS now
FROM tickwork.job_index i
FOR UPDATE SKIP LOCKED;

-- name: is_anything_to_index
-- Whether there are enough new or changed jobs, or the last look was long ago.
SELECT i.marked_id IS NOT NULL
    OR
    -- include: last_id
    >= i.indexed_to + $1
    OR i.indexed_at < tickwork.clock() - $2::interval
    OR EXISTS (SELECT FROM tickwork.job_change ORDER BY id OFFSET $3 LIMIT 1) AS is_any
FROM tickwork.job_index i;

-- name: set_mark
-- Notes the last id that was taken so far: it is indexed when what runs now has ended.
UPDATE tickwork.job_index
SET marked_at = tickwork.clock(), marked_real_at = clock_timestamp(), marked_id =
    -- include: last_id
;

-- name: is_mark_safe
-- Whether every transaction of ours that had begun when the mark was set has ended. After ten minutes none can be left.
SELECT marked_real_at < clock_timestamp() - interval '10 minutes' OR NOT EXISTS (
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'tickwork' AND xact_start <= marked_real_at
            AND pid <> pg_backend_pid()
    ) AS is_safe
FROM tickwork.job_index;

-- name: set_indexed
-- Says how far the index has come. At the mark, all jobs that were created before it are indexed.
UPDATE tickwork.job_index
SET indexed_to = $1,
    indexed_at = CASE WHEN $1 >= marked_id THEN marked_at ELSE indexed_at END,
    marked_at = CASE WHEN $1 >= marked_id THEN NULL ELSE marked_at END,
    marked_real_at = CASE WHEN $1 >= marked_id THEN NULL ELSE marked_real_at END,
    marked_id = CASE WHEN $1 >= marked_id THEN NULL ELSE marked_id END;

-- name: jobs_to_index
-- The jobs in a range of ids: those that are found by the same terms together.
SELECT g.*, l.queue, l.task FROM (
    SELECT tenant_id, lane_id, priority, rule_id IS NULL AS once, status::text AS status, name, key, tags, owner,
        description, array_agg((id & 65535)::int) AS places
    FROM tickwork.job WHERE id > $1 AND id <= $2
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
) g
JOIN tickwork.lane l ON l.id = g.lane_id;

-- name: due_times_to_index
-- The jobs in a range of ids: those of one rule together, and one-time jobs that are due in one hour.
SELECT tenant_id, rule_id, floor(extract(epoch FROM scheduled_for) / 3600)::bigint AS hour,
    array_agg((id & 65535)::int) AS places
FROM tickwork.job WHERE id > $1 AND id <= $2
GROUP BY 1, 2, 3;

-- name: creation_times
-- When the jobs in a range of ids were created, in blocks of 1024.
SELECT tenant_id, (id & 65535) >> 10 AS block, tickwork.micros(min(created_at)) AS first,
    tickwork.micros(max(created_at)) AS last
FROM tickwork.job WHERE id > $1 AND id <= $2
GROUP BY 1, 2;

-- name: note_late_jobs
-- Notes the one-time jobs in a range of ids that came after their due times were looked at.
INSERT INTO tickwork.job_unended (tenant_id, scheduled_for, job_id)
SELECT j.tenant_id, j.scheduled_for, j.id FROM tickwork.job j, tickwork.job_index i
WHERE j.id > $1 AND j.id <= $2 AND j.rule_id IS NULL AND (j.scheduled_for, j.id) <= (i.settled_time, i.settled_job)
ON CONFLICT DO NOTHING;

-- name: created_of_segments
-- When jobs of segments were created.
SELECT tenant_id, created FROM tickwork.job_segment WHERE segment = $1 AND tenant_id = ANY($2::int[]);

-- name: write_segments
-- Adds segments, or what is new about them.
INSERT INTO tickwork.job_segment (tenant_id, segment, created)
SELECT tenant_id, $1, created FROM unnest($2::int[], $3::bytea[]) AS s (tenant_id, created)
ON CONFLICT (tenant_id, segment) DO UPDATE SET created = excluded.created;

-- name: own_slots
-- The terms that have rows of their own in a segment.
SELECT t.tenant_id, t.slot FROM unnest($2::int[]) AS wanted (tenant_id) CROSS JOIN LATERAL (
    SELECT tenant_id, slot FROM tickwork.job_term WHERE tenant_id = wanted.tenant_id AND segment = $1 AND slot < 0
    OFFSET 0
) t;

-- name: sets
-- For some terms the rows of their own, or else the rows that they share with others.
SELECT t.* FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[]) AS wanted (tenant_id, segment, own, shared)
CROSS JOIN LATERAL (
    SELECT tenant_id, segment, slot, jobs FROM tickwork.job_term
    WHERE tenant_id = wanted.tenant_id AND segment = wanted.segment AND slot IN (wanted.own, wanted.shared)
    ORDER BY slot
    LIMIT 1
) t;

-- name: write_sets
-- Writes rows of the index.
INSERT INTO tickwork.job_term (tenant_id, segment, slot, jobs)
SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bytea[])
ON CONFLICT (tenant_id, segment, slot) DO UPDATE SET jobs = excluded.jobs;

-- name: append_entries
-- Adds entries to rows that several terms share.
INSERT INTO tickwork.job_term AS t (tenant_id, segment, slot, jobs)
SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bytea[])
ON CONFLICT (tenant_id, segment, slot) DO UPDATE SET jobs = t.jobs || excluded.jobs;

-- name: changes
-- The changes of jobs that were noted first, up to a number of them.
SELECT c.*, l.queue, l.task
FROM (SELECT * FROM tickwork.job_change ORDER BY id LIMIT $1) c
JOIN tickwork.lane l ON l.id = c.lane_id
ORDER BY c.id;

-- name: jobs_as_changed
-- Changed jobs as they are now, and whether they wait to be looked at again.
SELECT v.*, NOT coalesce((v.scheduled_for, v.id) > (i.settled_time, i.settled_job), true) AS was_due
FROM tickwork.job_index i, unnest($1::int[], $2::bigint[]) AS changed (tenant_id, id) CROSS JOIN LATERAL (
    SELECT * FROM tickwork.job_view WHERE tenant_id = changed.tenant_id AND id = changed.id OFFSET 0
) v;

-- name: forget_changes
-- Deletes changes that the index has.
DELETE FROM tickwork.job_change WHERE id = ANY($1::bigint[]);

-- name: note_unended_jobs
-- Notes one-time jobs that have to be looked at again.
INSERT INTO tickwork.job_unended (tenant_id, scheduled_for, job_id)
SELECT * FROM unnest($1::int[], $2::timestamptz[], $3::bigint[])
ON CONFLICT DO NOTHING;

-- name: is_anything_to_settle
-- Whether a one-time job became due since the last look, or is to be looked at again.
SELECT EXISTS (SELECT FROM tickwork.job_unended)
    OR EXISTS (
        SELECT FROM tickwork.job j
        WHERE j.rule_id IS NULL AND (j.scheduled_for, j.id) > (i.settled_time, i.settled_job)
            AND j.scheduled_for < least(i.indexed_at, tickwork.clock() - $1::interval)
    ) AS is_any
FROM tickwork.job_index i;

-- name: settle_due_jobs
-- Looks at the next one-time jobs that are due: how they ended, by segment. Those that have not are noted.
WITH seen AS (
    -- A bounded number of jobs, in the order of their due times.
    SELECT tenant_id, scheduled_for, id, deferred FROM tickwork.job
    WHERE rule_id IS NULL AND (scheduled_for, id) > ($1, $2) AND scheduled_for < $3
    ORDER BY scheduled_for, id
    LIMIT $4
), ending AS (
    -- How each ended. One without an execution ended so long ago that its history is gone.
    SELECT s.tenant_id, s.scheduled_for, s.id,
        CASE WHEN e.status IS NULL AND NOT s.deferred THEN 'completed'
             WHEN e.finished_at IS NOT NULL THEN e.status::text END AS status
    FROM seen s LEFT JOIN LATERAL (
        SELECT status, finished_at FROM tickwork.execution
        WHERE tenant_id = s.tenant_id AND scheduled_for = s.scheduled_for AND job_id = s.id
        OFFSET 0
    ) e ON true
), noted AS (
    -- Those that have not ended.
    INSERT INTO tickwork.job_unended (tenant_id, scheduled_for, job_id)
    SELECT tenant_id, scheduled_for, id FROM ending WHERE status IS NULL
    ON CONFLICT DO NOTHING
)
SELECT tenant_id, (id >> 16)::int AS segment, status, array_agg((id & 65535)::int) AS places,
    max(scheduled_for) AS last_time, max(id) FILTER (WHERE scheduled_for = latest) AS last_job
FROM ending, (SELECT max(scheduled_for) AS latest FROM seen) l
GROUP BY 1, 2, 3;

-- name: set_settled
-- Says how far the due times of one-time jobs were looked at.
UPDATE tickwork.job_index SET settled_time = $1, settled_job = $2;

-- name: settle_unended_jobs
-- Looks again at one-time jobs that had not ended, after a place: how they ended, by segment.
WITH seen AS (
    -- A bounded number of them.
    SELECT * FROM tickwork.job_unended WHERE (tenant_id, scheduled_for, job_id) > ($1, $2, $3)
    ORDER BY tenant_id, scheduled_for, job_id
    LIMIT $4
), ending AS (
    -- How each ended. A job that is gone, or due at another time, is looked at no more.
    SELECT s.*, CASE WHEN j.id IS NULL THEN 'gone'
                     WHEN e.status IS NULL AND NOT j.deferred THEN 'completed'
                     WHEN e.finished_at IS NOT NULL THEN e.status::text END AS status
    FROM seen s
    LEFT JOIN LATERAL (
        SELECT id, deferred FROM tickwork.job
        WHERE id = s.job_id AND tenant_id = s.tenant_id AND scheduled_for = s.scheduled_for
        OFFSET 0
    ) j ON true
    LEFT JOIN LATERAL (
        SELECT status, finished_at FROM tickwork.execution
        WHERE tenant_id = s.tenant_id AND scheduled_for = s.scheduled_for AND job_id = s.job_id
        OFFSET 0
    ) e ON true
), done AS (
    -- Those that have ended, deleted.
    DELETE FROM tickwork.job_unended u USING ending
    WHERE ending.status IS NOT NULL AND u.tenant_id = ending.tenant_id AND u.scheduled_for = ending.scheduled_for
        AND u.job_id = ending.job_id
)
SELECT tenant_id, (job_id >> 16)::int AS segment, status, array_agg((job_id & 65535)::int) AS places
FROM ending
WHERE status IS NOT NULL
GROUP BY 1, 2, 3;

-- name: place_among_unended
-- The place after a number of one-time jobs that had not ended.
SELECT tenant_id, scheduled_for, job_id FROM tickwork.job_unended
WHERE (tenant_id, scheduled_for, job_id) > ($1, $2, $3)
ORDER BY tenant_id, scheduled_for, job_id
OFFSET $4 - 1
LIMIT 1;

-- name: next_segment
-- The segment after a place, in the order of tenants.
SELECT tenant_id, segment FROM tickwork.job_segment WHERE (tenant_id, segment) > ($1, $2)
ORDER BY tenant_id, segment
LIMIT 1;

-- name: runs_of_segment
-- The jobs of a tenant that there are in a segment: the first and the last place of each run of them without a gap.
SELECT array_agg(first) AS first, array_agg(last) AS last FROM (
    SELECT min(place) AS first, max(place) AS last FROM (
        SELECT (id & 65535)::int AS place, id - row_number() OVER (ORDER BY id) AS run FROM tickwork.job
        WHERE tenant_id = $1 AND id >= $2::int::bigint * 65536 AND id < ($2::int::bigint + 1) * 65536
    ) numbered
    GROUP BY run
) runs;

-- name: sets_of_segment
-- All rows of the index about a segment of a tenant.
SELECT slot, jobs FROM tickwork.job_term WHERE tenant_id = $1 AND segment = $2;

-- name: delete_sets
-- Deletes rows of the index about a segment.
DELETE FROM tickwork.job_term WHERE tenant_id = $1 AND segment = $2 AND slot = ANY($3::bigint[]);

-- name: delete_segment
-- Deletes a segment without jobs.
DELETE FROM tickwork.job_segment WHERE tenant_id = $1 AND segment = $2;

-- name: note_missing_jobs
-- Notes jobs that the index does not have as changed, so that it gets them.
INSERT INTO tickwork.job_change
    (tenant_id, job_id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for)
SELECT tenant_id, id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for FROM tickwork.job
WHERE tenant_id = $1 AND id = ANY($2::bigint[]);
