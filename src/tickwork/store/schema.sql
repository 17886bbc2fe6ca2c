-- Written by `make schema`: what the files in migrations/ amount to. Their comments say why.

CREATE SCHEMA tickwork;

CREATE TYPE tickwork.attempt_outcome AS ENUM (
    'completed',
    'failed',
    'lost',
    'snoozed',
    'returned',
    'cancelled',
    'held'
);

CREATE TYPE tickwork.execution_status AS ENUM (
    'pending',
    'running',
    'completed',
    'failed',
    'cancelled',
    'skipped'
);

CREATE TYPE tickwork.execution_trigger AS ENUM (
    'schedule',
    'manual',
    'backfill',
    'retry'
);

CREATE TYPE tickwork.job_status AS ENUM (
    'active',
    'paused',
    'completed',
    'failed',
    'cancelled'
);

CREATE TYPE tickwork.needed_outcome AS ENUM (
    'success',
    'failure',
    'any outcome'
);

CREATE TYPE tickwork.overlap AS ENUM (
    'skip',
    'queue',
    'allow',
    'replace'
);

CREATE TYPE tickwork.statistic_source AS ENUM (
    'memory',
    'execution',
    'exception',
    'merged'
);

CREATE TYPE tickwork.statistic_span AS ENUM (
    'minute',
    'hour',
    'day'
);

CREATE TYPE tickwork.verdict AS ENUM (
    'met',
    'left out',
    'not taken',
    'skipped',
    'blocked'
);

CREATE FUNCTION tickwork.await_parents(children bigint[], round_at timestamp with time zone, can_miss boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM (
        SELECT DISTINCT p.tenant_id, p.scheduled_for, p.id
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        ORDER BY 1, 2, 3
    ) parent CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution e
        WHERE e.tenant_id = parent.tenant_id AND e.scheduled_for = parent.scheduled_for AND e.job_id = parent.id
        FOR NO KEY UPDATE
    ) locked;
    UPDATE tickwork.execution e SET followed = true
    FROM (
        SELECT DISTINCT p.tenant_id, p.scheduled_for, p.id
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        OFFSET 0
    ) parent
    WHERE e.tenant_id = ANY(ARRAY[parent.tenant_id]) AND e.scheduled_for = parent.scheduled_for AND e.job_id = parent.id
        AND NOT e.followed AND e.status <> 'completed';
    INSERT INTO tickwork.awaited
        (child_id, child_at, parent_id, parent_at, tenant_id, needs, condition, unsure, verdict)
    SELECT edge.child_id, edge.child_at, edge.parent_id, edge.parent_at, edge.tenant_id, edge.needs, edge.condition,
        can_miss AND edge.repeats AND e.status IS NULL, e.verdict
    FROM (
        SELECT d.tenant_id, d.child_id, coalesce(c.scheduled_for, round_at) AS child_at, d.parent_id,
            coalesce(p.scheduled_for, round_at) AS parent_at, d.needs, d.condition, p.scheduled_for IS NULL AS repeats,
            p.reason_to_skip, CASE WHEN p.deferred AND p.status = 'cancelled' THEN 'cancelled'
                                   WHEN p.reason_to_skip IS NOT NULL THEN 'skipped' END::tickwork.execution_status
                AS ended_early
        FROM tickwork.dependency d
        JOIN tickwork.job c ON c.id = d.child_id
        JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met
        OFFSET 0
    ) edge
    LEFT JOIN LATERAL (
        SELECT e.status, CASE WHEN e.finished_at IS NOT NULL THEN tickwork.judge(
            edge.needs, edge.condition, e.status, e.reason,
            CASE WHEN edge.condition IS NOT NULL THEN tickwork.readable_result(e.result) END) END AS verdict
        FROM tickwork.execution e
        WHERE e.tenant_id = edge.tenant_id AND e.scheduled_for = edge.parent_at AND e.job_id = edge.parent_id
        UNION ALL
        SELECT NULL, tickwork.judge(edge.needs, edge.condition, edge.ended_early, edge.reason_to_skip, NULL)
        WHERE edge.ended_early IS NOT NULL
        LIMIT 1
    ) e ON true
    WHERE e.verdict IS DISTINCT FROM 'met' OR round_at IS NOT NULL
    ON CONFLICT DO NOTHING;
    UPDATE tickwork.awaited a SET verdict = 'met'
    FROM tickwork.job p
    WHERE a.child_id = ANY(children) AND a.child_at = coalesce(round_at, a.child_at) AND a.needs = 'any outcome'
        AND p.id = a.parent_id AND p.depends AND NOT p.id = ANY(children)
        AND tickwork.is_blocked(a.parent_id, a.parent_at);
    PERFORM tickwork.write_blocked(parent.id, parent.scheduled_for, parent.status, children)
    FROM (
        SELECT DISTINCT p.id, p.scheduled_for,
            coalesce(e.status::text, CASE p.status WHEN 'cancelled' THEN 'cancelled' END) AS status
        FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status FROM tickwork.execution e
            WHERE e.tenant_id = p.tenant_id AND e.scheduled_for = p.scheduled_for AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = ANY(children) AND NOT d.met AND p.scheduled_for IS NOT NULL
        OFFSET 0
    ) parent
    WHERE parent.status IN ('failed', 'cancelled');
END $$;

CREATE FUNCTION tickwork.awaited_by(child bigint, at timestamp with time zone) RETURNS TABLE(tenant_id integer, parent_id bigint, parent_at timestamp with time zone, is_parent boolean)
    LANGUAGE sql STABLE
    AS $$
    WITH RECURSIVE way AS (
        -- Its own parents, then the parents of each of them.
        SELECT a.tenant_id, a.parent_id, a.parent_at, true AS is_parent
        FROM tickwork.awaited a WHERE a.child_id = child AND a.child_at = at
        UNION
        SELECT a.tenant_id, a.parent_id, a.parent_at, false
        FROM way JOIN tickwork.awaited a ON a.child_id = way.parent_id AND a.child_at = way.parent_at
    )
    SELECT * FROM way
$$;

CREATE FUNCTION tickwork.awaits_failed(child bigint, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM tickwork.awaited a JOIN tickwork.job p ON p.id = a.parent_id
        LEFT JOIN LATERAL (
            SELECT status FROM tickwork.execution
            WHERE tenant_id = a.tenant_id AND scheduled_for = a.parent_at AND job_id = a.parent_id
            OFFSET 0
        ) e ON true
        WHERE a.child_id = child AND a.child_at = at AND a.needs <> 'any outcome'
            AND (e.status IN ('failed', 'cancelled')
                 OR e.status IS NULL AND p.status = 'cancelled' AND p.scheduled_for = a.parent_at));
END $$;

CREATE FUNCTION tickwork.awaits_parents(job bigint, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM tickwork.awaited WHERE child_id = job AND child_at = at);
END $$;

CREATE FUNCTION tickwork.bucket_of_units(units bigint) RETURNS smallint
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN units < 16 THEN greatest(units, 0)
                ELSE 8 * (61 - position(B'1' IN units::bit(64))) + (units >> 61 - position(B'1' IN units::bit(64)))
           END::smallint
$$;

