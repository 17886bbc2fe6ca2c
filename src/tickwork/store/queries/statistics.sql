-- How to read these queries: README.md

-- snippet: histograms
-- The histograms of the rows of `part`, added up by their key, as the CTEs `delay` and `run`.
), delay AS (
    -- How many start delays are in each bucket.
    SELECT span, at, tenant_id, lane_id, source, array_agg(bucket ORDER BY bucket) AS buckets,
        array_agg(number ORDER BY bucket) AS counts
    FROM (
        SELECT p.span, p.at, p.tenant_id, p.lane_id, p.source, b.bucket, sum(b.number)::bigint AS number
        FROM part p CROSS JOIN LATERAL unnest(p.delay_buckets, p.delay_counts) AS b (bucket, number)
        GROUP BY 1, 2, 3, 4, 5, 6
    ) each
    GROUP BY 1, 2, 3, 4, 5
), run AS (
    -- How many run times are in each bucket.
    SELECT span, at, tenant_id, lane_id, source, array_agg(bucket ORDER BY bucket) AS buckets,
        array_agg(number ORDER BY bucket) AS counts
    FROM (
        SELECT p.span, p.at, p.tenant_id, p.lane_id, p.source, b.bucket, sum(b.number)::bigint AS number
        FROM part p CROSS JOIN LATERAL unnest(p.run_buckets, p.run_counts) AS b (bucket, number)
        GROUP BY 1, 2, 3, 4, 5, 6
    ) each
    GROUP BY 1, 2, 3, 4, 5

-- snippet: sums
-- The rows of `part`, added up by their key, as the CTE `total`.
), total AS (
    -- The sums of all counts.
    SELECT span, at, tenant_id, lane_id, source, sum(fired)::bigint AS fired, sum(started)::bigint AS started,
        sum(completed)::bigint AS completed, sum(failed)::bigint AS failed, sum(retried)::bigint AS retried,
        sum(snoozed)::bigint AS snoozed, sum(lost)::bigint AS lost, sum(cancelled)::bigint AS cancelled,
        sum(missed)::bigint AS missed, sum(skipped_overlap)::bigint AS skipped_overlap,
        sum(skipped_paused)::bigint AS skipped_paused, sum(skipped_rescheduled)::bigint AS skipped_rescheduled,
        sum(skipped_queue_full)::bigint AS skipped_queue_full, sum(skipped_parent)::bigint AS skipped_parent
    FROM part
    GROUP BY 1, 2, 3, 4, 5

-- snippet: insert_sums
-- Stores `total` with its histograms.
)
INSERT INTO tickwork.statistic
    (span, at, tenant_id, lane_id, source, fired, started, completed, failed, retried, snoozed, lost, cancelled, missed,
     skipped_overlap, skipped_paused, skipped_rescheduled, skipped_queue_full, skipped_parent, is_sum, delay_buckets,
     delay_counts, run_buckets, run_counts)
SELECT total.*, true, delay.buckets, delay.counts, run.buckets, run.counts
FROM total
LEFT JOIN delay USING (span, at, tenant_id, lane_id, source)
LEFT JOIN run USING (span, at, tenant_id, lane_id, source);

-- name: add_writer
-- Adds a node that counts in memory.
INSERT INTO tickwork.statistic_writer DEFAULT VALUES RETURNING id;

-- name: remove_writer
-- Removes a node that has written all that it counted.
DELETE FROM tickwork.statistic_writer WHERE id = $1;

-- name: share_minutes
-- Lets no minute be closed to what nodes add until this transaction has ended.
SELECT pg_advisory_xact_lock_shared(hashtext('tickwork.statistic_recounted'));

-- name: note_write
-- Notes that a node writes for the nth time, if that is the next time.
UPDATE tickwork.statistic_writer SET writes = writes + 1, written_at = tickwork.clock()
WHERE id = $1 AND writes = $2;

-- name: find_writer
-- How often a node has written, unless it was taken for dead.
SELECT writes FROM tickwork.statistic_writer WHERE id = $1;

-- name: write_counted
-- Adds what a node has counted to the minutes that are not counted again, without what is counted from the executions.
INSERT INTO tickwork.statistic
    (span, at, tenant_id, lane_id, source, fired, started, completed, delay_buckets, delay_counts, run_buckets,
     run_counts)
