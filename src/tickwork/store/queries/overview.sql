-- How to read these queries: README.md

-- name: failing_jobs_of_tenant
-- The failing jobs of a tenant that failed last, of a limited number of them.
SELECT f.job_id, f.failures_in_a_row, f.failing_since, f.last_failed_at, j.name, j.key, l.task, l.queue
FROM (
    SELECT * FROM (SELECT * FROM tickwork.failing_job WHERE tenant_id = $1 ORDER BY job_id DESC LIMIT $2) looked_at
    ORDER BY last_failed_at DESC, job_id LIMIT $3
) f
JOIN tickwork.job j ON j.id = f.job_id AND j.tenant_id = $1
JOIN tickwork.lane l ON l.id = j.lane_id
ORDER BY f.last_failed_at DESC, f.job_id;

-- name: count_exceptions
-- How many failing jobs, dead letters and failing pings a tenant has, each up to a limit.
SELECT (
    SELECT count(*) FROM (SELECT FROM tickwork.failing_job WHERE tenant_id = $1 LIMIT $2) counted
) AS failing_jobs, (
    SELECT count(*) FROM (SELECT FROM tickwork.dead_letter WHERE tenant_id = $1 LIMIT $2) counted
) AS dead_letters, (
    SELECT count(*) FROM (
        SELECT FROM tickwork.ping WHERE tenant_id = $1 AND status IN ('missing', 'failed') LIMIT $2
    ) counted
) AS failing_pings;


-- name: queues_with_tasks
-- Those of a tenant's queues that have lanes of other tasks than $3.
SELECT DISTINCT queue FROM tickwork.lane WHERE tenant_id = $1 AND queue = ANY($2::text[]) AND task <> $3
ORDER BY queue;
