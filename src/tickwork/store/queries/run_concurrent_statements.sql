-- How to read these queries: README.md

-- name: state_of_index
-- Whether an index is valid, and whether it is one of a partitioned table.
SELECT i.indisvalid AS is_valid, c.relkind = 'I' AS is_partitioned, t.relname AS of_table
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid
WHERE c.relnamespace = 'tickwork'::regnamespace AND c.relname = $1;

-- name: is_table_partitioned
-- Whether a table is partitioned.
SELECT EXISTS (
    SELECT FROM pg_class
    WHERE relnamespace = 'tickwork'::regnamespace AND relname = $1 AND relkind = 'p') AS is_partitioned;

-- name: partitions_of
-- The partitions of a table.
SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass('tickwork.' || $1::text) AND NOT i.inhdetachpending
ORDER BY c.relname;

-- name: partitions_without_index
-- The partitions of a table that lack their part of an index, called $2 and what is special to the partition's name.
SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass('tickwork.' || $1::text) AND NOT i.inhdetachpending AND NOT EXISTS (
    SELECT FROM pg_class x JOIN pg_index own ON own.indexrelid = x.oid
    WHERE own.indrelid = i.inhrelid AND own.indisvalid AND x.relname = $2 || substr(c.relname, length($1) + 1))
ORDER BY c.relname;
