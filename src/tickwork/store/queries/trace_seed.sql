-- How to read these queries: README.md

-- name: trace_seed
-- When this database was created, in microseconds.
SELECT tickwork.micros(applied_at) AS seed FROM tickwork.migration ORDER BY number LIMIT 1;
