-- How to read these queries: README.md

-- name: take_duty
-- Takes or keeps the duty to archive, unless another node has it. No row: another one does.
INSERT INTO tickwork.archive_duty AS d (node_id, until) VALUES ($1, tickwork.clock() + $2::interval)
ON CONFLICT (one) DO UPDATE SET node_id = $1, until = excluded.until
    WHERE d.node_id = $1 OR d.until < tickwork.clock()
RETURNING node_id;

-- name: hold_duty
-- Makes sure that this node has the duty until the transaction ends. No row: it does not.
SELECT node_id FROM tickwork.archive_duty WHERE node_id = $1 FOR SHARE;

-- name: part_under_way
-- The part that was sealed and is not dropped yet.
SELECT label, number, begin_at, end_at, state, generation, manifest FROM tickwork.archive_part
WHERE state <> 'dropped';

-- name: archived_parts
-- The parts that are in the archive only, oldest first.
SELECT label, number, begin_at, end_at, state, generation, manifest FROM tickwork.archive_part
WHERE state = 'dropped' ORDER BY begin_at, number;

-- name: add_part
-- Notes that a day or month is sealed, with its next number.
INSERT INTO tickwork.archive_part (label, number, begin_at, end_at)
SELECT $1, coalesce(max(number), 0) + 1, $2, $3 FROM tickwork.archive_part WHERE label = $1;

-- name: begin_generation
-- Notes which generation of a part is being written: an earlier writer can no longer finish.
UPDATE tickwork.archive_part SET generation = $3 WHERE label = $1 AND number = $2 AND generation < $3;

-- name: note_written
-- Notes that a generation was written and verified, unless another one has begun since.
UPDATE tickwork.archive_part
SET manifest = $4::jsonb, archived_at = coalesce(archived_at, tickwork.clock()),
    state = CASE state WHEN 'sealed' THEN 'archived' ELSE state END
WHERE label = $1 AND number = $2 AND generation = $3;

-- name: note_dropped
-- Notes that a part is in the archive only.
UPDATE tickwork.archive_part SET state = 'dropped' WHERE label = $1 AND number = $2 AND state = 'archived';

-- name: purged_jobs
-- Purged jobs that the archive may still have something of. All else about them is deleted, so no later part has them.
SELECT job_id FROM tickwork.purge WHERE left_archive_at IS NULL AND swept ORDER BY requested_at LIMIT $1;

-- name: purged_tenants
-- Purged tenants that the archive may still have something of, likewise.
SELECT tenant_id FROM tickwork.tenant_purge WHERE left_archive_at IS NULL AND swept ORDER BY requested_at LIMIT $1;

-- name: note_purged_jobs
-- Notes that the archive has nothing of these jobs any more, and how many executions of each it had.
UPDATE tickwork.purge p
SET left_archive_at = tickwork.clock(),
    removed = p.removed || jsonb_build_object('archived_executions', wanted.removed)
FROM unnest($1::bigint[], $2::bigint[]) AS wanted (job_id, removed)
WHERE p.job_id = wanted.job_id;

-- name: note_purged_tenants
-- The same of tenants.
UPDATE tickwork.tenant_purge p
SET left_archive_at = tickwork.clock(),
    removed = p.removed || jsonb_build_object('archived_executions', wanted.removed)
FROM unnest($1::int[], $2::bigint[]) AS wanted (tenant_id, removed)
WHERE p.tenant_id = wanted.tenant_id;

-- name: note_problem
-- Notes why the next day cannot be archived, or that it can.
UPDATE tickwork.archive_duty
SET problem = $2, problem_since = CASE WHEN $2::text IS NOT NULL THEN coalesce(problem_since, tickwork.clock()) END
WHERE node_id = $1 AND problem IS DISTINCT FROM $2::text;

-- name: archive_state
-- How far history is archived, and what is wrong.
SELECT (SELECT end_at FROM tickwork.archive_part WHERE state <> 'sealed' ORDER BY end_at DESC LIMIT 1) AS until,
    (SELECT count(*) FROM tickwork.archive_part WHERE state = 'sealed') AS sealed, d.problem, d.problem_since
FROM (SELECT) AS always LEFT JOIN tickwork.archive_duty d ON true;
