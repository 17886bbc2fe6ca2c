-- Jobs that run after others: who depends on whom, and what each execution still waits for.

ALTER TABLE tickwork.job
    ADD COLUMN followed boolean NOT NULL DEFAULT false,  -- others depend on it
    ADD COLUMN depends boolean NOT NULL DEFAULT false;   -- on others; with a rule: it runs once in each of their rounds
ALTER TABLE tickwork.execution ADD COLUMN followed boolean NOT NULL DEFAULT false;  -- as its job, or since others wait for it

CREATE TABLE tickwork.dependency (
    tenant_id integer NOT NULL,
    child_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    on_any boolean NOT NULL,             -- however the parent ends; else it must complete
    met boolean NOT NULL DEFAULT false,  -- for all rounds of the child, by a parent that is due once
    PRIMARY KEY (child_id, parent_id),
    CHECK (child_id <> parent_id)
);
CREATE INDEX dependency_of_parent ON tickwork.dependency (parent_id, child_id);

-- What executions wait for: a row for each execution of a parent, until that has ended as it must. The last one that goes
-- lets the child go on. As a row can go only once, a parent counts once, however often it ends.
CREATE TABLE tickwork.awaited (
    child_id bigint NOT NULL,
    child_at timestamptz NOT NULL,
    parent_id bigint NOT NULL,
    parent_at timestamptz NOT NULL,
    tenant_id integer NOT NULL,
    on_any boolean NOT NULL,
    unsure boolean NOT NULL,             -- whether the parent is due at that time at all has yet to be seen
    ended tickwork.execution_status,     -- as the parent has, until the same transaction has counted it
    PRIMARY KEY (child_id, child_at, parent_id)
);
CREATE INDEX awaited_of_parent ON tickwork.awaited (parent_id, parent_at);
CREATE INDEX awaited_unsure ON tickwork.awaited (child_at) WHERE unsure;
CREATE INDEX awaited_ended ON tickwork.awaited (child_id) WHERE ended IS NOT NULL;

-- Whether an execution waits for others. VOLATILE: it looks after the locks were got, not when the statement began.
CREATE FUNCTION tickwork.is_waiting(job bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM tickwork.awaited WHERE child_id = job AND child_at = at);
END $$;

