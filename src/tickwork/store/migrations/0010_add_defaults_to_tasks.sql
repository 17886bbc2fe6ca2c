-- How the jobs of a task are run unless they say otherwise, as its workers announce it.
ALTER TABLE tickwork.task ADD COLUMN defaults jsonb NOT NULL DEFAULT '{}';