SELECT 'minute', c.at, l.tenant_id, c.lane_id, 'memory',
    CASE WHEN EXISTS (SELECT FROM tickwork.fired_to_count f WHERE f.at = c.at AND f.tenant_id = l.tenant_id)
         THEN 0 ELSE c.fired END,
    c.started, c.completed, c.delay_buckets::smallint[], c.delay_counts::bigint[], c.run_buckets::smallint[],
    c.run_counts::bigint[]
FROM unnest($1::timestamptz[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
            $9::text[])
    AS c (at, lane_id, fired, started, completed, delay_buckets, delay_counts, run_buckets, run_counts)
JOIN tickwork.lane l ON l.id = c.lane_id
WHERE NOT EXISTS (SELECT FROM tickwork.statistic_recounted r WHERE r.at = c.at);

-- name: write_counted_from_executions
-- Adds what was counted from the executions.
INSERT INTO tickwork.statistic
    (span, at, tenant_id, lane_id, source, fired, started, completed, delay_buckets, delay_counts, run_buckets,
     run_counts)
SELECT 'minute', c.at, l.tenant_id, c.lane_id, 'execution', c.fired, c.started, c.completed,
    c.delay_buckets::smallint[], c.delay_counts::bigint[], c.run_buckets::smallint[], c.run_counts::bigint[]
FROM unnest($1::timestamptz[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
            $9::text[])
    AS c (at, lane_id, fired, started, completed, delay_buckets, delay_counts, run_buckets, run_counts)
JOIN tickwork.lane l ON l.id = c.lane_id;

-- name: count_fired_later
-- Notes minutes of tenants in which executions are due that no rule created.
INSERT INTO tickwork.fired_to_count (at, tenant_id)
SELECT minute.at, minute.tenant_id FROM (
    SELECT DISTINCT date_trunc('minute', due.at) AS at, due.tenant_id
    FROM unnest($1::int[], $2::timestamptz[]) AS due (tenant_id, at)
) minute
WHERE NOT EXISTS (SELECT FROM tickwork.fired_to_count f WHERE f.at = minute.at AND f.tenant_id = minute.tenant_id);

-- name: request_recount_again
-- Asks for another recount of those of these minutes that were counted again before.
INSERT INTO tickwork.statistic_recount (at)
SELECT DISTINCT r.at FROM unnest($1::timestamptz[]) AS c (at) JOIN tickwork.statistic_recounted r ON r.at = c.at;

-- name: request_recounts
-- Asks for these minutes to be counted again.
INSERT INTO tickwork.statistic_recount (at) SELECT unnest($1::timestamptz[]);

-- name: remove_silent_writers
-- Removes nodes that were silent for too long, and asks for the minutes to be counted again of which they may not have
-- written everything: since what ended after their last write may have started up to $2 before.
WITH silent AS (
    -- Nodes that must have been killed.
    DELETE FROM tickwork.statistic_writer WHERE written_at < tickwork.clock() - $1::interval RETURNING written_at
)
INSERT INTO tickwork.statistic_recount (at)
SELECT DISTINCT minute.at FROM silent CROSS JOIN LATERAL generate_series(
    date_trunc('minute', written_at - $2::interval - interval '1 minute'),
    least(tickwork.clock(), written_at + interval '2 minutes'), interval '1 minute') AS minute (at);

-- name: count_overdue
-- Counts executions that complete so long after their due time that a recount would not find them, before they do.
WITH ended AS (
    -- Those that are still with the worker that says so.
    SELECT e.tenant_id, e.lane_id, to_timestamp(o.started / 1e6::float8) AS started_at,
        to_timestamp(o.finished / 1e6::float8) AS finished_at,
        CASE WHEN e.attempt = 1 AND e.trigger <> 'backfill'
             THEN to_timestamp(o.started / 1e6::float8) - e.scheduled_for END AS start_delay
    FROM unnest($1::int[], $2::timestamptz[], $3::bigint[], $4::int[], $5::int[], $6::bigint[], $7::bigint[])
        AS o (tenant_id, scheduled_for, job_id, worker_id, attempt, started, finished)
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[o.tenant_id]) AND e.scheduled_for = o.scheduled_for AND e.job_id = o.job_id
        AND e.worker_id = o.worker_id AND e.attempt = o.attempt AND e.status = 'running'
    FOR UPDATE OF e
), part AS (
    -- What each adds to the minute in which it started, and to the one in which it finished.
    SELECT 'minute'::tickwork.statistic_span AS span, date_trunc('minute', started_at) AS at, tenant_id, lane_id,
        'exception'::tickwork.statistic_source AS source, 0 AS fired, 1 AS started, 0 AS completed,
        CASE WHEN start_delay IS NOT NULL THEN ARRAY[tickwork.histogram_bucket(start_delay)] END AS delay_buckets,
        CASE WHEN start_delay IS NOT NULL THEN ARRAY[1] END AS delay_counts,
        NULL::smallint[] AS run_buckets, NULL::int[] AS run_counts
    FROM ended WHERE started_at > tickwork.clock() - $8::interval
    UNION ALL
    SELECT 'minute', date_trunc('minute', finished_at), tenant_id, lane_id, 'exception', 0, 0, 1, NULL, NULL,
        ARRAY[tickwork.histogram_bucket(finished_at - started_at)], ARRAY[1]
    FROM ended WHERE finished_at > tickwork.clock() - $8::interval
-- include: histograms
), total AS (
    -- The sums of these counts.
    SELECT span, at, tenant_id, lane_id, source, sum(fired) AS fired, sum(started) AS started,
        sum(completed) AS completed
    FROM part
    GROUP BY 1, 2, 3, 4, 5
)
INSERT INTO tickwork.statistic
    (span, at, tenant_id, lane_id, source, fired, started, completed, delay_buckets, delay_counts, run_buckets,
     run_counts)
SELECT span, at, tenant_id, lane_id, source, fired, started, completed, delay.buckets, delay.counts, run.buckets,
    run.counts
FROM total
LEFT JOIN delay USING (span, at, tenant_id, lane_id, source)
LEFT JOIN run USING (span, at, tenant_id, lane_id, source);

-- name: count_events
-- Counts what the events from one number to another say.
INSERT INTO tickwork.statistic
    (span, at, tenant_id, lane_id, source, started, failed, retried, snoozed, lost, cancelled, missed, skipped_overlap,
     skipped_paused, skipped_rescheduled, skipped_queue_full, skipped_parent)
SELECT 'minute', at, tenant_id, lane_id, 'exception', count(*) FILTER (WHERE kind = 'started'),
    count(*) FILTER (WHERE kind = 'execution.failed'), count(*) FILTER (WHERE kind = 'execution.retrying'),
    count(*) FILTER (WHERE kind = 'execution.snoozed'), count(*) FILTER (WHERE kind = 'execution.lost'),
    count(*) FILTER (WHERE kind = 'execution.cancelled'),
    coalesce(sum(number) FILTER (WHERE kind = 'execution.missed'), 0),
    count(*) FILTER (WHERE kind = 'execution.skipped' AND reason = 'overlap'),
    count(*) FILTER (WHERE kind = 'execution.skipped' AND reason = 'paused'),
    count(*) FILTER (WHERE kind = 'execution.skipped' AND reason = 'rescheduled'),
    count(*) FILTER (WHERE kind = 'execution.skipped' AND reason = 'queue is full'),
    count(*) FILTER (WHERE kind = 'execution.skipped' AND reason LIKE 'parent %')
FROM (
    SELECT date_trunc('minute', at) AS at, tenant_id, lane_id, kind, detail::json ->> 'reason' AS reason,
        (detail::json ->> 'missed')::bigint * coalesce((detail::json ->> 'jobs')::bigint, 1) AS number
    FROM tickwork.event
    WHERE number > $1 AND number <= $2 AND lane_id IS NOT NULL AND kind = ANY($3::text[])
    UNION ALL
    -- The attempts that ended so. A failure without a type of error is one without an attempt.
    SELECT date_trunc('minute', a.started_at), e.tenant_id, e.lane_id, 'started', NULL, NULL
    FROM tickwork.event e
    CROSS JOIN LATERAL (
        SELECT started_at FROM tickwork.attempt
        WHERE tenant_id = e.tenant_id AND scheduled_for = e.scheduled_for AND job_id = e.job_id AND attempt = e.attempt
            AND outcome IN ('failed', 'lost', 'snoozed', 'cancelled')
        OFFSET 0
    ) a
    WHERE e.number > $1 AND e.number <= $2 AND e.lane_id IS NOT NULL AND e.kind = ANY($3::text[])
        AND a.started_at > tickwork.clock() - $4::interval
        AND (e.kind <> 'execution.failed' OR e.error_type IS NOT NULL)
) counted
GROUP BY at, tenant_id, lane_id;

-- name: lock_upkeep
-- Locks upkeep, unless another node is at it: how far it has come.
SELECT fired_until, hours_until, days_until, tickwork.clock() AS now FROM tickwork.statistic_upkeep
FOR UPDATE SKIP LOCKED;

-- name: begin_upkeep
-- Begins upkeep with the present minute, hour and day.
UPDATE tickwork.statistic_upkeep
SET fired_until = date_trunc('minute', tickwork.clock()), hours_until = date_trunc('hour', tickwork.clock(), 'UTC'),
    days_until = date_trunc('day', tickwork.clock(), 'UTC');

-- name: upkeep
-- How far upkeep has come, and whether a node counts from the executions now.
SELECT fired_until, tickwork.clock() AS now, coalesce(claimed_until > tickwork.clock(), false) AS is_claimed
FROM tickwork.statistic_upkeep;

-- name: claim_upkeep
-- Lets only this node count from the executions, for a while. Nothing if another node does.
UPDATE tickwork.statistic_upkeep SET claim = claim + 1, claimed_until = tickwork.clock() + $1::interval
WHERE claimed_until IS NULL OR claimed_until <= tickwork.clock()
RETURNING claim;

-- name: renew_claim
-- Lets this node count for longer. Nothing if another node does by now.
UPDATE tickwork.statistic_upkeep SET claimed_until = tickwork.clock() + $2::interval WHERE claim = $1
RETURNING claim;

-- name: end_claim
-- Lets another node count. Nothing if one does by now.
UPDATE tickwork.statistic_upkeep SET claimed_until = NULL WHERE claim = $1
RETURNING fired_until;

-- name: tenants_to_count
-- The tenants whose fired executions of a minute are to be counted.
SELECT DISTINCT tenant_id FROM tickwork.fired_to_count WHERE at = $1 ORDER BY 1;

-- name: all_tenants
-- All tenants.
SELECT id AS tenant_id FROM tickwork.tenant ORDER BY 1;

-- name: count_slice
-- Counts some of a tenant's executions that are due up to $4, after the one due at $2 of the job $3: which were fired,
-- started and completed in the minute $5. What completes more than $6 after its due time is counted when it does, and
-- so is what completes without a worker. One that was stopped before its due time was not fired. The last row says up
-- to where they go.
WITH slice AS MATERIALIZED (
    -- The executions.
    SELECT scheduled_for, job_id, lane_id, attempt, started_at, finished_at,
        trigger <> 'backfill' AND scheduled_for >= $5 AND scheduled_for < $5::timestamptz + interval '1 minute'
            AND (finished_at IS NULL OR finished_at > scheduled_for - interval '1 second') AS was_fired,
        status = 'completed' AND finished_at <= scheduled_for + $6::interval AND worker_id IS NOT NULL AS is_counted
    FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for >= $2 AND scheduled_for < $4 AND (scheduled_for, job_id) > ($2, $3)
    ORDER BY tenant_id, scheduled_for, job_id
    LIMIT $7
)
SELECT 'fired' AS what, lane_id, NULL::smallint AS bucket, count(*) AS number, NULL::timestamptz AS scheduled_for,
    NULL::bigint AS job_id
FROM slice WHERE was_fired
GROUP BY 2
UNION ALL
SELECT 'started', lane_id, CASE WHEN attempt = 1 THEN tickwork.histogram_bucket(started_at - scheduled_for) END,
    count(*), NULL, NULL
FROM slice WHERE is_counted AND started_at >= $5 AND started_at < $5::timestamptz + interval '1 minute'
GROUP BY 2, 3
UNION ALL
SELECT 'completed', lane_id, tickwork.histogram_bucket(finished_at - started_at), count(*), NULL, NULL
FROM slice WHERE is_counted AND finished_at >= $5 AND finished_at < $5::timestamptz + interval '1 minute'
GROUP BY 2, 3
UNION ALL
(SELECT 'last', NULL, NULL, (SELECT count(*) FROM slice), scheduled_for, job_id
 FROM slice ORDER BY scheduled_for DESC, job_id DESC LIMIT 1);

-- name: remove_fired
-- Removes what nodes have counted as fired in a minute, of tenants of which it was counted from the executions.
UPDATE tickwork.statistic SET fired = 0
WHERE tenant_id = ANY($2::int[]) AND span = 'minute' AND at = $1 AND source = 'memory' AND fired > 0;

-- name: set_fired_until
-- Notes up to which minute fired executions were counted.
UPDATE tickwork.statistic_upkeep SET fired_until = $1;

-- name: close_minutes
-- Waits until no node adds to a minute any more that is to be counted again, and lets none begin to.
SELECT pg_advisory_xact_lock(hashtext('tickwork.statistic_recounted'));

-- name: minute_to_recount
-- The oldest minute that is to be counted again and has passed a while ago, or at which a node was killed. Where some
-- keep less than all history, executions may be gone after an hour ($1): an older minute stays as it was counted.
SELECT at FROM (
    SELECT at FROM tickwork.statistic_recount
    UNION ALL
    SELECT at FROM tickwork.statistic_recounted WHERE NOT is_counted
) wanted
WHERE at < (SELECT fired_until FROM tickwork.statistic_upkeep)
    AND (at >= tickwork.clock() - $1::interval
         OR NOT EXISTS (SELECT FROM tickwork.job_retention)
            AND NOT EXISTS (SELECT FROM tickwork.default_retention))
ORDER BY at LIMIT 1;

-- name: begin_recount
-- Notes that nodes are to add nothing to a minute, which is counted now.
INSERT INTO tickwork.statistic_recounted (at) VALUES ($1) ON CONFLICT (at) DO UPDATE SET is_counted = false;

-- name: end_recount
-- Notes that a minute was counted again.
UPDATE tickwork.statistic_recounted SET is_counted = true WHERE at = $1;

-- name: take_recount_requests
-- Takes the requests to count a minute again.
DELETE FROM tickwork.statistic_recount WHERE at = $1;

-- name: remove_counted
-- Removes what was counted before in a minute that is counted again, except for what was counted exactly.
DELETE FROM tickwork.statistic
WHERE tenant_id = ANY(ARRAY(SELECT id FROM tickwork.tenant)) AND span = 'minute' AND at = $1
    AND source IN ('memory', 'execution');

-- name: request_remerge
-- Asks for the hour of a minute to be merged again, if it was merged.
INSERT INTO tickwork.statistic_remerge (at)
SELECT date_trunc('hour', $1::timestamptz, 'UTC')
WHERE $1 < (SELECT hours_until FROM tickwork.statistic_upkeep);

-- name: hour_to_remerge
-- An hour that got more since it was merged, a while ago, so that it is not merged for each addition.
SELECT at FROM tickwork.statistic_remerge
WHERE noted_at < tickwork.clock() - $1::interval AND at < (SELECT hours_until FROM tickwork.statistic_upkeep)
ORDER BY at LIMIT 1;

-- name: take_remerge_requests
-- Takes the requests to merge an hour again.
DELETE FROM tickwork.statistic_remerge WHERE at = $1;

-- name: remove_merged
-- Removes what an hour or a day was merged into before.
DELETE FROM tickwork.statistic
WHERE tenant_id = ANY(ARRAY(SELECT id FROM tickwork.tenant)) AND span = $1::tickwork.statistic_span
    AND at = $2;

-- name: merge
-- Merges minutes into an hour, or hours into a day.
WITH part AS (
    -- The rows of that time.
    SELECT $2::tickwork.statistic_span AS span, $3::timestamptz AS at, tenant_id, lane_id,
        'merged'::tickwork.statistic_source AS source, fired, started, completed, failed, retried, snoozed, lost,
        cancelled, missed, skipped_overlap, skipped_paused, skipped_rescheduled, skipped_queue_full, skipped_parent,
        delay_buckets, delay_counts, run_buckets, run_counts
    FROM tickwork.statistic
    WHERE tenant_id = ANY(ARRAY(SELECT id FROM tickwork.tenant)) AND span = $1::tickwork.statistic_span
        AND at >= $3 AND at < $4
-- include: histograms
-- include: sums
-- include: insert_sums

-- name: compact_minutes
-- Adds up the rows of each minute of an hour that are alike.
WITH part AS (
    -- All of them, to be replaced.
    DELETE FROM tickwork.statistic
    WHERE tenant_id = ANY(ARRAY(SELECT id FROM tickwork.tenant)) AND span = 'minute'
        AND at >= $1 AND at < $2
    RETURNING *
-- include: histograms
-- include: sums
-- include: insert_sums

-- name: set_merged_until
-- Notes up to which hour and day everything was merged.
UPDATE tickwork.statistic_upkeep SET hours_until = $1, days_until = $2;

-- name: delete_old_statistics
-- Deletes some rows that are older than they are kept, and have been merged.
DELETE FROM tickwork.statistic WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM tickwork.statistic
    WHERE tenant_id = ANY(ARRAY(SELECT id FROM tickwork.tenant)) AND span = $1::tickwork.statistic_span
        AND at < least($2::timestamptz, CASE $1::tickwork.statistic_span
        WHEN 'minute' THEN (SELECT hours_until FROM tickwork.statistic_upkeep)
        WHEN 'hour' THEN (SELECT days_until FROM tickwork.statistic_upkeep) END)
    LIMIT $3));

-- name: delete_old_recounts
-- Deletes what was noted about minutes that are too old to be counted again.
WITH forgotten AS (
    -- Requests for them.
    DELETE FROM tickwork.statistic_recount WHERE at < $1
), counted AS (
    -- Minutes of which what was fired was counted from the executions.
    DELETE FROM tickwork.fired_to_count WHERE at < $1
)
DELETE FROM tickwork.statistic_recounted WHERE at < $1;

-- name: series
-- A tenant's statistics by step, and by queue or task if wanted: from days, hours and minutes, each as far as merged.
-- Steps have the same length, or begin when $10 says. From $11 on, only minutes are exact enough.
WITH lanes AS (
    -- The lanes that are wanted. One of each group stands for all of it.
    SELECT id, min(id) OVER (PARTITION BY CASE $6::text WHEN 'task' THEN task WHEN 'queue' THEN queue END) AS group_id
    FROM tickwork.lane
    WHERE tenant_id = $1 AND ($7::text IS NULL OR task = $7) AND ($8::text IS NULL OR queue = $8)
), merged AS (
    -- Up to when the hours and days can be used, if steps are that long.
    SELECT CASE WHEN $4::interval >= interval '1 day' THEN days_until ELSE '-infinity' END AS days_until,
        CASE WHEN $4::interval >= interval '1 hour' THEN least(hours_until, $11::timestamptz) ELSE '-infinity' END
            AS hours_until
    FROM tickwork.statistic_upkeep
), part AS (
    -- The rows of that time, in steps.
    SELECT NULL::tickwork.statistic_span AS span,
        CASE WHEN $10::timestamptz[] IS NULL THEN date_bin($4::interval, s.at, $5::timestamptz)
            ELSE ($10::timestamptz[])[width_bucket(s.at, $10::timestamptz[])] END AS at, s.tenant_id,
        l.group_id AS lane_id, NULL::tickwork.statistic_source AS source, s.fired, s.started, s.completed, s.failed,
        s.retried, s.snoozed, s.lost, s.cancelled, s.missed, s.skipped_overlap, s.skipped_paused,
        s.skipped_rescheduled, s.skipped_queue_full, s.skipped_parent, s.delay_buckets, s.delay_counts, s.run_buckets,
        s.run_counts
    FROM merged
    CROSS JOIN LATERAL (
        SELECT * FROM tickwork.statistic
        WHERE tenant_id = $1 AND span = 'day' AND at >= $2 AND at < least($3, merged.days_until)
        UNION ALL
        SELECT * FROM tickwork.statistic
        WHERE tenant_id = $1 AND span = 'hour' AND at >= greatest($2, merged.days_until)
            AND at < least($3, merged.hours_until)
        UNION ALL
        SELECT * FROM tickwork.statistic
        WHERE tenant_id = $1 AND span = 'minute' AND at >= greatest($2, merged.hours_until) AND at < $3
    ) s
    JOIN lanes l ON l.id = s.lane_id
-- include: histograms
-- include: sums
)
SELECT total.*, CASE $6::text WHEN 'task' THEN l.task END AS task, CASE $6::text WHEN 'queue' THEN l.queue END AS queue,
    delay.buckets AS delay_buckets, delay.counts AS delay_counts, run.buckets AS run_buckets, run.counts AS run_counts
FROM total
JOIN tickwork.lane l ON l.id = total.lane_id
LEFT JOIN delay ON delay.at = total.at AND delay.lane_id = total.lane_id
LEFT JOIN run ON run.at = total.at AND run.lane_id = total.lane_id
ORDER BY total.at, task, queue
LIMIT $9;

-- snippet: alike
-- Executions e of which statistics say the same, in steps that begin at $5, of a task $7 and a queue $8 if wanted.
SELECT width_bucket(e.scheduled_for, $5::timestamptz[]) AS step, e.status::text AS status,
    e.trigger = 'backfill' AS is_backfill, e.attempt, e.failures, e.losses,
    e.started_at IS NOT NULL AND e.finished_at IS NOT NULL AS has_run,
    CASE WHEN e.status = 'skipped' THEN e.reason END AS reason,
    CASE WHEN e.started_at IS NOT NULL AND e.attempt = 1 AND e.trigger <> 'backfill'
         THEN tickwork.histogram_bucket(e.started_at - e.scheduled_for) END AS delay_bucket,
    CASE WHEN e.status = 'completed' THEN tickwork.histogram_bucket(e.finished_at - e.started_at) END AS run_bucket,
    count(*) AS executions
FROM found e
WHERE $7::text IS NULL AND $8::text IS NULL
    OR e.lane_id IN (SELECT id FROM tickwork.lane
                     WHERE tenant_id = $1 AND task = coalesce($7, task) AND queue = coalesce($8, queue))
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

-- name: executions_of_jobs
-- The executions of some jobs that were due in a range; $6 due times of each are looked at, the latest first. Each row
-- says from when on all are counted.
WITH due AS MATERIALIZED (
    -- The due times of each job.
    SELECT wanted.job_id, due.at FROM unnest($2::bigint[]) AS wanted (job_id)
    CROSS JOIN LATERAL tickwork.due_times_of_job($1, wanted.job_id, $3, $4, $6) AS due
), found AS (
    -- What became of them.
    SELECT e.* FROM due CROSS JOIN LATERAL (
        SELECT scheduled_for, lane_id, status, trigger, attempt, failures, losses, started_at, finished_at, reason
        FROM tickwork.execution WHERE tenant_id = $1 AND scheduled_for = due.at AND job_id = due.job_id
        OFFSET 0
    ) e
), complete AS (
    -- From when on all of them were looked at; null: from the beginning.
    SELECT max(since) AS since FROM (SELECT min(at) AS since FROM due GROUP BY job_id HAVING count(*) = $6) cut
)
SELECT complete.since, alike.* FROM complete LEFT JOIN (
-- include: alike
) alike ON true;

-- name: executions_with_tag
-- The same of all jobs with the tag $2, among the latest $6 executions of the range.
WITH due AS MATERIALIZED (
    -- The executions of all jobs.
    SELECT job_id, scheduled_for, lane_id, status, trigger, attempt, failures, losses, started_at, finished_at, reason
    FROM tickwork.execution
    WHERE tenant_id = $1 AND scheduled_for >= $3 AND scheduled_for < $4
    ORDER BY tenant_id DESC, scheduled_for DESC, job_id DESC
    LIMIT $6
), found AS (
    -- Those of jobs with the tag.
    SELECT * FROM due
    WHERE EXISTS (SELECT FROM tickwork.job j WHERE j.id = due.job_id AND $2::text = ANY(j.tags) OFFSET 0)
), complete AS (
    -- From when on all of them were looked at; null: from the beginning.
    SELECT CASE WHEN count(*) = $6 THEN min(scheduled_for) END AS since FROM due
)
SELECT complete.since, alike.* FROM complete LEFT JOIN (
-- include: alike
) alike ON true;
