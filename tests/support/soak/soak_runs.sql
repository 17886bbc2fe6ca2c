-- What a soak's ledgers amount to, once they are loaded. Never shipped.

SET work_mem = '256MB';

-- An attempt that its worker could not end was over when the worker was killed.
CREATE TABLE soak.run AS
SELECT job, to_timestamp(due / 1e6) AS due, attempt, process, begun, to_timestamp(begun_at / 1e6) AS begun_at,
    to_timestamp(ended_at / 1e6) AS ended_at, to_timestamp(failed_at / 1e6) AS failed_at,
    to_timestamp(coalesce(ended_at, failed_at, stopped_at, killed_at) / 1e6) AS over_at
FROM (
    SELECT job, due, attempt, process, count(*) FILTER (WHERE event = 'begun') AS begun,
        min(at) FILTER (WHERE event = 'begun') AS begun_at, min(at) FILTER (WHERE event = 'ended') AS ended_at,
        min(at) FILTER (WHERE event = 'failed') AS failed_at, min(at) FILTER (WHERE event = 'stopped') AS stopped_at
    FROM soak.line GROUP BY job, due, attempt, process) lines
LEFT JOIN (SELECT process, min(at) AS killed_at FROM soak.kill GROUP BY process) kills USING (process);
CREATE INDEX ON soak.run (job, due, attempt);
ANALYZE soak.run;

-- When each job was due, by arithmetic.
CREATE TABLE soak.due AS
SELECT job, first + step * interval '10 seconds' AS at
FROM soak.job, generate_series(0, current_setting('soak.times')::int - 1) AS step;
CREATE INDEX ON soak.due (job, at);
ANALYZE soak.due;