-- The public id of a job, as model/ids.py writes it.
CREATE FUNCTION tickwork.job_name(id bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'j' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (id >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 12) AS n WHERE id >> 5 * n > 0
$$;

-- Why a parent did not run when its child was to follow; of a chain of them, the first one is named.
CREATE FUNCTION tickwork.why_skipped(tenant integer, parent bigint, at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
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

-- How those ended that an execution depends on, as JSON: [[id, name, key, task, status, result], …], or the size of it all
-- if that is too much to be handed over.
CREATE FUNCTION tickwork.outcomes_of_parents(child bigint, round_at timestamptz) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT convert_to(CASE WHEN sum(length(e.result)) > 262144 THEN sum(length(e.result))::text
                           ELSE json_agg(json_build_array(tickwork.job_name(p.id), p.name, p.key, p.task, e.status,
                                                          convert_from(e.result, 'UTF8')::json) ORDER BY p.id)::text END, 'UTF8')
    FROM tickwork.dependency d
    JOIN tickwork.job p ON p.id = d.parent_id
    LEFT JOIN LATERAL (
        SELECT e.status, e.result FROM tickwork.execution e
        WHERE e.tenant_id = d.tenant_id AND e.scheduled_for = coalesce(p.scheduled_for, round_at) AND e.job_id = p.id
        OFFSET 0
    ) e ON true
    WHERE d.child_id = child
$$;

-- Lets executions wait for those of their parents that have not ended as they must. A parent that is due once is locked
-- meanwhile: it ends wholly before this or wholly after it, and then knows who waits. One that repeats has, for a round
-- that is only being made, not ended; whether it is due in that round at all is looked at later, if it can miss it.
CREATE FUNCTION tickwork.await_parents(children bigint[], round_at timestamptz, can_miss boolean) RETURNS void LANGUAGE plpgsql AS $$
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
    INSERT INTO tickwork.awaited (child_id, child_at, parent_id, parent_at, tenant_id, on_any, unsure, ended)
    SELECT edge.child_id, edge.child_at, edge.parent_id, edge.parent_at, edge.tenant_id, edge.on_any,
        can_miss AND edge.repeats AND e.status IS NULL, CASE WHEN e.status = 'skipped' THEN e.status END
    FROM (
        SELECT d.tenant_id, d.child_id, coalesce(c.scheduled_for, round_at) AS child_at, d.parent_id,
            coalesce(p.scheduled_for, round_at) AS parent_at, d.on_any, p.scheduled_for IS NULL AS repeats
        FROM tickwork.dependency d
        JOIN tickwork.job c ON c.id = d.child_id
        JOIN tickwork.job p ON p.id = d.parent_id
        WHERE d.child_id = ANY(children) AND NOT d.met
        OFFSET 0
    ) edge
    LEFT JOIN LATERAL (
        SELECT e.status, e.finished_at FROM tickwork.execution e
        WHERE e.tenant_id = edge.tenant_id AND e.scheduled_for = edge.parent_at AND e.job_id = edge.parent_id
        OFFSET 0
    ) e ON true
    WHERE e.status IS DISTINCT FROM 'completed' AND (e.finished_at IS NULL OR NOT edge.on_any)
    ON CONFLICT DO NOTHING;
END $$;

-- What repeats together: the executions of a round of a job bring those of all who follow it into being, to wait, or back
-- if they were skipped because of it. A backfill runs rounds that began before a follower was there, and one parent of
-- it at a time: the others are waited for.
CREATE FUNCTION tickwork.make_round() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE backfilled boolean := NEW.trigger = 'backfill'; made bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM tickwork.job WHERE id = NEW.job_id AND rule_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    WITH RECURSIVE follower AS (
        SELECT NEW.job_id AS id
        UNION
        SELECT c.id FROM follower f
        JOIN tickwork.dependency d ON d.parent_id = f.id
        JOIN tickwork.job c ON c.id = d.child_id
        WHERE c.rule_id IS NOT NULL AND c.status <> 'cancelled' AND (c.active_from <= NEW.scheduled_for OR backfilled)
    ), beside AS (
        INSERT INTO tickwork.execution AS e
            (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, followed)
        SELECT NEW.tenant_id, NEW.scheduled_for, c.id, c.lane_id, c.priority, NEW.trigger, 'pending', 'infinity', c.followed
        FROM follower JOIN tickwork.job c ON c.id = follower.id
        WHERE c.id <> NEW.job_id
        ORDER BY c.id
        ON CONFLICT (tenant_id, scheduled_for, job_id) DO UPDATE
        SET status = 'pending', ready_at = 'infinity', finished_at = NULL, reason = NULL, attempt = e.attempt + 1,
            trigger = excluded.trigger, lane_id = excluded.lane_id, priority = excluded.priority, followed = excluded.followed
        WHERE e.status = 'skipped' AND e.reason LIKE 'parent %'
        RETURNING job_id
    ), noted AS (
        INSERT INTO tickwork.extra (job_id, scheduled_for, backfill_id)
        SELECT beside.job_id, x.scheduled_for, x.backfill_id
        FROM beside JOIN tickwork.extra x ON x.job_id = NEW.job_id AND x.scheduled_for = NEW.scheduled_for
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(job_id) INTO made FROM beside;
    IF made IS NOT NULL THEN
        PERFORM tickwork.await_parents(made, NEW.scheduled_for, NOT backfilled);
    END IF;
    IF NEW.finished_at IS NOT NULL THEN
        UPDATE tickwork.awaited SET ended = NEW.status WHERE parent_id = NEW.job_id AND parent_at = NEW.scheduled_for;
    END IF;
    RETURN NULL;
END $$;

-- Marks what was waiting for an execution that has ended; counting comes when the statement that ended it has ended all.
-- One that moved to another time has not ended.
CREATE FUNCTION tickwork.note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tickwork.awaited SET ended = NEW.status
    WHERE parent_id = NEW.job_id AND parent_at = NEW.scheduled_for AND (on_any OR NEW.status IN ('completed', 'skipped'));
    UPDATE tickwork.dependency d SET met = true
    FROM tickwork.job p, tickwork.job c
    WHERE d.parent_id = NEW.job_id AND NOT d.met AND (d.on_any OR NEW.status = 'completed')
        AND p.id = d.parent_id AND p.scheduled_for = NEW.scheduled_for AND c.id = d.child_id AND c.rule_id IS NOT NULL;
    RETURN NULL;
END $$;

-- Counts what has ended. Children for whom nothing is left to wait for go on, those whose parent was skipped are skipped
-- too. Their jobs are locked first: so of two parents that end at the same time one sees the other, and a pause is
-- wholly before or wholly after.
CREATE FUNCTION tickwork.count_ended() RETURNS void LANGUAGE plpgsql AS $$
DECLARE tenants integer[]; children bigint[]; times timestamptz[]; skipped_fors bigint[];
BEGIN
    WHILE EXISTS (SELECT FROM tickwork.awaited WHERE ended IS NOT NULL) LOOP
        PERFORM FROM tickwork.job
        WHERE id = ANY(ARRAY(SELECT DISTINCT child_id FROM tickwork.awaited WHERE ended IS NOT NULL))
        ORDER BY id FOR NO KEY UPDATE;
        WITH counted AS (
            DELETE FROM tickwork.awaited WHERE ended IS NOT NULL RETURNING *
        ), child AS (
            SELECT tenant_id, child_id, child_at,
                min(parent_id) FILTER (WHERE ended = 'skipped' AND NOT on_any) AS skipped_for
            FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 3, 2
        )
        SELECT array_agg(tenant_id), array_agg(child_id), array_agg(child_at), array_agg(skipped_for)
        INTO tenants, children, times, skipped_fors FROM child;
        FOR n IN 1 .. cardinality(children) LOOP
            IF skipped_fors[n] IS NOT NULL THEN
                DELETE FROM tickwork.awaited WHERE child_id = children[n] AND child_at = times[n];
            END IF;
        END LOOP;
        UPDATE tickwork.execution e
        SET status = CASE WHEN c.skipped_for IS NULL THEN e.status ELSE 'skipped' END,
            ready_at = CASE WHEN c.skipped_for IS NOT NULL THEN NULL
                            WHEN c.paused OR e.blocked_by IS NOT NULL THEN 'infinity'
                            ELSE greatest(e.scheduled_for, tickwork.clock()) END,
            finished_at = CASE WHEN c.skipped_for IS NOT NULL THEN tickwork.clock() END,
            reason = CASE WHEN c.skipped_for IS NOT NULL THEN tickwork.why_skipped(c.tenant_id, c.skipped_for, c.at) END
        FROM (
            SELECT c.*, (SELECT j.status = 'paused' FROM tickwork.job j WHERE j.id = c.id) AS paused
            FROM unnest(tenants, children, times, skipped_fors) AS c (tenant_id, id, at, skipped_for)
            WHERE NOT tickwork.is_waiting(c.id, c.at)
            OFFSET 0
        ) c
        WHERE e.tenant_id = ANY(ARRAY[c.tenant_id]) AND e.scheduled_for = c.at AND e.job_id = c.id
            AND e.ready_at IS NOT DISTINCT FROM 'infinity';  -- not =, which the index of what waits could answer
    END LOOP;
END $$;

CREATE FUNCTION tickwork.count_what_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.count_ended();
    RETURN NULL;
END $$;

-- Whoever makes, ends or revives an execution need not know of those that wait for it: the conditions here are all that
-- an execution without followers costs. At the top only: what these functions change themselves, they look after.
CREATE TRIGGER make_round AFTER INSERT ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND NEW.trigger <> 'manual' AND pg_trigger_depth() = 0) EXECUTE FUNCTION tickwork.make_round();
CREATE TRIGGER make_round_again AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.status = 'skipped' AND NEW.finished_at IS NULL AND pg_trigger_depth() = 0)
    EXECUTE FUNCTION tickwork.make_round();
CREATE TRIGGER note_end AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL
          AND NOT (NEW.status = 'cancelled' AND NEW.reason IS NOT DISTINCT FROM 'rescheduled'))
    EXECUTE FUNCTION tickwork.note_end();
