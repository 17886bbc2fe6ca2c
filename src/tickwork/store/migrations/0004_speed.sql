-- Leases live for a second and are as long as what was handed out: not worth compressing, and to be cleared away soon.
ALTER TABLE tickwork.lease ALTER COLUMN tenant_ids SET STORAGE EXTERNAL, ALTER COLUMN scheduled_fors SET STORAGE EXTERNAL,
    ALTER COLUMN job_ids SET STORAGE EXTERNAL;
ALTER TABLE tickwork.lease SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000,
    toast.autovacuum_vacuum_cost_delay = 0);

-- Columns of a batch are sent as arrays. One that has the same value throughout is sent as that value alone.
CREATE FUNCTION tickwork.each(sent anyarray, element anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE
AS 'SELECT CASE cardinality(sent) WHEN 1 THEN sent[1] ELSE element END';