CREATE FUNCTION tickwork.cancelled_with(fan_out bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT format('fan-out %s was cancelled', tickwork.job_name(fan_out))
$$;

CREATE FUNCTION tickwork.clock() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$SELECT statement_timestamp()$$;

CREATE FUNCTION tickwork.count_blocked() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE firsts bigint[]; first_times timestamptz[]; jobs bigint[]; times timestamptz[]; locked bigint[] := '{}';
BEGIN
    WITH waiting AS (
        -- What waits for a parent that has failed or was cancelled.
        UPDATE tickwork.awaited SET verdict = NULL WHERE verdict = 'blocked' RETURNING child_id, child_at
    )
    SELECT array_agg(child_id), array_agg(child_at) INTO firsts, first_times FROM waiting;
    IF firsts IS NULL THEN
        RETURN;
    END IF;
    LOOP
        WITH RECURSIVE way AS (
            -- What waits in vain, then what waits for that.
            SELECT * FROM unnest(firsts, first_times) AS first (id, at)
            UNION
            SELECT a.child_id, a.child_at
            FROM way JOIN tickwork.awaited a ON a.parent_id = way.id AND a.parent_at = way.at
            WHERE a.needs <> 'any outcome'
        )
        SELECT array_agg(id), array_agg(at) INTO jobs, times FROM way;
        EXIT WHEN NOT EXISTS (SELECT unnest(jobs) EXCEPT SELECT unnest(locked));
        PERFORM FROM tickwork.job WHERE id = ANY(jobs) ORDER BY id FOR NO KEY UPDATE;
        locked := jobs;
    END LOOP;
    UPDATE tickwork.awaited a SET verdict = 'met'
    FROM unnest(jobs, times) AS blocked (id, at)
    WHERE a.parent_id = blocked.id AND a.parent_at = blocked.at AND a.needs = 'any outcome';
END $$;

CREATE FUNCTION tickwork.count_ended() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE tenants integer[]; children bigint[]; times timestamptz[]; not_taken_fors bigint[]; skipped_fors bigint[];
    left_outs bigint[]; reasons text[];
BEGIN
    WHILE EXISTS (SELECT FROM tickwork.awaited WHERE verdict IS NOT NULL) LOOP
        PERFORM tickwork.count_blocked();
        PERFORM FROM tickwork.job
        WHERE id = ANY(ARRAY(SELECT DISTINCT child_id FROM tickwork.awaited WHERE verdict IS NOT NULL))
        ORDER BY id FOR NO KEY UPDATE;
        WITH counted AS (
            -- What parents that have ended were waited for by, deleted.
            DELETE FROM tickwork.awaited WHERE verdict IS NOT NULL RETURNING *
        ), child AS (
            -- The executions that waited for them, each with a parent that decides what becomes of it.
            SELECT tenant_id, child_id, child_at,
                min(parent_id) FILTER (WHERE verdict = 'not taken') AS not_taken_for,
                min(parent_id) FILTER (WHERE verdict = 'skipped') AS skipped_for,
                min(parent_id) FILTER (WHERE verdict = 'left out') AS left_out
            FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 3, 2
        )
        SELECT array_agg(tenant_id), array_agg(child_id), array_agg(child_at), array_agg(not_taken_for),
            array_agg(skipped_for), array_agg(left_out)
        INTO tenants, children, times, not_taken_fors, skipped_fors, left_outs FROM child;
        DELETE FROM tickwork.awaited a
        USING unnest(children, times, not_taken_fors, skipped_fors) AS c (id, at, not_taken_for, skipped_for)
        WHERE coalesce(c.not_taken_for, c.skipped_for) IS NOT NULL AND a.child_id = c.id AND a.child_at = c.at;
        SELECT array_agg(c.tenant_id), array_agg(c.id), array_agg(c.at), array_agg(CASE
            WHEN c.not_taken_for IS NOT NULL THEN tickwork.not_taken_reason(c.tenant_id, c.id, c.not_taken_for, c.at)
            WHEN c.skipped_for IS NOT NULL THEN tickwork.skip_reason(c.tenant_id, c.skipped_for, c.at)
            WHEN c.left_out IS NOT NULL AND tickwork.is_off_all_branches(c.tenant_id, c.id, c.at)
                THEN tickwork.not_taken_reason(c.tenant_id, c.id, c.left_out, c.at) END)
        INTO tenants, children, times, reasons
        FROM unnest(tenants, children, times, not_taken_fors, skipped_fors, left_outs)
            AS c (tenant_id, id, at, not_taken_for, skipped_for, left_out)
        WHERE NOT tickwork.awaits_parents(c.id, c.at);
        UPDATE tickwork.execution e
        SET status = CASE WHEN c.reason IS NULL THEN e.status ELSE 'skipped' END,
            ready_at = CASE WHEN c.reason IS NOT NULL THEN NULL
                            WHEN c.paused OR e.blocked_by IS NOT NULL THEN 'infinity'
                            ELSE greatest(e.scheduled_for, tickwork.clock()) END,
            finished_at = CASE WHEN c.reason IS NOT NULL THEN tickwork.clock() END,
            reason = c.reason
        FROM (
            SELECT c.*, (SELECT j.status = 'paused' FROM tickwork.job j WHERE j.id = c.id) AS paused
            FROM unnest(tenants, children, times, reasons) AS c (tenant_id, id, at, reason)
            OFFSET 0
        ) c
        WHERE e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.at AND e.job_id = c.id
            AND e.ready_at IS NOT DISTINCT FROM 'infinity';  -- not =, which the index of what waits could answer
        IF array_remove(reasons, NULL) <> '{}' THEN
            PERFORM tickwork.skip_deferred(children, reasons);
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION tickwork.count_what_ended() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.due_times_of_job(tenant integer, job bigint, since timestamp with time zone, before timestamp with time zone, at_most bigint) RETURNS TABLE(at timestamp with time zone)
    LANGUAGE sql STABLE
    AS $$
    SELECT DISTINCT t.scheduled_for
    FROM tickwork.job j
    CROSS JOIN LATERAL (
        (SELECT r.scheduled_for
         FROM (SELECT j.rule_id UNION SELECT p.rule_id FROM tickwork.past_rule p WHERE p.job_id = j.id) belonged
         CROSS JOIN LATERAL (
             SELECT scheduled_for FROM tickwork.round
             WHERE rule_id = belonged.rule_id AND missed = 0
                 AND scheduled_for >= greatest(since, j.created_at) AND scheduled_for < before
             ORDER BY scheduled_for DESC LIMIT at_most
         ) r)
        UNION ALL
        SELECT next_at FROM tickwork.rule
        WHERE id = j.rule_id AND cursor_job IS NOT NULL AND next_at >= since AND next_at < before
        UNION ALL
        (SELECT scheduled_for FROM tickwork.off_schedule_execution
         WHERE job_id = j.id AND scheduled_for >= since AND scheduled_for < before
         ORDER BY scheduled_for DESC LIMIT at_most)
        UNION ALL
        SELECT j.scheduled_for WHERE j.scheduled_for >= since AND j.scheduled_for < before
    ) t
    WHERE j.tenant_id = tenant AND j.id = job
    ORDER BY t.scheduled_for DESC
    LIMIT at_most
$$;

CREATE FUNCTION tickwork.each(sent anyarray, element anyelement) RETURNS anyelement
    LANGUAGE sql IMMUTABLE
    AS $$SELECT CASE cardinality(sent) WHEN 1 THEN sent[1] ELSE element END$$;

CREATE FUNCTION tickwork.end_callback_wait() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM tickwork.callback_wait WHERE lease_id = OLD.id;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.find_unended(tenant integer, job bigint, at timestamp with time zone) RETURNS SETOF timestamp with time zone
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH RECURSIVE way AS (
        -- The execution, then the one that was in its way, as long as these have ended.
        SELECT first.* FROM (
            SELECT e.scheduled_for, e.finished_at, e.blocked_by FROM tickwork.execution e
            WHERE e.tenant_id = tenant AND e.scheduled_for = at AND e.job_id = job
            OFFSET 0
        ) first
        UNION
        SELECT before.* FROM way CROSS JOIN LATERAL (
            SELECT b.scheduled_for, b.finished_at, b.blocked_by FROM tickwork.execution b
            WHERE b.tenant_id = tenant AND b.scheduled_for = way.blocked_by AND b.job_id = job
            OFFSET 0
        ) before
        WHERE way.finished_at IS NOT NULL
    )
    SELECT scheduled_for FROM way WHERE finished_at IS NULL
$$;

CREATE FUNCTION tickwork.given(tenant integer, at timestamp with time zone, job bigint, number integer) RETURNS TABLE(task text, payload bytea, target bytea)
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(v.task, j.task), coalesce(own.payload, v.payload, j.payload),
        CASE WHEN v.task IS NULL THEN j.target ELSE v.target END
    FROM tickwork.job j
    LEFT JOIN LATERAL (
        SELECT v.task, v.payload, v.target
        FROM tickwork.attempt_version a JOIN tickwork.job_version v ON v.job_id = a.job_id AND v.version = a.version
        WHERE a.tenant_id = tenant AND a.scheduled_for = at AND a.job_id = job AND a.attempt = number
            AND v.payload IS NOT NULL
        OFFSET 0
    ) v ON true
    LEFT JOIN LATERAL (
        SELECT p.payload FROM tickwork.retry_payload p
        WHERE p.tenant_id = tenant AND p.scheduled_for = at AND p.job_id = job AND p.attempt <= number
        ORDER BY p.attempt DESC LIMIT 1
    ) own ON true
    WHERE j.id = job
$$;

CREATE FUNCTION tickwork.histogram_bucket(took interval) RETURNS smallint
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT tickwork.bucket_of_units((date_part('epoch', took) * 1e6::float8)::bigint >> 7)
$$;

CREATE FUNCTION tickwork.is_blocked(job bigint, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN EXISTS (
        WITH RECURSIVE way AS (
            -- What it waits for, then what each of these waits for.
            SELECT a.tenant_id, a.parent_id, a.parent_at FROM tickwork.awaited a
            WHERE a.child_id = job AND a.child_at = at AND a.needs <> 'any outcome'
            UNION
            SELECT a.tenant_id, a.parent_id, a.parent_at
            FROM way JOIN tickwork.awaited a ON a.child_id = way.parent_id AND a.child_at = way.parent_at
            WHERE a.needs <> 'any outcome'
        )
        SELECT FROM way JOIN tickwork.job p ON p.id = way.parent_id LEFT JOIN LATERAL (
            SELECT e.status FROM tickwork.execution e
            WHERE e.tenant_id = way.tenant_id AND e.scheduled_for = way.parent_at AND e.job_id = way.parent_id
            OFFSET 0
        ) e ON true
        WHERE e.status IN ('failed', 'cancelled') OR e.status IS NULL AND p.deferred AND p.status = 'cancelled');
END $$;

CREATE FUNCTION tickwork.is_json(result bytea) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    PERFORM convert_from(result, 'UTF8')::json;
    RETURN true;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END $$;

CREATE FUNCTION tickwork.is_off_all_branches(tenant integer, child bigint, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM tickwork.dependency d JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status, e.reason FROM tickwork.execution e
            WHERE e.tenant_id = tenant AND e.scheduled_for = coalesce(p.scheduled_for, at) AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = child
            AND (d.needs = 'any outcome'
                 OR NOT tickwork.was_not_taken(e.status, e.reason) AND p.reason_to_skip IS NULL));
END $$;

CREATE FUNCTION tickwork.job_name(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT 'j' || string_agg(
        substr('0123456789abcdefghjkmnpqrstvwxyz', (id >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 12) AS n WHERE id >> 5 * n > 0
$$;

CREATE FUNCTION tickwork.judge(needs tickwork.needed_outcome, condition jsonpath, status tickwork.execution_status, reason text, result jsonb) RETURNS tickwork.verdict
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN needs = 'any outcome' THEN 'met'
        WHEN status = 'failed' AND needs = 'failure' THEN 'met'
        WHEN status IN ('failed', 'cancelled') THEN 'blocked'
        WHEN status = 'skipped' AND NOT tickwork.was_not_taken(status, reason) THEN 'skipped'
        WHEN needs = 'failure' THEN 'not taken'
        WHEN condition IS NOT NULL AND status = 'completed' AND jsonb_path_match(result, condition, '{}', true)
            THEN 'met'
        WHEN condition IS NOT NULL THEN 'not taken'
        WHEN status = 'completed' THEN 'met'
        ELSE 'left out' END::tickwork.verdict
$$;

CREATE TABLE tickwork.execution (
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    ready_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    worker_id integer,
    status tickwork.execution_status NOT NULL,
    trigger tickwork.execution_trigger NOT NULL,
    priority smallint NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    losses smallint DEFAULT 0 NOT NULL,
    blocked_by timestamp with time zone,
    result bytea,
    reason text,
    progress bytea,
    followed boolean DEFAULT false NOT NULL,
    own_payload boolean,
    moved_by xid8,
    CONSTRAINT ended_is_dated CHECK (((status = ANY (ARRAY['pending'::tickwork.execution_status, 'running'::tickwork.execution_status])) = (finished_at IS NULL))),
    CONSTRAINT running_has_worker CHECK (((status <> 'running'::tickwork.execution_status) OR (worker_id IS NOT NULL))),
    CONSTRAINT waiting_is_pending CHECK (((status = 'pending'::tickwork.execution_status) = (ready_at IS NOT NULL)))
)
PARTITION BY RANGE (scheduled_for);

CREATE FUNCTION tickwork.judge_ended(ended tickwork.execution) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE result jsonb;
BEGIN
    IF ended.status = 'completed' AND EXISTS (
        SELECT FROM tickwork.awaited
        WHERE parent_id = ended.job_id AND parent_at = ended.scheduled_for AND condition IS NOT NULL)
    THEN
        result := tickwork.readable_result(ended.result);
    END IF;
    UPDATE tickwork.awaited SET verdict = tickwork.judge(needs, condition, ended.status, ended.reason, result)
    WHERE parent_id = ended.job_id AND parent_at = ended.scheduled_for;
END $$;

CREATE FUNCTION tickwork.make_round() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE backfilled boolean := NEW.trigger = 'backfill'; made bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM tickwork.job WHERE id = NEW.job_id AND rule_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    WITH RECURSIVE follower AS (
        -- The job and all recurring jobs that depend on it, directly or through others, and were active then.
        SELECT NEW.job_id AS id
        UNION
        SELECT c.id FROM follower f
        JOIN tickwork.dependency d ON d.parent_id = f.id
        JOIN tickwork.job c ON c.id = d.child_id
        WHERE c.rule_id IS NOT NULL AND c.status <> 'cancelled' AND (c.active_from <= NEW.scheduled_for OR backfilled)
    ), beside AS (
        -- Their executions: created, or made to wait again if they were skipped because of a parent.
        INSERT INTO tickwork.execution AS e
            (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
        SELECT NEW.tenant_id, NEW.scheduled_for, c.id, c.lane_id, c.priority, NEW.trigger, 'pending', 'infinity',
            c.followed
        FROM follower JOIN tickwork.job c ON c.id = follower.id
        WHERE c.id <> NEW.job_id
        ORDER BY c.id
        ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
        SET status = 'pending', ready_at = 'infinity', finished_at = NULL, reason = NULL, attempt = e.attempt + 1,
            trigger = excluded.trigger, lane_id = excluded.lane_id, priority = excluded.priority,
            followed = excluded.followed
        WHERE e.status = 'skipped' AND e.reason LIKE 'parent %'
        RETURNING job_id
    ), noted AS (
        -- The same as off-schedule executions, if the job's own is one.
        INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for, backfill_id)
        SELECT beside.job_id, x.scheduled_for, x.backfill_id
        FROM beside
        JOIN tickwork.off_schedule_execution x ON x.job_id = NEW.job_id AND x.scheduled_for = NEW.scheduled_for
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(job_id) INTO made FROM beside;
    IF made IS NOT NULL THEN
        PERFORM tickwork.await_parents(made, NEW.scheduled_for, NOT backfilled);
    END IF;
    IF NEW.finished_at IS NOT NULL THEN
        PERFORM tickwork.judge_ended(NEW);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.micros(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$ SELECT (date_part('epoch', at) * 1e6::float8)::bigint $$;

CREATE FUNCTION tickwork.move_awaited() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE tickwork.awaited SET parent_at = NEW.scheduled_for
    WHERE parent_id = NEW.id AND parent_at = OLD.scheduled_for;
    UPDATE tickwork.awaited SET child_at = NEW.scheduled_for
    WHERE child_id = NEW.id AND child_at = OLD.scheduled_for;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.not_taken_reason(tenant integer, child bigint, parent bigint, at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT 'not taken: ' || format(CASE
        WHEN e.status = 'skipped' OR p.reason_to_skip IS NOT NULL THEN 'parent %s was not taken'
        WHEN d.needs = 'failure' THEN 'parent %s did not fail'
        WHEN NOT tickwork.is_json(e.result) THEN 'the result of parent %s is not valid JSON'
        ELSE 'the condition on the result of parent %s is not true' END, tickwork.job_name(parent))
    FROM tickwork.job p
    LEFT JOIN tickwork.dependency d ON d.child_id = child AND d.parent_id = parent
    LEFT JOIN LATERAL (
        SELECT e.status, e.result FROM tickwork.execution e
        WHERE e.tenant_id = tenant AND e.scheduled_for = coalesce(p.scheduled_for, at) AND e.job_id = parent
        OFFSET 0
    ) e ON true
    WHERE p.id = parent
$$;

CREATE FUNCTION tickwork.note_end() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tickwork.judge_ended(NEW);
    UPDATE tickwork.dependency d SET met = true
    FROM tickwork.job p, tickwork.job c
    WHERE d.parent_id = NEW.job_id AND NOT d.met
        AND p.id = d.parent_id AND p.scheduled_for = NEW.scheduled_for AND c.id = d.child_id AND c.rule_id IS NOT NULL
        AND tickwork.judge(d.needs, d.condition, NEW.status, NEW.reason,
                           CASE WHEN d.condition IS NOT NULL THEN tickwork.readable_result(NEW.result) END) = 'met';
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.note_job_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.job_change
        (tenant_id, job_id, lane_id, name, key, tags, owner, description, rule_id, scheduled_for)
    VALUES (OLD.tenant_id, OLD.id, OLD.lane_id, OLD.name, OLD.key, OLD.tags, OLD.owner, OLD.description, OLD.rule_id,
            OLD.scheduled_for);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.note_moved_job() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.moved_job (tenant_id, job_id) VALUES (NEW.tenant_id, NEW.id)
    ON CONFLICT (tenant_id, job_id) DO UPDATE SET moved_at = excluded.moved_at;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.outcomes_of_parents(child bigint, round_at timestamp with time zone) RETURNS bytea
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE unreadable text;
BEGIN
    RETURN (
        SELECT convert_to(CASE WHEN sum(length(e.result)) > 262144 THEN sum(length(e.result))::text ELSE
            json_agg(json_build_array(tickwork.job_name(p.id), p.name, p.key, p.task, e.status,
                                      convert_from(e.result, 'UTF8')::json) ORDER BY p.id)::text END, 'UTF8')
        FROM tickwork.dependency d
        JOIN tickwork.job p ON p.id = d.parent_id
        LEFT JOIN LATERAL (
            SELECT e.status, e.result FROM tickwork.execution e
            WHERE e.tenant_id = d.tenant_id AND e.scheduled_for = coalesce(p.scheduled_for, round_at)
                AND e.job_id = p.id
            OFFSET 0
        ) e ON true
        WHERE d.child_id = child
    );
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    SELECT string_agg(tickwork.job_name(p.id), ', ' ORDER BY p.id) INTO unreadable
    FROM tickwork.dependency d
    JOIN tickwork.job p ON p.id = d.parent_id
    CROSS JOIN LATERAL (
        SELECT e.result FROM tickwork.execution e
        WHERE e.tenant_id = d.tenant_id AND e.scheduled_for = coalesce(p.scheduled_for, round_at) AND e.job_id = p.id
        OFFSET 0
    ) e
    WHERE d.child_id = child AND e.result IS NOT NULL AND NOT tickwork.is_json(e.result);
    RETURN convert_to(
        to_json(format('the result of %s, on which it depends, is not valid JSON', unreadable))::text, 'UTF8');
END $$;

CREATE FUNCTION tickwork.partitions_with_waiting(begun_by timestamp with time zone) RETURNS TABLE(begins timestamp with time zone, ends timestamp with time zone)
    LANGUAGE sql STABLE
    AS $_$
    SELECT p.begins AT TIME ZONE 'UTC', p.ends AT TIME ZONE 'UTC'
    FROM (
        SELECT day AS begins,
            day + CASE WHEN length(label) = 6 THEN interval '1 month' ELSE interval '1 day' END AS ends
        FROM (
            SELECT label, to_date(rpad(label, 8, '01'), 'YYYYMMDD')::timestamp AS day FROM (
                SELECT substring(c.relname FROM '\d+$') AS label
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'tickwork.execution'::regclass
            ) named
        ) labelled
        OFFSET 0
    ) p
    CROSS JOIN LATERAL (
        SELECT FROM tickwork.execution
        WHERE scheduled_for >= p.begins AT TIME ZONE 'UTC' AND scheduled_for < p.ends AT TIME ZONE 'UTC'
            AND ready_at IS NOT NULL
        ORDER BY lane_id, priority, ready_at LIMIT 1
    ) waiting
    WHERE p.begins AT TIME ZONE 'UTC' <= begun_by
$_$;

CREATE FUNCTION tickwork.readable_result(result bytea) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN coalesce(convert_from(result, 'UTF8')::jsonb, 'null');
EXCEPTION WHEN data_exception OR program_limit_exceeded OR untranslatable_character THEN
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.request_recount() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE minute timestamptz := date_trunc('minute', NEW.scheduled_for);
BEGIN
    IF current_setting('tickwork.recount_requested', true) = minute::text THEN
        RETURN NULL;  -- by this transaction: those that are late come in great numbers
    END IF;
    PERFORM set_config('tickwork.recount_requested', minute::text, true);
    -- A request that is there stays there until this transaction has ended, or else it makes another.
    PERFORM FROM tickwork.statistic_recount WHERE at = minute LIMIT 1 FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO tickwork.statistic_recount (at) VALUES (minute);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.request_remerge() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE hour timestamptz := date_trunc('hour', NEW.at, 'UTC');
BEGIN
    PERFORM FROM tickwork.statistic_remerge WHERE at = hour LIMIT 1 FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO tickwork.statistic_remerge (at) VALUES (hour);
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE tickwork.lease (
    id bigint NOT NULL,
    worker_id integer NOT NULL,
    tenant_ids integer[] NOT NULL,
    scheduled_fors timestamp with time zone[] NOT NULL,
    job_ids bigint[] NOT NULL,
    leased_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    check_at timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='20000', toast.autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY tickwork.lease ALTER COLUMN tenant_ids SET STORAGE EXTERNAL;
ALTER TABLE ONLY tickwork.lease ALTER COLUMN scheduled_fors SET STORAGE EXTERNAL;
ALTER TABLE ONLY tickwork.lease ALTER COLUMN job_ids SET STORAGE EXTERNAL;

CREATE FUNCTION tickwork.running_of_lease(lease tickwork.lease, first integer DEFAULT 1, last integer DEFAULT 2147483647) RETURNS TABLE(tenant_id integer, scheduled_for timestamp with time zone, job_id bigint, lane_id integer, priority smallint, attempt integer, started_at timestamp with time zone, place bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT k.tenant_id, k.scheduled_for, k.job_id, e.lane_id, e.priority, e.attempt, e.started_at, k.place
    FROM (
        SELECT CASE cardinality(lease.tenant_ids) WHEN 1 THEN lease.tenant_ids[1] END AS tenant_id,
            CASE cardinality(lease.scheduled_fors) WHEN 1 THEN lease.scheduled_fors[1] END AS scheduled_for
        OFFSET 0
    ) alike
    CROSS JOIN LATERAL (
        SELECT coalesce(alike.tenant_id, each.tenant_id) AS tenant_id,
            coalesce(alike.scheduled_for, at) AS scheduled_for, each.job_id, first - 1 + ordinality AS place
        FROM unnest(lease.tenant_ids[first:last], lease.scheduled_fors[first:last], lease.job_ids[first:last])
            WITH ORDINALITY AS each (tenant_id, at, job_id)
        OFFSET 0
    ) k
    JOIN tickwork.execution e
        ON e.tenant_id = ANY(ARRAY[k.tenant_id]) AND e.scheduled_for = k.scheduled_for AND e.job_id = k.job_id + 0
    WHERE e.worker_id = lease.worker_id AND e.status = 'running'
$$;

CREATE FUNCTION tickwork.skip_deferred(jobs bigint[], reasons text[]) RETURNS void
    LANGUAGE sql
    AS $$
    WITH skipped AS (
        -- The jobs, with their reasons.
        UPDATE tickwork.job j SET reason_to_skip = s.reason
        FROM unnest(jobs, reasons) AS s (id, reason)
        WHERE s.reason IS NOT NULL AND j.id = s.id AND j.deferred
        RETURNING j.id, j.scheduled_for, j.reason_to_skip
    )
    UPDATE tickwork.awaited a SET verdict = tickwork.judge(needs, condition, 'skipped', s.reason_to_skip, NULL)
    FROM skipped s WHERE a.parent_id = s.id AND a.parent_at = s.scheduled_for
$$;

CREATE FUNCTION tickwork.skip_ids(ids bigint, small_ids bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    each record;
    last bigint;
BEGIN
    FOR each IN
        SELECT c.oid::regclass AS sequence, s.seqmax AS most,
            CASE s.seqtypid WHEN 'bigint'::regtype THEN ids ELSE small_ids END AS skipped
        FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
        WHERE c.relnamespace = 'tickwork'::regnamespace AND c.relpersistence = 'p'
    LOOP
        last := nextval(each.sequence);
        PERFORM setval(each.sequence, last + least(each.skipped, (each.most - last) / 16));
    END LOOP;
    UPDATE tickwork.last_event SET number = number + ids;
    BEGIN
        PERFORM setval('tickwork.pulse_id_seq', (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    EXCEPTION WHEN internal_error THEN
        ALTER TABLE tickwork.pulse ALTER id DROP IDENTITY;
        ALTER TABLE tickwork.pulse ALTER id ADD GENERATED ALWAYS AS IDENTITY;
    END;
END $$;

CREATE FUNCTION tickwork.skip_reason(tenant integer, parent bigint, at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN e.reason LIKE 'parent %' THEN e.reason
                WHEN e.job_id IS NOT NULL THEN format('parent %s was skipped: %s', tickwork.job_name(parent), e.reason)
                ELSE format('parent %s did not run at that time: %s', tickwork.job_name(parent), CASE
                     WHEN missed.reason IS NOT NULL THEN missed.reason
                     WHEN p.status IN ('paused', 'cancelled') THEN 'it was ' || p.status
                     ELSE 'it was not due' END) END
    FROM tickwork.job p
    LEFT JOIN tickwork.execution e ON e.tenant_id = tenant AND e.scheduled_for = at AND e.job_id = parent
    LEFT JOIN LATERAL (
        SELECT r.reason FROM tickwork.round r
        WHERE r.rule_id = p.rule_id AND r.scheduled_for <= at AND r.missed_until >= at
        ORDER BY r.scheduled_for DESC LIMIT 1
    ) missed ON true
    WHERE p.id = parent
$$;

CREATE FUNCTION tickwork.unended_execution(tenant integer, job bigint, at timestamp with time zone) RETURNS SETOF tickwork.execution
    LANGUAGE plpgsql STABLE ROWS 1
    AS $$
BEGIN
    RETURN QUERY
    SELECT e.* FROM tickwork.find_unended(tenant, job, at) AS unended (at) CROSS JOIN LATERAL (
        SELECT * FROM tickwork.execution x
        WHERE x.tenant_id = tenant AND x.scheduled_for = unended.at AND x.job_id = job
        OFFSET 0
    ) e;
END $$;

CREATE FUNCTION tickwork.waiting_times(tenant integer, job bigint, lane integer) RETURNS SETOF timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    WITH asked AS MATERIALIZED (
        -- The job's only due time, if it has one, and whether it repeats or did.
        SELECT j.scheduled_for,
            j.rule_id IS NOT NULL OR EXISTS (SELECT FROM tickwork.past_rule p WHERE p.job_id = j.id OFFSET 0) AS repeats
        FROM tickwork.job j WHERE j.id = job
    )
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT scheduled_for FROM tickwork.execution
        WHERE asked.repeats AND (tenant_id + 0, job_id + 0) = (tenant, job) AND lane_id = lane AND ready_at IS NOT NULL
        OFFSET 0
    ) e
    UNION ALL
    SELECT e.scheduled_for FROM asked CROSS JOIN LATERAL (
        SELECT asked.scheduled_for
        UNION
        SELECT x.scheduled_for FROM tickwork.off_schedule_execution x WHERE x.job_id = job
    ) due CROSS JOIN LATERAL (
        SELECT scheduled_for, ready_at, lane_id FROM tickwork.execution
        WHERE tenant_id = tenant AND scheduled_for = due.scheduled_for AND job_id = job
        OFFSET 0
    ) e
    WHERE e.ready_at IS NOT NULL AND (NOT asked.repeats OR e.lane_id <> lane)
$$;

CREATE FUNCTION tickwork.was_not_taken(status tickwork.execution_status, reason text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT coalesce(status = 'skipped' AND reason LIKE 'not taken%', false) $$;

CREATE FUNCTION tickwork.was_tried(tenant integer, at timestamp with time zone, job bigint, attempts integer) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT attempts > 1 AND attempts - 1 > (
        SELECT count(*) FROM tickwork.attempt a
        WHERE a.tenant_id = tenant AND a.scheduled_for = at AND a.job_id = job AND a.outcome IN ('returned', 'held'))
        OR EXISTS (SELECT FROM tickwork.job x WHERE x.element_of = job AND x.element_at = at)
$$;

CREATE FUNCTION tickwork.write_blocked(parent bigint, at timestamp with time zone, outcome text, children bigint[] DEFAULT NULL::bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
    SELECT a.tenant_id, 'execution.blocked', a.child_id, a.child_at, c.lane_id,
        json_build_object('reason', format('parent %s %s', tickwork.job_name(parent),
                                           CASE outcome WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END))::text
    FROM tickwork.awaited a JOIN tickwork.job c ON c.id = a.child_id
    WHERE a.parent_id = parent AND a.parent_at = at
        AND (a.needs = 'success' OR a.needs = 'failure' AND outcome <> 'failed')
        AND (children IS NULL OR a.child_id = ANY(children))
$$;

CREATE FUNCTION tickwork.write_blocked_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.job_id, NEW.scheduled_for, NEW.status::text);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_blocked_events_of_job() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.id, NEW.scheduled_for, 'cancelled');
    UPDATE tickwork.awaited SET verdict = tickwork.judge(needs, condition, 'cancelled', NULL, NULL)
    WHERE parent_id = NEW.id AND parent_at = NEW.scheduled_for;
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_breaker_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id, CASE NEW.state WHEN 'closed' THEN 'breaker.closed' ELSE 'breaker.opened' END,
            json_build_object('destination', NEW.destination, 'reason', NEW.reason,
                              'last_error', NEW.last_error)::text);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, attempt, detail)
    VALUES (NEW.tenant_id, 'execution.' || NEW.status, NEW.job_id, NEW.scheduled_for, NEW.lane_id, NEW.attempt,
            json_build_object('reason', NEW.reason)::text);
    IF NEW.status = 'cancelled' AND EXISTS (
        SELECT FROM tickwork.job WHERE element_of = NEW.job_id AND element_at = NEW.scheduled_for)
    THEN
        INSERT INTO tickwork.cancelled_fan_out (tenant_id, scheduled_for, job_id)
        VALUES (NEW.tenant_id, NEW.scheduled_for, NEW.job_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_job_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE change jsonb := nullif(current_setting('tickwork.job_change', true), '')::jsonb;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, lane_id, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN OLD.status = NEW.status THEN 'job.changed'
                 WHEN NEW.status = 'active' THEN 'job.resumed'
                 ELSE 'job.' || NEW.status END,
            NEW.id, NEW.lane_id,
            (jsonb_build_object('version', NEW.version)
             || CASE WHEN change ->> 'job' = NEW.id::text THEN change - 'job' ELSE '{}' END)::text);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_key_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id, CASE WHEN NEW.revoked_at IS NULL THEN 'key.created' ELSE 'key.revoked' END,
            json_build_object('key_id', 'k' || substr(tickwork.job_name(NEW.id), 2), 'name', NEW.name,
                              'prefix', NEW.prefix, 'scopes', NEW.scopes)::text);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_queue_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE was_paused boolean := TG_OP = 'UPDATE' AND OLD.paused;
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN NEW.paused AND NOT was_paused THEN 'queue.paused'
                 WHEN was_paused AND NOT NEW.paused THEN 'queue.resumed'
                 ELSE 'queue.changed' END,
            json_build_object('queue', NEW.name, 'max_running', NEW.max_running, 'rate', NEW.rate,
                              'max_backlog', NEW.max_backlog, 'max_workers', NEW.max_workers)::text);
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.write_worker_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tickwork.new_event (tenant_id, kind, detail)
    VALUES (NEW.tenant_id,
            CASE WHEN NEW.ended_at IS NULL THEN 'worker.joined'
                 WHEN NEW.lease_until < NEW.ended_at THEN 'worker.lost'
                 ELSE 'worker.left' END,
            json_build_object('worker_id', 'w' || substr(tickwork.job_name(NEW.id), 2), 'name', NEW.name,
                              'host', NEW.host)::text);
    RETURN NULL;
END $$;

CREATE TABLE tickwork.api_key (
    id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    digest bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_key_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT api_key_scopes_check CHECK (((scopes <@ ARRAY['admin'::text, 'write'::text, 'read'::text, 'worker'::text]) AND (scopes <> '{}'::text[]))),
    CONSTRAINT system_has_no_key CHECK ((tenant_id <> 0))
);

ALTER TABLE tickwork.api_key ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.api_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.archive_duty (
    one boolean DEFAULT true NOT NULL,
    node_id text NOT NULL,
    until timestamp with time zone NOT NULL,
    problem text,
    problem_since timestamp with time zone,
    CONSTRAINT archive_duty_one_check CHECK (one)
);

CREATE TABLE tickwork.archive_part (
    label text NOT NULL,
    number integer NOT NULL,
    begin_at timestamp with time zone NOT NULL,
    end_at timestamp with time zone NOT NULL,
    state text DEFAULT 'sealed'::text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    manifest jsonb,
    sealed_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    archived_at timestamp with time zone,
    CONSTRAINT archive_part_number_check CHECK ((number > 0)),
    CONSTRAINT archive_part_state_check CHECK ((state = ANY (ARRAY['sealed'::text, 'archived'::text, 'dropped'::text]))),
    CONSTRAINT archived_has_manifest CHECK (((state = 'sealed'::text) = (manifest IS NULL)))
);

CREATE TABLE tickwork.attempt (
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,
    outcome tickwork.attempt_outcome NOT NULL,
    worker_id integer,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    error bytea
)
PARTITION BY RANGE (scheduled_for);

CREATE TABLE tickwork.attempt_version (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    version integer NOT NULL
);

CREATE TABLE tickwork.awaited (
    child_id bigint NOT NULL,
    child_at timestamp with time zone NOT NULL,
    parent_id bigint NOT NULL,
    parent_at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL,
    unsure boolean NOT NULL,
    needs tickwork.needed_outcome DEFAULT 'success'::tickwork.needed_outcome NOT NULL,
    condition jsonpath,
    verdict tickwork.verdict
);

CREATE TABLE tickwork.backfill (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    begin_at timestamp with time zone NOT NULL,
    end_at timestamp with time zone NOT NULL,
    times timestamp with time zone[] NOT NULL,
    total integer GENERATED ALWAYS AS (cardinality(times)) STORED NOT NULL,
    made integer DEFAULT 0 NOT NULL,
    active timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    completed integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    max_active integer NOT NULL,
    run_order text NOT NULL,
    policy text NOT NULL,
    status text NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT backfill_max_active_check CHECK (((max_active >= 1) AND (max_active <= 1000))),
    CONSTRAINT backfill_policy_check CHECK ((policy = ANY (ARRAY['missing'::text, 'failed'::text]))),
    CONSTRAINT backfill_run_order_check CHECK ((run_order = ANY (ARRAY['oldest'::text, 'newest'::text]))),
    CONSTRAINT backfill_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text]))),
    CONSTRAINT begins_before_its_end CHECK ((begin_at <= end_at)),
    CONSTRAINT completed_has_ended CHECK (((status <> 'completed'::text) OR (ended_at IS NOT NULL))),
    CONSTRAINT ended_has_none_active CHECK (((ended_at IS NULL) OR (cardinality(active) = 0))),
    CONSTRAINT keeps_its_pace CHECK ((cardinality(active) <= max_active)),
    CONSTRAINT makes_no_more_than_asked CHECK (((made >= 0) AND (made <= cardinality(times)))),
    CONSTRAINT running_has_not_ended CHECK (((status <> 'running'::text) OR (ended_at IS NULL)))
);

ALTER TABLE tickwork.backfill ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.backfill_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,
    state text NOT NULL,
    since timestamp with time zone NOT NULL,
    failures_in_a_row integer DEFAULT 0 NOT NULL,
    window_at timestamp with time zone NOT NULL,
    calls integer DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    reason text,
    last_error text,
    failed_probes integer DEFAULT 0 NOT NULL,
    probe integer DEFAULT 0 NOT NULL,
    probe_at timestamp with time zone,
    pace integer NOT NULL,
    look_at timestamp with time zone NOT NULL,
    touched_at timestamp with time zone NOT NULL,
    CONSTRAINT breaker_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text]))),
    CONSTRAINT closed_needs_no_probe CHECK (((state = 'closed'::text) = (probe_at IS NULL)))
);

