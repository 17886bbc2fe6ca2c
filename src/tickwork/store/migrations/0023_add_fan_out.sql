-- Fan-out: a job that runs for each element of a list that a parent returned becomes a job for each of them. Its own
-- execution waits for these as for parents, and completes after them.

ALTER TABLE tickwork.job
    ADD element_of bigint,               -- the job that runs for each element, of which this is one
    ADD element_at timestamptz,          -- in its execution of this time
    ADD element_number integer;          -- from 0
CREATE UNIQUE INDEX job_element ON tickwork.job (element_of, element_at, element_number)
    WHERE element_of IS NOT NULL;
CREATE INDEX lane_fanning_out ON tickwork.lane (id) WHERE placement LIKE '%"fans_out":true%';