CREATE TRIGGER count_what_ended AFTER INSERT OR UPDATE OF finished_at ON tickwork.execution FOR EACH STATEMENT
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION tickwork.count_what_ended();

-- A job that is due once and gets another time is waited for, and waits, at that time.
CREATE FUNCTION tickwork.move_awaited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tickwork.awaited SET parent_at = NEW.scheduled_for WHERE parent_id = NEW.id AND parent_at = OLD.scheduled_for;
    UPDATE tickwork.awaited SET child_at = NEW.scheduled_for WHERE child_id = NEW.id AND child_at = OLD.scheduled_for;
    RETURN NULL;
END $$;
CREATE TRIGGER move_awaited AFTER UPDATE OF scheduled_for ON tickwork.job FOR EACH ROW
    WHEN ((NEW.followed OR NEW.depends) AND NEW.scheduled_for <> OLD.scheduled_for)
    EXECUTE FUNCTION tickwork.move_awaited();

-- When a job runs that waits for others, nobody can tell.
CREATE OR REPLACE VIEW tickwork.job_view AS
SELECT j.id, j.tenant_id, j.rule_id, j.name, j.key, j.task, j.priority, j.tags, j.payload, j.definition, j.version,
    j.created_at, j.updated_at, j.scheduled_for, r.timing, l.queue,
    CASE WHEN j.status = 'active' AND e.status IN ('completed', 'failed', 'cancelled') THEN e.status::text
         WHEN j.status = 'active' AND j.rule_id IS NOT NULL
             AND (r.next_at IS NULL OR j.active_until < r.next_at) THEN 'completed'
         ELSE j.status::text END AS status,
    CASE WHEN j.status <> 'active' THEN NULL
         WHEN j.rule_id IS NOT NULL THEN CASE WHEN j.active_until < r.next_at THEN NULL ELSE r.next_at END
         WHEN j.depends AND e.ready_at = 'infinity' THEN NULL
         WHEN e.finished_at IS NULL AND e.started_at IS NULL THEN j.scheduled_for END AS next_run_at
