-- Executions are found by the errors of their attempts. An execution that completes at once writes no event.
CREATE INDEX event_of_error ON tickwork.event (tenant_id, error_type, scheduled_for, job_id)
    WHERE error_type IS NOT NULL AND scheduled_for IS NOT NULL;
