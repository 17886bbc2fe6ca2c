-- The span of the request that defined a job, if it was sampled: `parent` or `link`, and its traceparent, as
-- model/current_span_and_job_origin.py writes it. Executions have no column for their trace: its ids are derived from
-- the execution.
ALTER TABLE tickwork.job ADD COLUMN trace_origin text;