FROM tickwork.job j
JOIN tickwork.lane l ON l.id = j.lane_id
LEFT JOIN tickwork.rule r ON r.id = j.rule_id
LEFT JOIN tickwork.execution e
    ON j.rule_id IS NULL AND e.tenant_id = j.tenant_id AND e.scheduled_for = j.scheduled_for AND e.job_id = j.id;

CREATE OR REPLACE VIEW tickwork.execution_view AS
SELECT e.tenant_id, e.job_id, e.scheduled_for, l.task, l.queue, e.trigger::text AS trigger, e.attempt, e.worker_id,
    e.started_at, e.finished_at, e.result, e.reason, e.priority, j.definition, last.error,
    CASE WHEN e.status = 'running' AND e.scheduled_for > tickwork.clock() THEN 'pending' ELSE e.status::text END
        AS status,
    CASE WHEN e.finished_at IS NOT NULL THEN NULL
         WHEN e.blocked_by IS NOT NULL THEN 'limit'
         WHEN e.ready_at = 'infinity' THEN CASE
             WHEN j.depends AND EXISTS (
                 SELECT FROM tickwork.awaited a WHERE a.child_id = e.job_id AND a.child_at = e.scheduled_for)
                 THEN 'dependency'
             WHEN j.status = 'paused' THEN 'paused' ELSE 'limit' END
         WHEN e.ready_at > tickwork.clock() AND e.attempt > 1 THEN 'retry'
         WHEN e.ready_at > tickwork.clock() OR e.scheduled_for > tickwork.clock() THEN 'due'
         WHEN e.ready_at IS NOT NULL THEN 'worker' END AS waiting_for,
    CASE WHEN isfinite(e.ready_at) THEN e.ready_at ELSE e.scheduled_for END AS due_at,
    e.progress, e.failures, e.losses
FROM tickwork.execution e
JOIN tickwork.lane l ON l.id = e.lane_id
JOIN tickwork.job j ON j.id = e.job_id
LEFT JOIN LATERAL (
    SELECT a.error FROM tickwork.attempt a
    WHERE e.failures > 0 AND e.status <> 'completed' AND a.tenant_id = e.tenant_id AND a.scheduled_for = e.scheduled_for AND a.job_id = e.job_id
        AND a.outcome = 'failed'
    ORDER BY a.attempt DESC LIMIT 1
) last ON true;
