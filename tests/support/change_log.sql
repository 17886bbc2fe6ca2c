-- Writes down what really happens to the rows that matter, whoever does it. Installed by tests, never shipped.

CREATE TABLE tickwork.observed (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT tickwork.clock(),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    relation text NOT NULL,
    before jsonb,
    after jsonb
);

CREATE FUNCTION tickwork.observe() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tickwork.observed (relation, before, after)
    VALUES (TG_ARGV[0], to_jsonb(OLD) - 'token', to_jsonb(NEW) - 'token');
    RETURN NULL;
END $$;

-- On a partitioned table a trigger is on every partition, those that are made later too.
DO $$
DECLARE relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['execution', 'attempt', 'worker', 'job', 'rule', 'round', 'backfill'] LOOP
        EXECUTE format('CREATE TRIGGER observe AFTER INSERT OR UPDATE OR DELETE ON tickwork.%I '
                       'FOR EACH ROW EXECUTE FUNCTION tickwork.observe(%L)', relation, relation);
    END LOOP;
END $$;
