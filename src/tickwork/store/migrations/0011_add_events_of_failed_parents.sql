-- An execution is blocked while one that it needs has failed or was cancelled, or can never be created because its job
-- was cancelled. It goes on when that one is retried and completes.

-- Whether an execution waits in vain.
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
        WHERE a.child_id = child AND a.child_at = at AND NOT a.on_any
            AND (e.status IN ('failed', 'cancelled')
                 OR e.status IS NULL AND p.status = 'cancelled' AND p.scheduled_for = a.parent_at));
END $$;

-- Writes that executions are blocked by one of a parent, which had this outcome.
CREATE FUNCTION tickwork.write_blocked(parent bigint, at timestamptz, outcome text, children bigint[] DEFAULT NULL)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO tickwork.new_event (tenant_id, kind, job_id, scheduled_for, lane_id, detail)
    SELECT a.tenant_id, 'execution.blocked', a.child_id, a.child_at, c.lane_id,
        json_build_object('reason', format('parent %s %s', tickwork.job_name(parent),
                                           CASE outcome WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END))::text
    FROM tickwork.awaited a JOIN tickwork.job c ON c.id = a.child_id
    WHERE a.parent_id = parent AND a.parent_at = at AND NOT a.on_any
        AND (children IS NULL OR a.child_id = ANY(children))
$$;

CREATE FUNCTION tickwork.write_blocked_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.job_id, NEW.scheduled_for, NEW.status::text);
    RETURN NULL;
END $$;
CREATE TRIGGER write_blocked_events AFTER UPDATE OF finished_at ON tickwork.execution FOR EACH ROW
    WHEN (NEW.followed AND OLD.finished_at IS NULL AND NEW.status IN ('failed', 'cancelled')
          AND NOT (NEW.status = 'cancelled' AND NEW.reason IS NOT DISTINCT FROM 'rescheduled'))
    EXECUTE FUNCTION tickwork.write_blocked_events();

-- The execution of a job that is cancelled long before its due time does not exist yet.
CREATE FUNCTION tickwork.write_blocked_events_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tickwork.write_blocked(NEW.id, NEW.scheduled_for, 'cancelled');
    RETURN NULL;
END $$;
CREATE TRIGGER write_blocked_events AFTER UPDATE OF status ON tickwork.job FOR EACH ROW
    WHEN (NEW.followed AND OLD.deferred AND OLD.status <> 'cancelled' AND NEW.status = 'cancelled')
    EXECUTE FUNCTION tickwork.write_blocked_events_of_job();
