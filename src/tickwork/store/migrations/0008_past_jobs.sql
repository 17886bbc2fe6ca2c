-- Jobs that were due one time go with their history.

CREATE INDEX job_once ON tickwork.job (scheduled_for) WHERE rule_id IS NULL;

-- Whether anything refers to a job that was due one time: its execution, another run of it, or a job that depends on it.
-- VOLATILE: it looks after the locks were got, not when the statement began.
CREATE FUNCTION tickwork.is_referred_to(tenant integer, job bigint, at timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM tickwork.execution WHERE tenant_id = tenant AND scheduled_for = at AND job_id = job)
        OR EXISTS (SELECT FROM tickwork.extra WHERE job_id = job)
        OR EXISTS (SELECT FROM tickwork.dependency WHERE parent_id = job);
END $$;