CREATE TABLE tickwork.callback_secret (
    secret bytea NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT callback_secret_one_check CHECK (one),
    CONSTRAINT callback_secret_secret_check CHECK ((length(secret) = 32))
);

CREATE TABLE tickwork.callback_wait (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    lease_id bigint NOT NULL,
    timeout_at timestamp with time zone NOT NULL,
    heartbeat interval,
    deadline timestamp with time zone NOT NULL,
    status_url text,
    target bytea,
    poll_at timestamp with time zone,
    CONSTRAINT asked_or_not CHECK ((num_nulls(status_url, target, poll_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT ends_with_its_timeout CHECK ((deadline <= timeout_at))
)
WITH (fillfactor='70');

CREATE TABLE tickwork.cancelled_fan_out (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL
);

CREATE TABLE tickwork.channel (
    id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    secret bytea,
    severity text DEFAULT 'info'::text NOT NULL,
    quiet jsonb,
    digest text DEFAULT 'immediately'::text NOT NULL,
    window_seconds double precision DEFAULT 300 NOT NULL,
    rate integer DEFAULT 30 NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    template jsonb,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    changed_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    CONSTRAINT known_digest CHECK ((digest = ANY (ARRAY['immediately'::text, 'hourly'::text, 'daily'::text]))),
    CONSTRAINT known_severity CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text]))),
    CONSTRAINT positive_rate CHECK ((rate > 0))
);

