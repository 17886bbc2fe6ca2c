-- How to read these queries: README.md

-- name: clock
-- The time that counts.
SELECT tickwork.clock() AS now;

-- name: try_to_store
-- Stores a megabyte, to be rolled back: shows whether the disk has space.
CREATE TABLE tickwork.trial AS SELECT repeat('x', 1800) AS filler FROM generate_series(1, 600);
