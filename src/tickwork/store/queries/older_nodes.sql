-- How to read these queries: README.md

-- name: nodes_that_know_less
-- The nodes that have reported themselves within $2 and do not know the migration $1.
SELECT id, host, pid, version, seen_at FROM tickwork.node
WHERE schema_version < $1 AND seen_at > tickwork.clock() - $2::interval
ORDER BY host, pid;