ALTER TABLE tickwork.channel ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.channel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.checkpoint (
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,
    number integer NOT NULL,
    stored_at timestamp with time zone NOT NULL,
    took real,
    step text NOT NULL,
    value bytea NOT NULL,
    CONSTRAINT checkpoint_is_bounded CHECK (((length(step) <= 200) AND (octet_length(value) <= 262144)))
)
PARTITION BY RANGE (scheduled_for);

CREATE TABLE tickwork.cluster (
    one boolean DEFAULT true NOT NULL,
    alive_at timestamp with time zone,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    restored_at timestamp with time zone,
    restored_until timestamp with time zone,
    backed_up_at timestamp with time zone,
    CONSTRAINT cluster_one_check CHECK (one),
    CONSTRAINT pause_has_an_author CHECK (((paused_at IS NULL) = (paused_by IS NULL))),
    CONSTRAINT restored_has_an_end CHECK (((restored_at IS NULL) = (restored_until IS NULL)))
)
WITH (fillfactor='50');

CREATE TABLE tickwork.dead_letter (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    lane_id integer NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    error_type text,
    fingerprint bigint
);

CREATE TABLE tickwork.default_retention (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    age interval,
    last integer,
    CONSTRAINT default_retention_last_check CHECK ((last > 0)),
    CONSTRAINT says_something CHECK (((age IS NOT NULL) OR (last IS NOT NULL)))
);

CREATE TABLE tickwork.dependency (
    tenant_id integer NOT NULL,
    child_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    met boolean DEFAULT false NOT NULL,
    needs tickwork.needed_outcome DEFAULT 'success'::tickwork.needed_outcome NOT NULL,
    condition jsonpath,
    CONSTRAINT depends_on_others CHECK ((child_id <> parent_id))
);

CREATE TABLE tickwork.error_group (
    tenant_id integer NOT NULL,
    fingerprint bigint NOT NULL,
    task text NOT NULL,
    error_type text NOT NULL,
    message text,
    failed_attempts bigint NOT NULL,
    failed_executions bigint NOT NULL,
    first_seen timestamp with time zone NOT NULL,
    last_seen timestamp with time zone NOT NULL
);

CREATE TABLE tickwork.event (
    number bigint NOT NULL,
    tenant_id integer NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    job_id bigint,
    scheduled_for timestamp with time zone,
    lane_id integer,
    attempt integer,
    error_type text,
    fingerprint bigint,
    detail text
);

CREATE TABLE tickwork.exceeded_limit (
    tenant_id integer NOT NULL,
    rule text NOT NULL,
    kind text NOT NULL,
    queue text DEFAULT ''::text NOT NULL,
    since timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    CONSTRAINT exceeded_limit_kind_check CHECK ((kind = ANY (ARRAY['dead_letters'::text, 'queue_stuck'::text])))
);

CREATE SEQUENCE tickwork.job_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE tickwork.job (
    id bigint DEFAULT nextval('tickwork.job_id'::regclass) NOT NULL,
    rule_id bigint,
    scheduled_for timestamp with time zone,
    active_from timestamp with time zone NOT NULL,
    active_until timestamp with time zone,
    runs_left integer,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    timeout real NOT NULL,
    status tickwork.job_status DEFAULT 'active'::tickwork.job_status NOT NULL,
    overlap tickwork.overlap NOT NULL,
    priority smallint NOT NULL,
    deferred boolean DEFAULT false NOT NULL,
    task text NOT NULL,
    payload bytea NOT NULL,
    target bytea,
    name text,
    key text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    definition bytea NOT NULL,
    followed boolean DEFAULT false NOT NULL,
    depends boolean DEFAULT false NOT NULL,
    trace_origin text,
    description text,
    owner text,
    created_by integer,
    warn_after real,
    reason_to_skip text,
    element_of bigint,
    element_at timestamp with time zone,
    element_number integer,
    CONSTRAINT deferred_is_one_time CHECK (((NOT deferred) OR (scheduled_for IS NOT NULL))),
    CONSTRAINT job_priority_check CHECK (((priority >= 0) AND (priority <= 3))),
    CONSTRAINT recurring_or_one_time CHECK (((rule_id IS NULL) <> (scheduled_for IS NULL)))
);

CREATE TABLE tickwork.lane (
    id integer NOT NULL,
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    placement text DEFAULT ''::text NOT NULL
);

