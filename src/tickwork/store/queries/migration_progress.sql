-- How to read these queries: README.md

-- name: batch_before
-- How far the batches of a migration have come.
SELECT place, rows FROM tickwork.migration_progress WHERE number = $1;

-- name: note_batch
-- Notes where a batch has ended, and how many rows it has changed.
INSERT INTO tickwork.migration_progress AS p (number, place, rows) VALUES ($1, $2::jsonb, $3)
ON CONFLICT (number) DO UPDATE SET place = excluded.place, rows = p.rows + excluded.rows, at = now()
RETURNING rows;

-- name: note_complete
-- Notes that a migration is complete.
WITH ended AS (
    -- How far it had come, deleted.
    DELETE FROM tickwork.migration_progress WHERE number = $1
)
INSERT INTO tickwork.migration (number, name, checksum, needs) VALUES ($1, $2, $3, $4);

-- name: batches_under_way
-- How far migrations have come that go in batches, and since when and until when that took.
SELECT number, rows, begun_at, at FROM tickwork.migration_progress ORDER BY number;

-- name: index_builds
-- The indexes that are built now, and how far each has come, in percent.
SELECT c.relname AS name, p.phase,
    floor(100 * coalesce(p.blocks_done / nullif(p.blocks_total, 0)::float8,
                         p.tuples_done / nullif(p.tuples_total, 0)::float8))::int AS percent
FROM pg_stat_progress_create_index p JOIN pg_class c ON c.oid = p.index_relid
WHERE p.datname = current_database() AND c.relnamespace = 'tickwork'::regnamespace
ORDER BY c.relname;
