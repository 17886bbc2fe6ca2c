-- What one row holds keeps no other from going on; a worker belongs to the key that registered it.

ALTER TABLE tickwork.worker ADD COLUMN key_id integer;  -- null: built in, or from before this was noted

-- Whether a result is JSON. What workers report is checked; what is stored may still be anything.
CREATE FUNCTION tickwork.is_json(result bytea) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM convert_from(result, 'UTF8')::json;
    RETURN true;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END $$;

-- How those ended that an execution depends on, as JSON: [[id, name, key, task, status, result], …]. If that cannot be
-- handed over: the size of it all when that is too much, a text that says why when a result is no JSON. Only then are
-- the results looked at one by one.
CREATE OR REPLACE FUNCTION tickwork.outcomes_of_parents(child bigint, round_at timestamptz) RETURNS bytea
LANGUAGE plpgsql STABLE AS $$
DECLARE unreadable text;
BEGIN
    RETURN (
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
    RETURN convert_to(to_json(format('the result of %s, on which it depends, is not valid JSON', unreadable))::text, 'UTF8');
END $$;
