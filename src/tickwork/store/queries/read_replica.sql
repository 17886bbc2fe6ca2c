-- How to read these queries: README.md

-- name: last_news_of_nodes
-- When a node last wrote into its row, as far as this server knows.
SELECT max(greatest(seen_at, marked_at)) AS at FROM tickwork.node;
