-- Branches: a dependency may need a failure instead of a success, or a result for which a condition is true. A child
-- whose branch is not taken is skipped. `any outcome` counts whatever happened, also that the parent is blocked.

CREATE TYPE tickwork.needed_outcome AS ENUM ('success', 'failure', 'any outcome');

-- What the end of a parent means for a child.
CREATE TYPE tickwork.verdict AS ENUM (
    'met',        -- the parent ended as needed
    'left out',   -- the parent was not taken; the child goes on without it if another parent was
    'not taken',  -- the parent ended otherwise than the branch needs, for good
    'skipped',    -- the parent was skipped for another reason, and so is the child
    'blocked');   -- the child waits until the parent is retried

ALTER TABLE tickwork.dependency
    ADD needs tickwork.needed_outcome NOT NULL DEFAULT 'success',
    ADD condition jsonpath;              -- must be true for the result of the parent
UPDATE tickwork.dependency SET needs = 'any outcome' WHERE on_any;
ALTER TABLE tickwork.dependency DROP on_any;

DROP INDEX tickwork.awaited_ended;
ALTER TABLE tickwork.awaited
    ADD needs tickwork.needed_outcome NOT NULL DEFAULT 'success',
    ADD condition jsonpath,
    ADD verdict tickwork.verdict;        -- on the parent, until the same transaction has counted it
UPDATE tickwork.awaited SET needs = 'any outcome' WHERE on_any;
ALTER TABLE tickwork.awaited DROP on_any, DROP ended;
CREATE INDEX awaited_judged ON tickwork.awaited (child_id) WHERE verdict IS NOT NULL;
-- Of a deferred job whose parents have decided that it does not run: its execution is skipped when it is created.
ALTER TABLE tickwork.job ADD reason_to_skip text;

-- A stored result as JSON that a condition can look at. Null when it cannot be read as that.
CREATE FUNCTION tickwork.readable_result(result bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(convert_from(result, 'UTF8')::jsonb, 'null');
EXCEPTION WHEN data_exception OR program_limit_exceeded OR untranslatable_character THEN
    RETURN NULL;
END $$;

CREATE FUNCTION tickwork.was_not_taken(status tickwork.execution_status, reason text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(status = 'skipped' AND reason LIKE 'not taken%', false) $$;

-- What the end of a parent means for a child. `result`: null when there is no condition to look at it.
CREATE FUNCTION tickwork.judge(
    needs tickwork.needed_outcome, condition jsonpath, status tickwork.execution_status, reason text, result jsonb
) RETURNS tickwork.verdict LANGUAGE sql IMMUTABLE AS $$
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

-- Judges an execution that has ended, for all that waits for it. Its result is read once, if there is a condition.
CREATE FUNCTION tickwork.judge_ended(ended tickwork.execution) RETURNS void LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION tickwork.note_end() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Whether an execution waits in vain, directly or through others: the row of a parent that has ended is still there.
-- VOLATILE, so that it sees what is true once the locks are taken.
CREATE FUNCTION tickwork.is_blocked(job bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
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

-- Makes executions wait for those of their parents that have not ended as required. The execution of a one-time parent
-- is locked first: either it has ended before, or it sees afterwards which executions wait. A recurring parent has not
-- ended in a round that is only being created. Whether it is due in that round at all is found out later, if it can
-- miss it (`unsure`). What has a verdict is to be counted by the same transaction.
CREATE OR REPLACE FUNCTION tickwork.await_parents(children bigint[], round_at timestamptz, can_miss boolean)
RETURNS void LANGUAGE plpgsql AS $$
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
    WHERE e.verdict IS DISTINCT FROM 'met'
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

-- As before, and judges a parent that was skipped when it was created.
CREATE OR REPLACE FUNCTION tickwork.make_round() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Why a branch is not taken. The parent is one that decided it.
CREATE FUNCTION tickwork.not_taken_reason(tenant integer, child bigint, parent bigint, at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
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

-- Whether an execution has nothing to do because none of its parents was taken, and it does not run whatever happened.
CREATE FUNCTION tickwork.is_off_all_branches(tenant integer, child bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
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

-- Counts for steps that run whatever happened that their parents are blocked: what waits, directly or through others,
-- for a parent that was judged so. It is looked for again once it is locked, until nothing is added: who adds a child
-- locks its parents, too, so one of the two sees the other.
CREATE FUNCTION tickwork.count_blocked() RETURNS void LANGUAGE plpgsql AS $$
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

-- Notes that deferred jobs will be skipped, and judges them for all that waits for them.
CREATE FUNCTION tickwork.skip_deferred(jobs bigint[], reasons text[]) RETURNS void LANGUAGE sql AS $$
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

-- Counts the parents that have ended. Children with nothing left to wait for go on. Those whose branch is not taken are
-- skipped, and so are those with a skipped parent. Their jobs are locked first: so when two parents end at the same
-- time, one of them sees the other, and a pause comes either before or after, never in between.
CREATE OR REPLACE FUNCTION tickwork.count_ended() RETURNS void LANGUAGE plpgsql AS $$
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

-- Whether an execution waits in vain for one of its parents.
CREATE OR REPLACE FUNCTION tickwork.awaits_failed(child bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
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

-- Writes that executions are blocked by one of a parent, which had this outcome.
CREATE OR REPLACE FUNCTION tickwork.write_blocked(
    parent bigint, at timestamptz, outcome text, children bigint[] DEFAULT NULL
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
    SELECT a.tenant_id, 'execution.blocked', a.child_id, a.child_at, c.lane_id,
        json_build_object('reason', format('parent %s %s', tickwork.job_name(parent),
                                           CASE outcome WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END))::text
    FROM tickwork.awaited a JOIN tickwork.job c ON c.id = a.child_id
    WHERE a.parent_id = parent AND a.parent_at = at
        AND (a.needs = 'success' OR a.needs = 'failure' AND outcome <> 'failed')
        AND (children IS NULL OR a.child_id = ANY(children))
$$;

-- The execution of a job that is cancelled long before its due time does not exist yet: the job itself ends.
CREATE OR REPLACE FUNCTION tickwork.write_blocked_events_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.id, NEW.scheduled_for, 'cancelled');
    UPDATE tickwork.awaited SET verdict = tickwork.judge(needs, condition, 'cancelled', NULL, NULL)
    WHERE parent_id = NEW.id AND parent_at = NEW.scheduled_for;
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;

-- As before, and a deferred job whose branch was not taken is skipped before it has an execution.
CREATE OR REPLACE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.finished_at IS NOT NULL THEN e.status::text
         WHEN j.status = 'active' AND j.reason_to_skip IS NOT NULL THEN 'skipped'
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         WHEN j.status = 'active' AND history.is_gone THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' OR j.reason_to_skip IS NOT NULL OR history.is_gone THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at,
    j.description, j.owner
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN LATERAL (
    SELECT status, ready_at, started_at, finished_at FROM tickwork.execution
    WHERE j.rule_id IS NULL AND tenant_id = j.tenant_id AND scheduled_for = j.scheduled_for AND job_id = j.id
    OFFSET 0
) e ON true
CROSS JOIN LATERAL (
    -- The execution of a one-time job was dropped with its partition.
    SELECT j.rule_id IS NULL AND e.status IS NULL AND NOT j.deferred AS is_gone
) history;
