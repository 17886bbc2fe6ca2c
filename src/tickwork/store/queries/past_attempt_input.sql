-- How to read these queries: README.md

-- name: keep_version
-- Keeps what workers were given of a job, if it is about to change, and returns its version.
INSERT INTO tickwork.job_version (job_id, version, tenant_id, until, task, payload, target)
SELECT id, version, tenant_id, tickwork.clock(), task, payload, target FROM tickwork.job
WHERE tenant_id = $1 AND id = $2 AND (task, payload, target) IS DISTINCT FROM ($3::text, $4::bytea, $5::bytea)
RETURNING version;

-- name: note_given
-- Records the attempts that were given a version of a job: those that workers have, and those that ended so shortly ago
-- that a worker's clock may place them after the edit.
INSERT INTO tickwork.attempt_version (tenant_id, scheduled_for, job_id, attempt, version)
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.attempt, $3::int
FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l) AS e
WHERE $2 = ANY(l.job_ids) AND e.job_id = $2 AND e.tenant_id = $1
UNION
SELECT $1, due.at, $2, ended.attempt, $3::int
FROM tickwork.due_times_of_job($1, $2, '-infinity', 'infinity', $5) AS due
CROSS JOIN LATERAL (
    SELECT attempt FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = $2 AND started_at IS NOT NULL
        AND finished_at > tickwork.clock() - $4::interval
    UNION ALL
    SELECT attempt FROM tickwork.attempt
    WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = $2 AND started_at IS NOT NULL
        AND finished_at > tickwork.clock() - $4::interval
    OFFSET 0
) ended
ON CONFLICT DO NOTHING;

-- name: forget_oldest_versions
-- Forgets what a job was before its latest versions. That there were others stays known.
UPDATE tickwork.job_version SET payload = NULL, target = NULL
WHERE job_id = $1 AND payload IS NOT NULL AND until < (
    SELECT until FROM tickwork.job_version WHERE job_id = $1 ORDER BY until DESC OFFSET $2 LIMIT 1);

-- name: input_of_attempt
-- What an attempt was given, or the latest one if $4 is null: of the job as it is now, of an earlier version of it ($5:
-- the error of a worker's clock), or with a retry. One that has not ended has the newest values, unless it is noted.
WITH asked AS (
    -- The attempt, and when it ended.
    SELECT coalesce($4, e.attempt) AS number,
        CASE WHEN coalesce($4, e.attempt) = e.attempt THEN coalesce(e.finished_at, 'infinity')
             ELSE (SELECT a.finished_at FROM tickwork.attempt a
                   WHERE a.tenant_id = $1 AND a.scheduled_for = $2 AND a.job_id = $3 AND a.attempt = $4) END AS ended_at
    FROM tickwork.execution e
    WHERE e.tenant_id = $1 AND e.scheduled_for = $2 AND e.job_id = $3
)
SELECT asked.number, asked.ended_at, j.version, j.task, j.payload, j.target,
    noted.version AS noted_version, kept.version AS kept_version, kept.task AS kept_task,
    kept.payload AS kept_payload, kept.target AS kept_target,
    own.payload AS own_payload, own.given_by, own.given_at
FROM asked
JOIN tickwork.job j ON j.tenant_id = $1 AND j.id = $3
LEFT JOIN LATERAL (
    SELECT version FROM tickwork.attempt_version
    WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt = asked.number
) noted ON true
LEFT JOIN LATERAL (
    SELECT version, task, payload, target FROM tickwork.job_version
    WHERE job_id = $3 AND (version = noted.version OR noted.version IS NULL AND until > asked.ended_at + $5::interval)
    ORDER BY until, version LIMIT 1
) kept ON true
LEFT JOIN LATERAL (
    SELECT payload, given_by, given_at FROM tickwork.retry_payload
    WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND attempt <= asked.number
    ORDER BY attempt DESC LIMIT 1
) own ON true;

-- name: give_payload
-- Gives a payload to an execution that is about to run again, for the attempt that it waits for and all later ones.
WITH revived AS (
    -- The execution, which has a payload of its own from now on.
    UPDATE tickwork.execution SET own_payload = true
    WHERE tenant_id = $1 AND scheduled_for = $2 AND job_id = $3 AND status = 'pending'
    RETURNING attempt
)
INSERT INTO tickwork.retry_payload (tenant_id, scheduled_for, job_id, attempt, payload, given_by)
SELECT $1, $2, $3, attempt, $4, $5::jsonb FROM revived
RETURNING attempt;