CREATE VIEW tickwork.execution_view AS
 SELECT e.tenant_id,
    e.job_id,
    e.scheduled_for,
    l.task,
    l.queue,
    (e.trigger)::text AS trigger,
    e.attempt,
    e.worker_id,
    e.started_at,
    e.finished_at,
    e.result,
    e.reason,
    e.priority,
    j.definition,
    last.error,
        CASE
            WHEN ((e.status = 'running'::tickwork.execution_status) AND (e.scheduled_for > tickwork.clock())) THEN 'pending'::text
            ELSE (e.status)::text
        END AS status,
        CASE
            WHEN (e.finished_at IS NOT NULL) THEN NULL::text
            WHEN (e.blocked_by IS NOT NULL) THEN 'limit'::text
            WHEN (e.ready_at = 'infinity'::timestamp with time zone) THEN
            CASE
                WHEN (j.depends AND (EXISTS ( SELECT
                   FROM tickwork.awaited a
                  WHERE ((a.child_id = e.job_id) AND (a.child_at = e.scheduled_for))
                 OFFSET 0))) THEN 'dependency'::text
                WHEN (j.status = 'paused'::tickwork.job_status) THEN 'paused'::text
                ELSE 'limit'::text
            END
            WHEN ((e.reason IS NOT NULL) AND (l.placement ~~ '%"fans_out":true%'::text)) THEN 'limit'::text
            WHEN ((e.ready_at > tickwork.clock()) AND (e.attempt > 1)) THEN 'retry'::text
            WHEN ((e.ready_at > tickwork.clock()) OR (e.scheduled_for > tickwork.clock())) THEN 'due'::text
            WHEN (e.ready_at IS NOT NULL) THEN 'worker'::text
            WHEN (e.worker_id = 0) THEN 'callback'::text
            ELSE NULL::text
        END AS waiting_for,
        CASE
            WHEN isfinite(e.ready_at) THEN e.ready_at
            ELSE e.scheduled_for
        END AS due_at,
    e.progress,
    e.failures,
    e.losses
   FROM (((tickwork.execution e
     JOIN tickwork.lane l ON ((l.id = e.lane_id)))
     JOIN tickwork.job j ON ((j.id = e.job_id)))
     LEFT JOIN LATERAL ( SELECT a.error
           FROM tickwork.attempt a
          WHERE ((e.failures > 0) AND (e.status <> 'completed'::tickwork.execution_status) AND (a.outcome = 'failed'::tickwork.attempt_outcome) AND (a.tenant_id = e.tenant_id) AND (a.scheduled_for = e.scheduled_for) AND (a.job_id = e.job_id))
          ORDER BY a.attempt DESC
         LIMIT 1) last ON (true));

CREATE TABLE tickwork.failing_job (
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    failures_in_a_row integer NOT NULL,
    failing_since timestamp with time zone NOT NULL,
    last_failed_at timestamp with time zone NOT NULL
);

CREATE TABLE tickwork.failover (
    id integer NOT NULL,
    system_id text NOT NULL,
    wal_timeline integer NOT NULL,
    noticed_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    loss text NOT NULL,
    lost_after timestamp with time zone,
    due_until timestamp with time zone NOT NULL,
    first_attempt integer NOT NULL,
    first_lease bigint NOT NULL,
    CONSTRAINT failover_first_attempt_check CHECK ((first_attempt > 0)),
    CONSTRAINT failover_loss_check CHECK ((loss = ANY (ARRAY['none'::text, 'possible'::text, 'certain'::text])))
);

ALTER TABLE tickwork.failover ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.failover_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.fired_to_count (
    at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL
);

CREATE TABLE tickwork.flapping_job (
    channel_id integer NOT NULL,
    job_id bigint NOT NULL,
    recoveries integer NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    is_failing boolean NOT NULL,
    is_told boolean NOT NULL,
    example bytea NOT NULL
);

CREATE TABLE tickwork.heartbeat (
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    url text NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    completed_at timestamp with time zone,
    due_at timestamp with time zone,
    failures smallint DEFAULT 0 NOT NULL,
    called_at timestamp with time zone,
    error text
);

CREATE TABLE tickwork.held_by_breaker (
    tenant_id integer NOT NULL,
    destination text NOT NULL,
    priority smallint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL
);

CREATE TABLE tickwork.idempotency (
    tenant_id integer NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    headers jsonb NOT NULL,
    body bytea NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL
);

CREATE TABLE tickwork.incident (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    subject text NOT NULL
);

CREATE TABLE tickwork.job_change (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    lane_id integer NOT NULL,
    name text,
    key text,
    tags text[] NOT NULL,
    owner text,
    description text,
    rule_id bigint,
    scheduled_for timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

ALTER TABLE tickwork.job_change ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.job_change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.job_index (
    indexed_to bigint DEFAULT 0 NOT NULL,
    indexed_at timestamp with time zone DEFAULT '0001-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    marked_id bigint,
    marked_at timestamp with time zone,
    marked_real_at timestamp with time zone,
    settled_time timestamp with time zone DEFAULT '0001-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    settled_job bigint DEFAULT 0 NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT job_index_one_check CHECK (one),
    CONSTRAINT mark_is_whole CHECK ((((marked_id IS NULL) = (marked_at IS NULL)) AND ((marked_id IS NULL) = (marked_real_at IS NULL))))
);

CREATE TABLE tickwork.job_retention (
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    age interval,
    last integer,
    CONSTRAINT job_retention_last_check CHECK ((last > 0)),
    CONSTRAINT says_something CHECK (((age IS NOT NULL) OR (last IS NOT NULL)))
);

CREATE TABLE tickwork.job_segment (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    created bytea NOT NULL
);

CREATE TABLE tickwork.job_term (
    tenant_id integer NOT NULL,
    segment integer NOT NULL,
    slot bigint NOT NULL,
    jobs bytea NOT NULL
)
WITH (fillfactor='80', toast_tuple_target='8160');

CREATE TABLE tickwork.job_unended (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

CREATE TABLE tickwork.job_version (
    job_id bigint NOT NULL,
    version integer NOT NULL,
    tenant_id integer NOT NULL,
    until timestamp with time zone NOT NULL,
    task text NOT NULL,
    payload bytea,
    target bytea
);

CREATE TABLE tickwork.rule (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    timing text NOT NULL,
    catch_up text NOT NULL,
    next_at timestamp with time zone,
    cursor_priority smallint,
    cursor_job bigint,
    last_at timestamp with time zone,
    CONSTRAINT cursor_is_whole CHECK (((cursor_priority IS NULL) = (cursor_job IS NULL))),
    CONSTRAINT due_times_advance CHECK ((last_at < next_at))
)
WITH (fillfactor='60');

CREATE VIEW tickwork.job_view AS
 SELECT j.id,
    j.tenant_id,
    j.rule_id,
    j.name,
    j.key,
    j.task,
    j.priority,
    j.tags,
    j.payload,
    j.definition,
    j.version,
    j.created_at,
    j.updated_at,
    j.scheduled_for,
    r.timing,
    l.queue,
        CASE
            WHEN ((j.status = 'active'::tickwork.job_status) AND (e.finished_at IS NOT NULL)) THEN (e.status)::text
            WHEN ((j.status = 'active'::tickwork.job_status) AND (j.reason_to_skip IS NOT NULL)) THEN 'skipped'::text
            WHEN ((j.status = 'active'::tickwork.job_status) AND (j.rule_id IS NOT NULL) AND ((r.next_at IS NULL) OR (j.active_until < r.next_at))) THEN 'completed'::text
            WHEN ((j.status = 'active'::tickwork.job_status) AND history.is_gone) THEN 'completed'::text
            ELSE (j.status)::text
        END AS status,
        CASE
            WHEN ((j.status <> 'active'::tickwork.job_status) OR (j.reason_to_skip IS NOT NULL) OR history.is_gone) THEN NULL::timestamp with time zone
            WHEN (j.rule_id IS NOT NULL) THEN
            CASE
                WHEN (j.active_until < r.next_at) THEN NULL::timestamp with time zone
                ELSE r.next_at
            END
            WHEN (j.depends AND (e.ready_at = 'infinity'::timestamp with time zone)) THEN NULL::timestamp with time zone
            WHEN ((e.finished_at IS NULL) AND (e.started_at IS NULL)) THEN j.scheduled_for
            ELSE NULL::timestamp with time zone
        END AS next_run_at,
    j.description,
    j.owner
   FROM ((((tickwork.job j
     JOIN tickwork.lane l ON ((l.id = j.lane_id)))
     LEFT JOIN tickwork.rule r ON ((r.id = j.rule_id)))
     LEFT JOIN LATERAL ( SELECT execution.status,
            execution.ready_at,
            execution.started_at,
            execution.finished_at
           FROM tickwork.execution
          WHERE ((j.rule_id IS NULL) AND (execution.tenant_id = j.tenant_id) AND (execution.scheduled_for = j.scheduled_for) AND (execution.job_id = j.id))
         OFFSET 0) e ON (true))
     CROSS JOIN LATERAL ( SELECT ((j.rule_id IS NULL) AND (e.status IS NULL) AND (NOT j.deferred)) AS is_gone) history);

ALTER TABLE tickwork.lane ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.lane_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.last_event (
    number bigint NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT last_event_one_check CHECK (one)
);

ALTER TABLE tickwork.lease ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.lease_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.limiter (
    id integer NOT NULL,
    tenant_id integer NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    used_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    max_running integer,
    rate text,
    max_backlog integer,
    updated_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    max_workers integer,
    CONSTRAINT limiter_kind_check CHECK ((kind = ANY (ARRAY['queue'::text, 'key'::text]))),
    CONSTRAINT limiter_max_backlog_check CHECK ((max_backlog > 0)),
    CONSTRAINT limiter_max_running_check CHECK ((max_running > 0)),
    CONSTRAINT limiter_max_workers_check CHECK ((max_workers > 0)),
    CONSTRAINT only_queues_have_settings CHECK (((kind = 'queue'::text) OR ((NOT paused) AND (max_running IS NULL) AND (rate IS NULL) AND (max_backlog IS NULL) AND (max_workers IS NULL))))
)
WITH (fillfactor='50');

ALTER TABLE tickwork.limiter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.limiter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.log (
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    attempt integer NOT NULL,
    first_line integer NOT NULL,
    line_count integer NOT NULL,
    lines bytea NOT NULL,
    CONSTRAINT log_line_count_check CHECK ((line_count > 0))
)
PARTITION BY RANGE (scheduled_for);

CREATE TABLE tickwork.migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    needs integer NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE tickwork.migration_progress (
    number integer NOT NULL,
    place jsonb,
    rows bigint NOT NULL,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE tickwork.moved_job (
    tenant_id integer NOT NULL,
    job_id bigint NOT NULL,
    moved_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL
);

CREATE TABLE tickwork.new_event (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    kind text NOT NULL,
    job_id bigint,
    scheduled_for timestamp with time zone,
    lane_id integer,
    attempt integer,
    error_type text,
    fingerprint bigint,
    detail text,
    CONSTRAINT new_event_kind_check CHECK ((kind ~ '^[a-z]+\.[a-z]+$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE tickwork.new_event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.new_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.node (
    id text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    schema_version integer NOT NULL,
    address text,
    started_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    clock_skew double precision NOT NULL,
    database_latency double precision NOT NULL,
    problems text[] NOT NULL,
    fired_at timestamp with time zone,
    told_silent boolean DEFAULT false NOT NULL,
    commit_mark bigint,
    marked_at timestamp with time zone,
    wal_timeline integer,
    wal_position bigint
);

CREATE TABLE tickwork.notification (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    channel text NOT NULL,
    cause text NOT NULL,
    kind text NOT NULL,
    severity text NOT NULL,
    count bigint NOT NULL,
    first bytea NOT NULL,
    last bytea,
    incident_key text,
    incident_action text,
    status text DEFAULT 'waiting'::text NOT NULL,
    reason text,
    message_id bigint,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT incident_is_whole CHECK (((incident_key IS NULL) = (incident_action IS NULL))),
    CONSTRAINT notification_count_check CHECK ((count > 0)),
    CONSTRAINT notification_incident_action_check CHECK ((incident_action = ANY (ARRAY['open'::text, 'close'::text]))),
    CONSTRAINT notification_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text]))),
    CONSTRAINT notification_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'sending'::text, 'sent'::text, 'failed'::text]))),
    CONSTRAINT waits_without_message CHECK (((status <> 'waiting'::text) OR (message_id IS NULL)))
);

ALTER TABLE tickwork.notification ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.notification_message (
    id bigint NOT NULL,
    dedupe_id text NOT NULL,
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    status text DEFAULT 'sending'::text NOT NULL,
    job_id bigint NOT NULL,
    content bytea NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    error text,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT ended_is_dated CHECK (((status = 'sending'::text) = (ended_at IS NULL))),
    CONSTRAINT notification_message_status_check CHECK ((status = ANY (ARRAY['sending'::text, 'sent'::text, 'failed'::text])))
);

ALTER TABLE tickwork.notification_message ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.notification_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.notification_rule (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    tag text,
    queue text,
    kinds text[] NOT NULL,
    channels text[] NOT NULL,
    dead_letters_above integer,
    stuck_after interval,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    changed_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    CONSTRAINT notification_rule_channels_check CHECK ((channels <> '{}'::text[])),
    CONSTRAINT notification_rule_kinds_check CHECK ((kinds <> '{}'::text[])),
    CONSTRAINT one_scope CHECK (((tag IS NULL) OR (queue IS NULL)))
);

