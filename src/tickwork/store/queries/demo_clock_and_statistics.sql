-- How to read these queries: README.md

-- name: any_job
-- Whether there is any job.
SELECT EXISTS (SELECT FROM tickwork.job) AS is_any;

-- name: any_job_with_tag
-- Whether any job has a tag.
SELECT EXISTS (SELECT FROM tickwork.job WHERE tags @> ARRAY[$1::text]) AS is_any;

-- name: move_clock
-- Sets the clock that stands in for the database's own.
UPDATE tickwork.settable_clock SET at = $1;

-- name: next_time
-- The next time at which a rule is due or an execution may start.
SELECT least(
    (SELECT min(next_at) FROM tickwork.rule WHERE next_at > $1),
    (SELECT min(ready_at) FROM tickwork.execution WHERE ready_at > $1 AND ready_at < 'infinity')
) AS at;

-- name: request_recounts_of_fired
-- Asks for the minutes to be counted again in which executions were created in other ways than by rules.
INSERT INTO tickwork.statistic_recount (at) SELECT DISTINCT at FROM tickwork.fired_to_count WHERE at < $1;

-- name: merge_from
-- Lets hours and days be merged from a time on, and minutes be counted from now on.
UPDATE tickwork.statistic_upkeep
SET fired_until = date_trunc('minute', tickwork.clock()), hours_until = date_trunc('hour', $1::timestamptz, 'UTC'),
    days_until = date_trunc('day', $1::timestamptz, 'UTC');

-- name: quoted_database
-- The name of this database, as statements need it.
SELECT quote_ident(current_database()) AS name;
