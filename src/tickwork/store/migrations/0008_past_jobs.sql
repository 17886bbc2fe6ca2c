-- Jobs that were due one time go with their history: here they are found by that time.
CREATE INDEX job_once ON tickwork.job (scheduled_for, id) WHERE rule_id IS NULL;