CREATE TABLE tickwork.notification_window (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    until timestamp with time zone NOT NULL,
    length interval NOT NULL
);

CREATE TABLE tickwork.notifier (
    place bigint NOT NULL,
    installation uuid DEFAULT gen_random_uuid() NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT notifier_one_check CHECK (one)
);

CREATE TABLE tickwork.off_schedule_execution (
    job_id bigint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    backfill_id bigint
);

CREATE TABLE tickwork.outside_ping (
    url text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    called_at timestamp with time zone,
    answered_at timestamp with time zone,
    error text,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT outside_ping_one_check CHECK (one)
);

CREATE TABLE tickwork.overdue_watch (
    one boolean DEFAULT true NOT NULL,
    watched_until timestamp with time zone NOT NULL,
    CONSTRAINT overdue_watch_one_check CHECK (one)
);

CREATE TABLE tickwork.past_rule (
    job_id bigint NOT NULL,
    rule_id bigint NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE tickwork.ping (
    id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    definition bytea NOT NULL,
    timing text NOT NULL,
    grace interval NOT NULL,
    notify jsonb NOT NULL,
    digest bytea NOT NULL,
    token_begins text NOT NULL,
    status text NOT NULL,
    expected_at timestamp with time zone,
    started_at timestamp with time zone,
    log text NOT NULL,
    told_late boolean NOT NULL,
    told_slow boolean NOT NULL,
    late_after interval,
    slow_after interval,
    missed_at timestamp with time zone,
    told_missing_at timestamp with time zone,
    failing_since timestamp with time zone,
    failures_in_a_row integer NOT NULL,
    last_heard_at timestamp with time zone,
    last_success_at timestamp with time zone,
    check_at timestamp with time zone,
    last_run bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    updated_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    CONSTRAINT ping_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT ping_status_check CHECK ((status = ANY (ARRAY['new'::text, 'ok'::text, 'late'::text, 'missing'::text, 'failed'::text])))
);

ALTER TABLE tickwork.ping ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.ping_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.ping_run (
    ping_id integer NOT NULL,
    number bigint NOT NULL,
    outcome text NOT NULL,
    due_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone NOT NULL,
    missed integer NOT NULL,
    exit_code smallint,
    log text,
    CONSTRAINT ping_run_check CHECK (((missed > 0) = (outcome = 'missing'::text))),
    CONSTRAINT ping_run_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'failed'::text, 'missing'::text])))
);

CREATE TABLE tickwork.process_usage (
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    tenant_id integer NOT NULL,
    cpu_seconds double precision NOT NULL,
    peak_memory bigint NOT NULL,
    CONSTRAINT process_usage_cpu_seconds_check CHECK ((cpu_seconds >= (0)::double precision)),
    CONSTRAINT process_usage_peak_memory_check CHECK ((peak_memory >= 0))
)
WITH (fillfactor='100');

