-- How to read these queries: README.md

-- name: find_restored
-- An execution that was brought back from the archive.
SELECT execution, attempts, input, log FROM tickwork.restored_execution
WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND until > tickwork.clock();

-- name: restore_executions
-- Keeps executions from the archive for some time: none of a purged job, nor of a tenant that has another name here.
INSERT INTO tickwork.restored_execution (tenant_id, scheduled_for, job_id, until, execution, attempts, input, log)
SELECT r.tenant_id, r.scheduled_for, r.job_id, tickwork.clock() + $9::interval, r.execution, r.attempts, r.input, r.log
FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::text[])
    AS r (tenant_id, scheduled_for, job_id, execution, attempts, input, log, tenant)
JOIN tickwork.tenant t ON t.id = r.tenant_id AND t.name = r.tenant
WHERE NOT EXISTS (SELECT FROM tickwork.purge p WHERE p.job_id = r.job_id OFFSET 0)
ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
SET until = excluded.until, execution = excluded.execution, attempts = excluded.attempts, input = excluded.input,
    log = excluded.log;
