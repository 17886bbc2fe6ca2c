-- Where notifications go. What a kind of channel needs is in `settings`; what nobody may read back is in `secret`.
CREATE TABLE tickwork.channel (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL REFERENCES tickwork.tenant,
    name text NOT NULL,
    kind text NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    secret bytea,                           -- JSON: the fields that hold secrets; null: there are none
    severity text NOT NULL DEFAULT 'info',  -- the least that it tells
    quiet jsonb,                            -- {"from", "to", "timezone", "except"}; null: no quiet hours
    digest text NOT NULL DEFAULT 'immediately',
    window_seconds double precision NOT NULL DEFAULT 300,  -- facts of one cause within it are told together
    rate integer NOT NULL DEFAULT 30,       -- messages a minute, at most
    paused boolean NOT NULL DEFAULT false,
    template jsonb,                         -- {"title", "body"}; null: the usual texts
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    changed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    UNIQUE (tenant_id, name),
    CONSTRAINT known_severity CHECK (severity IN ('info', 'warning', 'error')),
    CONSTRAINT known_digest CHECK (digest IN ('immediately', 'hourly', 'daily')),
    CONSTRAINT positive_rate CHECK (rate > 0)
);