CREATE UNLOGGED TABLE tickwork.pulse (
    id bigint NOT NULL,
    tenant_id integer NOT NULL,
    at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    events bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

ALTER TABLE tickwork.pulse ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.pulse_id_seq
    LOGGED
    START WITH 1000000000000
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE tickwork.pulse_wanted (
    tenant_id integer NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE tickwork.purge (
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    requested_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    requested_by jsonb,
    before timestamp with time zone DEFAULT 'infinity'::timestamp with time zone NOT NULL,
    removed jsonb DEFAULT '{}'::jsonb NOT NULL,
    ended_at timestamp with time zone,
    swept boolean DEFAULT false NOT NULL,
    left_archive_at timestamp with time zone
);

CREATE TABLE tickwork.queue_priority (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL,
    CONSTRAINT queue_priority_priority_check CHECK ((((priority >= 0) AND (priority <= 3)) AND (priority <> 2)))
);

CREATE TABLE tickwork.restored_execution (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    until timestamp with time zone NOT NULL,
    execution bytea NOT NULL,
    attempts bytea NOT NULL,
    input bytea NOT NULL,
    log bytea NOT NULL
);

CREATE TABLE tickwork.retention_mark (
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    looked_until timestamp with time zone NOT NULL,
    kept timestamp with time zone[] NOT NULL
);

CREATE TABLE tickwork.retention_pass (
    one boolean DEFAULT true NOT NULL,
    tenant_id integer DEFAULT 0 NOT NULL,
    job_id bigint DEFAULT 0 NOT NULL,
    begins_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT retention_pass_one_check CHECK (one)
);

CREATE TABLE tickwork.retry_payload (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    payload bytea NOT NULL,
    given_by jsonb,
    given_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL
);

CREATE TABLE tickwork.revocation (
    tenant_id integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    worker_id integer NOT NULL,
    reason text NOT NULL,
    needs_report boolean DEFAULT true NOT NULL
);

CREATE TABLE tickwork.round (
    rule_id bigint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    missed integer DEFAULT 0 NOT NULL,
    missed_until timestamp with time zone,
    reason text,
    CONSTRAINT missed_has_reason CHECK ((((missed = 0) = (missed_until IS NULL)) AND ((missed = 0) = (reason IS NULL))))
);

ALTER TABLE tickwork.rule ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.rule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.sealed_attempt (
    scheduled_for timestamp with time zone CONSTRAINT attempt_scheduled_for_not_null NOT NULL,
    job_id bigint CONSTRAINT attempt_job_id_not_null NOT NULL,
    tenant_id integer CONSTRAINT attempt_tenant_id_not_null NOT NULL,
    attempt integer CONSTRAINT attempt_attempt_not_null NOT NULL,
    outcome tickwork.attempt_outcome CONSTRAINT attempt_outcome_not_null NOT NULL,
    worker_id integer,
    started_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT attempt_finished_at_not_null NOT NULL,
    error bytea
);

CREATE TABLE tickwork.sealed_checkpoint (
    scheduled_for timestamp with time zone CONSTRAINT checkpoint_scheduled_for_not_null NOT NULL,
    job_id bigint CONSTRAINT checkpoint_job_id_not_null NOT NULL,
    tenant_id integer CONSTRAINT checkpoint_tenant_id_not_null NOT NULL,
    attempt integer CONSTRAINT checkpoint_attempt_not_null NOT NULL,
    number integer CONSTRAINT checkpoint_number_not_null NOT NULL,
    stored_at timestamp with time zone CONSTRAINT checkpoint_stored_at_not_null NOT NULL,
    took real,
    step text CONSTRAINT checkpoint_step_not_null NOT NULL,
    value bytea CONSTRAINT checkpoint_value_not_null NOT NULL
);

CREATE TABLE tickwork.sealed_execution (
    scheduled_for timestamp with time zone CONSTRAINT execution_scheduled_for_not_null NOT NULL,
    job_id bigint CONSTRAINT execution_job_id_not_null NOT NULL,
    ready_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    tenant_id integer CONSTRAINT execution_tenant_id_not_null NOT NULL,
    lane_id integer CONSTRAINT execution_lane_id_not_null NOT NULL,
    worker_id integer,
    status tickwork.execution_status CONSTRAINT execution_status_not_null NOT NULL,
    trigger tickwork.execution_trigger CONSTRAINT execution_trigger_not_null NOT NULL,
    priority smallint CONSTRAINT execution_priority_not_null NOT NULL,
    attempt integer CONSTRAINT execution_attempt_not_null NOT NULL,
    failures smallint CONSTRAINT execution_failures_not_null NOT NULL,
    losses smallint CONSTRAINT execution_losses_not_null NOT NULL,
    blocked_by timestamp with time zone,
    result bytea,
    reason text,
    progress bytea,
    followed boolean CONSTRAINT execution_followed_not_null NOT NULL,
    own_payload boolean,
    moved_by xid8
);

CREATE TABLE tickwork.sealed_log (
    scheduled_for timestamp with time zone CONSTRAINT log_scheduled_for_not_null NOT NULL,
    job_id bigint CONSTRAINT log_job_id_not_null NOT NULL,
    tenant_id integer CONSTRAINT log_tenant_id_not_null NOT NULL,
    attempt integer CONSTRAINT log_attempt_not_null NOT NULL,
    first_line integer CONSTRAINT log_first_line_not_null NOT NULL,
    line_count integer CONSTRAINT log_line_count_not_null NOT NULL,
    lines bytea CONSTRAINT log_lines_not_null NOT NULL
);

CREATE TABLE tickwork.session (
    digest bytea NOT NULL,
    key_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT session_digest_check CHECK ((length(digest) = 32))
);

CREATE TABLE tickwork.sign_in_link (
    digest bytea NOT NULL,
    key_id integer NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_link_digest_check CHECK ((length(digest) = 32))
);

CREATE TABLE tickwork.slot (
    limiter_id integer NOT NULL,
    lease_id bigint NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    CONSTRAINT slot_check CHECK ((last >= first))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');

CREATE TABLE tickwork.statistic (
    span tickwork.statistic_span NOT NULL,
    at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL,
    lane_id integer NOT NULL,
    source tickwork.statistic_source NOT NULL,
    is_sum boolean DEFAULT false NOT NULL,
    fired bigint DEFAULT 0 NOT NULL,
    started bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    retried bigint DEFAULT 0 NOT NULL,
    snoozed bigint DEFAULT 0 NOT NULL,
    lost bigint DEFAULT 0 NOT NULL,
    cancelled bigint DEFAULT 0 NOT NULL,
    missed bigint DEFAULT 0 NOT NULL,
    skipped_overlap bigint DEFAULT 0 NOT NULL,
    skipped_paused bigint DEFAULT 0 NOT NULL,
    skipped_rescheduled bigint DEFAULT 0 NOT NULL,
    skipped_queue_full bigint DEFAULT 0 NOT NULL,
    skipped_parent bigint DEFAULT 0 NOT NULL,
    delay_buckets smallint[],
    delay_counts bigint[],
    run_buckets smallint[],
    run_counts bigint[]
);

CREATE TABLE tickwork.statistic_recount (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE tickwork.statistic_recount ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.statistic_recount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.statistic_recounted (
    at timestamp with time zone NOT NULL,
    is_counted boolean DEFAULT false NOT NULL
);

CREATE TABLE tickwork.statistic_remerge (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    noted_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL
);

ALTER TABLE tickwork.statistic_remerge ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.statistic_remerge_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.statistic_upkeep (
    fired_until timestamp with time zone,
    hours_until timestamp with time zone,
    days_until timestamp with time zone,
    one boolean DEFAULT true NOT NULL,
    claim bigint DEFAULT 0 NOT NULL,
    claimed_until timestamp with time zone,
    CONSTRAINT statistic_upkeep_one_check CHECK (one)
);

CREATE TABLE tickwork.statistic_writer (
    id integer NOT NULL,
    writes bigint DEFAULT 0 NOT NULL,
    written_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE tickwork.statistic_writer ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.statistic_writer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.task (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    parameters jsonb NOT NULL,
    description text,
    offered_at timestamp with time zone DEFAULT tickwork.clock(),
    defaults jsonb DEFAULT '{}'::jsonb NOT NULL,
    disabled_at timestamp with time zone,
    disabled_by text,
    disabled_reason text,
    retired_at timestamp with time zone,
    retired_by text,
    replacement text,
    cancels_jobs boolean DEFAULT false NOT NULL,
    CONSTRAINT only_retired_tasks_are_replaced CHECK (((retired_at IS NOT NULL) OR ((replacement IS NULL) AND (NOT cancels_jobs))))
);

CREATE TABLE tickwork.tenant (
    id integer NOT NULL,
    name text NOT NULL,
    signing_secret text NOT NULL,
    created_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    CONSTRAINT tenant_name_check CHECK (((id = 0) OR (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'::text)))
);

ALTER TABLE tickwork.tenant ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.tenant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.tenant_purge (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    requested_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    requested_by jsonb,
    removed jsonb DEFAULT '{}'::jsonb NOT NULL,
    ended_at timestamp with time zone,
    swept boolean DEFAULT false NOT NULL,
    left_archive_at timestamp with time zone,
    CONSTRAINT tenant_purge_tenant_id_check CHECK ((tenant_id > 0))
);

CREATE TABLE tickwork.unchecked_job (
    job_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    task text NOT NULL,
    mismatch text
);

CREATE TABLE tickwork.watched_queue (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    foremost text[] NOT NULL,
    since timestamp with time zone DEFAULT tickwork.clock() NOT NULL
);

CREATE TABLE tickwork.worker (
    id integer NOT NULL,
    tenant_id integer,
    connection integer DEFAULT 1 NOT NULL,
    token bytea NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    tasks text[] NOT NULL,
    queues text[] NOT NULL,
    slots integer NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone DEFAULT tickwork.clock() NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    resources jsonb DEFAULT '{}'::jsonb NOT NULL,
    weights jsonb DEFAULT '{}'::jsonb NOT NULL,
    key_id integer,
    commands text[] DEFAULT '{}'::text[] NOT NULL,
    load jsonb,
    CONSTRAINT worker_slots_check CHECK ((slots > 0)),
    CONSTRAINT worker_token_check CHECK ((length(token) = 32))
)
WITH (fillfactor='50');

ALTER TABLE tickwork.worker ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tickwork.worker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tickwork.zone_data (
    version text NOT NULL,
    one boolean DEFAULT true NOT NULL,
    CONSTRAINT zone_data_one_check CHECK (one)
);

ALTER TABLE ONLY tickwork.api_key
    ADD CONSTRAINT api_key_digest_key UNIQUE (digest);

ALTER TABLE ONLY tickwork.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.archive_duty
    ADD CONSTRAINT archive_duty_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.archive_part
    ADD CONSTRAINT archive_part_pkey PRIMARY KEY (label, number);

ALTER TABLE ONLY tickwork.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.attempt_version
    ADD CONSTRAINT attempt_version_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.awaited
    ADD CONSTRAINT awaited_pkey PRIMARY KEY (child_id, child_at, parent_id);

ALTER TABLE ONLY tickwork.backfill
    ADD CONSTRAINT backfill_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.breaker
    ADD CONSTRAINT breaker_pkey PRIMARY KEY (tenant_id, destination);

ALTER TABLE ONLY tickwork.callback_secret
    ADD CONSTRAINT callback_secret_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.callback_wait
    ADD CONSTRAINT callback_wait_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.cancelled_fan_out
    ADD CONSTRAINT cancelled_fan_out_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.channel
    ADD CONSTRAINT channel_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.channel
    ADD CONSTRAINT channel_tenant_id_name_key UNIQUE (tenant_id, name);

ALTER TABLE ONLY tickwork.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, step);

ALTER TABLE ONLY tickwork.cluster
    ADD CONSTRAINT cluster_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.default_retention
    ADD CONSTRAINT default_retention_pkey PRIMARY KEY (tenant_id, queue);

ALTER TABLE ONLY tickwork.dependency
    ADD CONSTRAINT dependency_pkey PRIMARY KEY (child_id, parent_id);

ALTER TABLE ONLY tickwork.error_group
    ADD CONSTRAINT error_group_pkey PRIMARY KEY (tenant_id, fingerprint);

ALTER TABLE ONLY tickwork.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (number);

ALTER TABLE ONLY tickwork.exceeded_limit
    ADD CONSTRAINT exceeded_limit_pkey PRIMARY KEY (tenant_id, rule, kind, queue);

ALTER TABLE ONLY tickwork.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.failing_job
    ADD CONSTRAINT failing_job_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tickwork.failover
    ADD CONSTRAINT failover_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.flapping_job
    ADD CONSTRAINT flapping_job_pkey PRIMARY KEY (channel_id, job_id);

ALTER TABLE ONLY tickwork.heartbeat
    ADD CONSTRAINT heartbeat_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tickwork.held_by_breaker
    ADD CONSTRAINT held_by_breaker_pkey PRIMARY KEY (tenant_id, destination, priority, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, key);

ALTER TABLE ONLY tickwork.incident
    ADD CONSTRAINT incident_pkey PRIMARY KEY (channel_id, cause, subject);

ALTER TABLE ONLY tickwork.job_change
    ADD CONSTRAINT job_change_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.job_index
    ADD CONSTRAINT job_index_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.job_retention
    ADD CONSTRAINT job_retention_pkey PRIMARY KEY (tenant_id, job_id);

ALTER TABLE ONLY tickwork.job_segment
    ADD CONSTRAINT job_segment_pkey PRIMARY KEY (tenant_id, segment);

ALTER TABLE ONLY tickwork.job_term
    ADD CONSTRAINT job_term_pkey PRIMARY KEY (tenant_id, segment, slot);

ALTER TABLE ONLY tickwork.job_unended
    ADD CONSTRAINT job_unended_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.job_version
    ADD CONSTRAINT job_version_pkey PRIMARY KEY (job_id, version);

ALTER TABLE ONLY tickwork.lane
    ADD CONSTRAINT lane_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.lane
    ADD CONSTRAINT lane_tenant_id_queue_task_placement_key UNIQUE (tenant_id, queue, task, placement);

ALTER TABLE ONLY tickwork.last_event
    ADD CONSTRAINT last_event_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.limiter
    ADD CONSTRAINT limiter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.limiter
    ADD CONSTRAINT limiter_tenant_id_kind_name_key UNIQUE (tenant_id, kind, name);

ALTER TABLE ONLY tickwork.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt, first_line);

ALTER TABLE ONLY tickwork.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY tickwork.migration_progress
    ADD CONSTRAINT migration_progress_pkey PRIMARY KEY (number);

ALTER TABLE ONLY tickwork.moved_job
    ADD CONSTRAINT moved_job_pkey PRIMARY KEY (tenant_id, job_id);

ALTER TABLE ONLY tickwork.new_event
    ADD CONSTRAINT new_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.notification_message
    ADD CONSTRAINT notification_message_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.notification
    ADD CONSTRAINT notification_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.notification_rule
    ADD CONSTRAINT notification_rule_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY tickwork.notification_window
    ADD CONSTRAINT notification_window_pkey PRIMARY KEY (channel_id, cause);

ALTER TABLE ONLY tickwork.notifier
    ADD CONSTRAINT notifier_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.off_schedule_execution
    ADD CONSTRAINT off_schedule_execution_pkey PRIMARY KEY (job_id, scheduled_for);

ALTER TABLE ONLY tickwork.outside_ping
    ADD CONSTRAINT outside_ping_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.overdue_watch
    ADD CONSTRAINT overdue_watch_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.past_rule
    ADD CONSTRAINT past_rule_pkey PRIMARY KEY (job_id, until);

ALTER TABLE ONLY tickwork.ping
    ADD CONSTRAINT ping_digest_key UNIQUE (digest);

ALTER TABLE ONLY tickwork.ping
    ADD CONSTRAINT ping_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.ping_run
    ADD CONSTRAINT ping_run_pkey PRIMARY KEY (ping_id, number);

ALTER TABLE ONLY tickwork.ping
    ADD CONSTRAINT ping_tenant_id_name_key UNIQUE (tenant_id, name);

ALTER TABLE ONLY tickwork.process_usage
    ADD CONSTRAINT process_usage_pkey PRIMARY KEY (scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.pulse
    ADD CONSTRAINT pulse_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.pulse_wanted
    ADD CONSTRAINT pulse_wanted_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY tickwork.purge
    ADD CONSTRAINT purge_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tickwork.queue_priority
    ADD CONSTRAINT queue_priority_pkey PRIMARY KEY (tenant_id, queue);

ALTER TABLE ONLY tickwork.restored_execution
    ADD CONSTRAINT restored_execution_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.retention_mark
    ADD CONSTRAINT retention_mark_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tickwork.retention_pass
    ADD CONSTRAINT retention_pass_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.retry_payload
    ADD CONSTRAINT retry_payload_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.revocation
    ADD CONSTRAINT revocation_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.round
    ADD CONSTRAINT round_pkey PRIMARY KEY (rule_id, scheduled_for);

ALTER TABLE ONLY tickwork.rule
    ADD CONSTRAINT rule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.rule
    ADD CONSTRAINT rule_tenant_id_timing_catch_up_key UNIQUE (tenant_id, timing, catch_up);

ALTER TABLE ONLY tickwork.sealed_attempt
    ADD CONSTRAINT sealed_attempt_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt);

ALTER TABLE ONLY tickwork.sealed_checkpoint
    ADD CONSTRAINT sealed_checkpoint_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, step);

ALTER TABLE ONLY tickwork.sealed_execution
    ADD CONSTRAINT sealed_execution_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id);

ALTER TABLE ONLY tickwork.sealed_log
    ADD CONSTRAINT sealed_log_pkey PRIMARY KEY (tenant_id, scheduled_for, job_id, attempt, first_line);

ALTER TABLE ONLY tickwork.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY tickwork.sign_in_link
    ADD CONSTRAINT sign_in_link_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY tickwork.slot
    ADD CONSTRAINT slot_pkey PRIMARY KEY (limiter_id, lease_id, first);

ALTER TABLE ONLY tickwork.statistic_recount
    ADD CONSTRAINT statistic_recount_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.statistic_recounted
    ADD CONSTRAINT statistic_recounted_pkey PRIMARY KEY (at);

ALTER TABLE ONLY tickwork.statistic_remerge
    ADD CONSTRAINT statistic_remerge_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.statistic_upkeep
    ADD CONSTRAINT statistic_upkeep_pkey PRIMARY KEY (one);

ALTER TABLE ONLY tickwork.statistic_writer
    ADD CONSTRAINT statistic_writer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY tickwork.tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);

ALTER TABLE ONLY tickwork.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.tenant_purge
    ADD CONSTRAINT tenant_purge_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY tickwork.unchecked_job
    ADD CONSTRAINT unchecked_job_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY tickwork.watched_queue
    ADD CONSTRAINT watched_queue_pkey PRIMARY KEY (tenant_id, queue);

ALTER TABLE ONLY tickwork.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

ALTER TABLE ONLY tickwork.zone_data
    ADD CONSTRAINT zone_data_pkey PRIMARY KEY (one);

CREATE INDEX archive_part_end ON tickwork.archive_part USING btree (end_at);

CREATE UNIQUE INDEX archive_part_under_way ON tickwork.archive_part USING btree ((true)) WHERE (state <> 'dropped'::text);

CREATE INDEX attempt_version_age ON tickwork.attempt_version USING btree (scheduled_for);

CREATE INDEX attempt_version_of_version ON tickwork.attempt_version USING btree (job_id, version);

CREATE INDEX awaited_judged ON tickwork.awaited USING btree (child_id) WHERE (verdict IS NOT NULL);

CREATE INDEX awaited_of_parent ON tickwork.awaited USING btree (parent_id, parent_at);

CREATE INDEX awaited_unsure ON tickwork.awaited USING btree (child_at) WHERE unsure;

CREATE INDEX backfill_age ON tickwork.backfill USING btree (ended_at);

CREATE INDEX backfill_of_job ON tickwork.backfill USING btree (tenant_id, job_id, id);

CREATE INDEX backfill_under_way ON tickwork.backfill USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX callback_wait_deadline ON tickwork.callback_wait USING btree (deadline);

CREATE INDEX callback_wait_of_lease ON tickwork.callback_wait USING btree (lease_id);

CREATE INDEX callback_wait_poll ON tickwork.callback_wait USING btree (poll_at) WHERE (poll_at IS NOT NULL);

CREATE INDEX dead_letter_age ON tickwork.dead_letter USING btree (tenant_id, failed_at, scheduled_for, job_id);

CREATE INDEX dead_letter_of_cause ON tickwork.dead_letter USING btree (tenant_id, fingerprint, failed_at, scheduled_for, job_id) WHERE (fingerprint IS NOT NULL);

CREATE INDEX dead_letter_of_job ON tickwork.dead_letter USING btree (tenant_id, job_id, failed_at, scheduled_for);

CREATE INDEX dependency_of_parent ON tickwork.dependency USING btree (parent_id, child_id);

CREATE INDEX error_group_age ON tickwork.error_group USING btree (tenant_id, last_seen, fingerprint);

CREATE INDEX event_of_cause ON tickwork.event USING btree (tenant_id, fingerprint, number) WHERE (fingerprint IS NOT NULL);

CREATE INDEX event_of_definition ON tickwork.event USING btree (job_id, number) WHERE (kind ~~ 'job.%'::text);

CREATE INDEX event_of_error ON tickwork.event USING btree (tenant_id, error_type, scheduled_for, job_id) INCLUDE (lane_id) WHERE ((error_type IS NOT NULL) AND (scheduled_for IS NOT NULL));

CREATE INDEX event_of_job ON tickwork.event USING btree (job_id, number) WHERE (job_id IS NOT NULL);

CREATE INDEX event_of_kind ON tickwork.event USING btree (tenant_id, kind, scheduled_for, job_id) INCLUDE (lane_id) WHERE (scheduled_for IS NOT NULL);

CREATE INDEX event_of_tenant ON tickwork.event USING btree (tenant_id, number);

CREATE INDEX execution_queued ON ONLY tickwork.execution USING btree (tenant_id, job_id) WHERE ((blocked_by IS NOT NULL) AND (ready_at IS NOT NULL));

CREATE INDEX execution_ready ON ONLY tickwork.execution USING btree (lane_id, priority, ready_at) WHERE (ready_at IS NOT NULL);

CREATE INDEX failing_job_of_tenant ON tickwork.failing_job USING btree (tenant_id, job_id);

CREATE INDEX fired_to_count_minute ON tickwork.fired_to_count USING btree (at, tenant_id);

CREATE INDEX flapping_job_settled ON tickwork.flapping_job USING btree (changed_at);

CREATE INDEX heartbeat_due ON tickwork.heartbeat USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX idempotency_age ON tickwork.idempotency USING btree (created_at);

CREATE INDEX incident_of_subject ON tickwork.incident USING btree (subject, channel_id);

CREATE INDEX job_change_of_tenant ON tickwork.job_change USING btree (tenant_id, job_id);

CREATE INDEX job_deferred ON tickwork.job USING btree (scheduled_for) WHERE deferred;

CREATE UNIQUE INDEX job_element ON tickwork.job USING btree (element_of, element_at, element_number) WHERE (element_of IS NOT NULL);

CREATE UNIQUE INDEX job_key ON tickwork.job USING btree (tenant_id, key) WHERE ((key IS NOT NULL) AND (status <> 'cancelled'::tickwork.job_status));

CREATE INDEX job_of_rule ON tickwork.job USING btree (rule_id, priority, id) WHERE (rule_id IS NOT NULL);

CREATE INDEX job_of_tenant ON tickwork.job USING btree (tenant_id, id);

CREATE INDEX job_once ON tickwork.job USING btree (scheduled_for, id) WHERE (rule_id IS NULL);

CREATE INDEX job_that_ends ON tickwork.job USING btree (id) WHERE ((rule_id IS NOT NULL) AND ((status = 'cancelled'::tickwork.job_status) OR (active_until IS NOT NULL)));

CREATE INDEX job_version_age ON tickwork.job_version USING btree (until);

CREATE INDEX job_version_of_time ON tickwork.job_version USING btree (job_id, until);

CREATE INDEX job_with_last_run ON tickwork.job USING btree (tenant_id, active_until) WHERE (active_until IS NOT NULL);

CREATE INDEX lane_awaiting_task ON tickwork.lane USING btree (id) WHERE (placement ~~ '%"awaits_task":true%'::text);

CREATE INDEX lane_fanning_out ON tickwork.lane USING btree (id) WHERE (placement ~~ '%"fans_out":true%'::text);

CREATE INDEX lane_with_deadline ON tickwork.lane USING btree (id) WHERE (placement ~~ '%"deadline":%'::text);

CREATE INDEX lease_of_worker ON tickwork.lease USING btree (worker_id);

CREATE INDEX limiter_bounded ON tickwork.limiter USING btree (tenant_id, name) WHERE (max_backlog IS NOT NULL);

CREATE INDEX notification_due ON tickwork.notification USING btree (channel_id, due_at) WHERE (status = 'waiting'::text);

CREATE INDEX notification_message_age ON tickwork.notification_message USING btree (ended_at);

CREATE INDEX notification_message_of_channel ON tickwork.notification_message USING btree (channel_id, created_at);

CREATE INDEX notification_message_on_its_way ON tickwork.notification_message USING btree (job_id) WHERE (status = 'sending'::text);

CREATE INDEX notification_of_message ON tickwork.notification USING btree (message_id) WHERE (message_id IS NOT NULL);

CREATE INDEX notification_of_tenant ON tickwork.notification USING btree (tenant_id, id);

CREATE UNIQUE INDEX notification_waiting ON tickwork.notification USING btree (channel_id, cause) WHERE (status = 'waiting'::text);

CREATE INDEX off_schedule_execution_manual ON tickwork.off_schedule_execution USING btree (job_id, scheduled_for) WHERE (backfill_id IS NULL);

CREATE INDEX past_rule_age ON tickwork.past_rule USING btree (until);

CREATE INDEX past_rule_of_rule ON tickwork.past_rule USING btree (rule_id);

CREATE INDEX ping_run_by_time ON tickwork.ping_run USING btree (ended_at);

CREATE INDEX ping_to_check ON tickwork.ping USING btree (check_at) WHERE (check_at IS NOT NULL);

CREATE INDEX purge_age ON tickwork.purge USING btree (ended_at);

CREATE INDEX purge_in_archive ON tickwork.purge USING btree (requested_at) WHERE (left_archive_at IS NULL);

CREATE INDEX purge_under_way ON tickwork.purge USING btree (requested_at) WHERE (NOT swept);

CREATE INDEX restored_execution_age ON tickwork.restored_execution USING btree (until);

CREATE INDEX restored_execution_of_job ON tickwork.restored_execution USING btree (tenant_id, job_id);

CREATE INDEX retry_payload_age ON tickwork.retry_payload USING btree (scheduled_for);

CREATE INDEX revocation_of_worker ON tickwork.revocation USING btree (worker_id);

CREATE INDEX rule_due ON tickwork.rule USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX rule_ended ON tickwork.rule USING btree (tenant_id, id) WHERE (next_at IS NULL);

CREATE INDEX session_expiry ON tickwork.session USING btree (expires_at);

CREATE INDEX session_of_key ON tickwork.session USING btree (key_id, created_at);

CREATE INDEX sign_in_link_of_key ON tickwork.sign_in_link USING btree (key_id, expires_at);

CREATE INDEX statistic_of_tenant ON tickwork.statistic USING btree (tenant_id, span, at);

CREATE INDEX statistic_recount_age ON tickwork.statistic_recount USING btree (at);

CREATE INDEX statistic_recounted_open ON tickwork.statistic_recounted USING btree (at) WHERE (NOT is_counted);

CREATE INDEX task_cancelling ON tickwork.task USING btree (tenant_id, name) WHERE cancels_jobs;

CREATE INDEX task_disabled ON tickwork.task USING btree (tenant_id, name) WHERE (disabled_at IS NOT NULL);

CREATE INDEX unchecked_job_of_task ON tickwork.unchecked_job USING btree (tenant_id, task) WHERE (mismatch IS NULL);

CREATE INDEX worker_alive ON tickwork.worker USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX worker_of_tenant ON tickwork.worker USING btree (tenant_id, id);

CREATE TRIGGER count_what_ended AFTER INSERT OR UPDATE OF finished_at ON tickwork.execution FOR EACH STATEMENT WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION tickwork.count_what_ended();

CREATE TRIGGER end_callback_wait AFTER DELETE ON tickwork.lease FOR EACH ROW WHEN ((old.worker_id = 0)) EXECUTE FUNCTION tickwork.end_callback_wait();

CREATE TRIGGER make_round AFTER INSERT ON tickwork.execution FOR EACH ROW WHEN ((new.followed AND (new.trigger <> 'manual'::tickwork.execution_trigger) AND (pg_trigger_depth() = 0))) EXECUTE FUNCTION tickwork.make_round();

CREATE TRIGGER make_round_again AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW WHEN ((new.followed AND (old.status = 'skipped'::tickwork.execution_status) AND (new.finished_at IS NULL) AND (pg_trigger_depth() = 0))) EXECUTE FUNCTION tickwork.make_round();

CREATE TRIGGER move_awaited AFTER UPDATE OF scheduled_for ON tickwork.job FOR EACH ROW WHEN (((new.followed OR new.depends) AND (new.scheduled_for <> old.scheduled_for))) EXECUTE FUNCTION tickwork.move_awaited();

CREATE TRIGGER note_end AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW WHEN ((new.followed AND (old.finished_at IS NULL) AND (new.finished_at IS NOT NULL) AND (NOT ((new.status = 'cancelled'::tickwork.execution_status) AND (NOT (new.reason IS DISTINCT FROM 'rescheduled'::text)))))) EXECUTE FUNCTION tickwork.note_end();

CREATE TRIGGER note_job_change AFTER UPDATE OF version, rule_id, scheduled_for ON tickwork.job FOR EACH ROW WHEN (((old.version <> new.version) OR (old.rule_id IS DISTINCT FROM new.rule_id) OR (old.scheduled_for IS DISTINCT FROM new.scheduled_for))) EXECUTE FUNCTION tickwork.note_job_change();

CREATE TRIGGER note_moved_job AFTER UPDATE OF lane_id ON tickwork.job FOR EACH ROW WHEN ((old.lane_id <> new.lane_id)) EXECUTE FUNCTION tickwork.note_moved_job();

CREATE TRIGGER request_recount AFTER INSERT ON tickwork.execution FOR EACH ROW WHEN (((new.scheduled_for < (tickwork.clock() - '00:00:30'::interval)) AND (new.trigger <> 'backfill'::tickwork.execution_trigger))) EXECUTE FUNCTION tickwork.request_recount();

CREATE TRIGGER request_remerge AFTER INSERT ON tickwork.statistic FOR EACH ROW WHEN (((new.span = 'minute'::tickwork.statistic_span) AND (NOT new.is_sum) AND (new.at < (tickwork.clock() - '01:00:00'::interval)))) EXECUTE FUNCTION tickwork.request_remerge();

CREATE TRIGGER write_blocked_events AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW WHEN ((new.followed AND (old.finished_at IS NULL) AND (new.status = ANY (ARRAY['failed'::tickwork.execution_status, 'cancelled'::tickwork.execution_status])) AND (NOT ((new.status = 'cancelled'::tickwork.execution_status) AND (NOT (new.reason IS DISTINCT FROM 'rescheduled'::text)))))) EXECUTE FUNCTION tickwork.write_blocked_events();

CREATE TRIGGER write_blocked_events AFTER UPDATE OF status ON tickwork.job FOR EACH ROW WHEN ((new.followed AND old.deferred AND (old.status <> 'cancelled'::tickwork.job_status) AND (new.status = 'cancelled'::tickwork.job_status))) EXECUTE FUNCTION tickwork.write_blocked_events_of_job();

CREATE TRIGGER write_breaker_event AFTER UPDATE OF state ON tickwork.breaker FOR EACH ROW WHEN (((old.state = 'closed'::text) <> (new.state = 'closed'::text))) EXECUTE FUNCTION tickwork.write_breaker_event();

CREATE TRIGGER write_event AFTER UPDATE OF status ON tickwork.execution FOR EACH ROW WHEN (((new.status = ANY (ARRAY['skipped'::tickwork.execution_status, 'cancelled'::tickwork.execution_status])) AND (old.status <> new.status))) EXECUTE FUNCTION tickwork.write_event();

CREATE TRIGGER write_event_of_new AFTER INSERT ON tickwork.execution FOR EACH ROW WHEN ((new.status = 'skipped'::tickwork.execution_status)) EXECUTE FUNCTION tickwork.write_event();

CREATE TRIGGER write_event_of_new_key AFTER INSERT ON tickwork.api_key FOR EACH ROW EXECUTE FUNCTION tickwork.write_key_event();

CREATE TRIGGER write_event_of_new_queue AFTER INSERT ON tickwork.limiter FOR EACH ROW WHEN ((new.kind = 'queue'::text)) EXECUTE FUNCTION tickwork.write_queue_event();

CREATE TRIGGER write_event_of_new_worker AFTER INSERT ON tickwork.worker FOR EACH ROW WHEN ((new.tenant_id IS NOT NULL)) EXECUTE FUNCTION tickwork.write_worker_event();

CREATE TRIGGER write_job_event AFTER UPDATE OF version ON tickwork.job FOR EACH ROW WHEN ((old.version <> new.version)) EXECUTE FUNCTION tickwork.write_job_event();

CREATE TRIGGER write_key_event AFTER UPDATE OF revoked_at ON tickwork.api_key FOR EACH ROW WHEN (((old.revoked_at IS NULL) AND (new.revoked_at IS NOT NULL))) EXECUTE FUNCTION tickwork.write_key_event();

CREATE TRIGGER write_queue_event AFTER UPDATE OF paused, max_running, rate, max_backlog, max_workers ON tickwork.limiter FOR EACH ROW WHEN (((new.kind = 'queue'::text) AND (((((old.paused IS DISTINCT FROM new.paused) OR (old.max_running IS DISTINCT FROM new.max_running)) OR (old.rate IS DISTINCT FROM new.rate)) OR (old.max_backlog IS DISTINCT FROM new.max_backlog)) OR (old.max_workers IS DISTINCT FROM new.max_workers)))) EXECUTE FUNCTION tickwork.write_queue_event();

CREATE TRIGGER write_worker_event AFTER UPDATE OF ended_at ON tickwork.worker FOR EACH ROW WHEN (((new.tenant_id IS NOT NULL) AND (old.ended_at IS NULL) AND (new.ended_at IS NOT NULL))) EXECUTE FUNCTION tickwork.write_worker_event();

ALTER TABLE ONLY tickwork.api_key
    ADD CONSTRAINT api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tickwork.tenant(id);

ALTER TABLE ONLY tickwork.channel
    ADD CONSTRAINT channel_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tickwork.tenant(id);

ALTER TABLE ONLY tickwork.ping_run
    ADD CONSTRAINT ping_run_ping_id_fkey FOREIGN KEY (ping_id) REFERENCES tickwork.ping(id) ON DELETE CASCADE;

ALTER TABLE ONLY tickwork.session
    ADD CONSTRAINT session_key_id_fkey FOREIGN KEY (key_id) REFERENCES tickwork.api_key(id);

ALTER TABLE ONLY tickwork.sign_in_link
    ADD CONSTRAINT sign_in_link_key_id_fkey FOREIGN KEY (key_id) REFERENCES tickwork.api_key(id);
