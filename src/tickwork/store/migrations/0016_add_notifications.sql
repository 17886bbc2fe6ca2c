-- Notifications: who is told of which events, through which channel. One node at a time reads the stream of events
-- after its place, gathers what is to be told by channel and cause, and moves its place in the same transaction: so
-- each event counts once, whoever dies. What is due becomes a message, and its delivery is a one-time job of the system
-- tenant.

-- The system tenant owns the deliveries. No key belongs to it, so that no user sees them.
ALTER TABLE tickwork.tenant DROP CONSTRAINT tenant_name_check;
ALTER TABLE tickwork.tenant ADD CONSTRAINT tenant_name_check
    CHECK (id = 0 OR name ~ '^[a-z0-9][a-z0-9._-]{0,62}$');
INSERT INTO tickwork.tenant (id, name, signing_secret) OVERRIDING SYSTEM VALUE VALUES (0, '(system)', '');
ALTER TABLE tickwork.api_key ADD CONSTRAINT system_has_no_key CHECK (tenant_id <> 0);

-- Who is told of what, besides what jobs say themselves.
CREATE TABLE tickwork.notification_rule (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    tag text,                          -- only of jobs with this tag
    queue text,                        -- only of this queue; with neither: of the whole tenant
    kinds text[] NOT NULL CHECK (kinds <> '{}'),
    channels text[] NOT NULL CHECK (channels <> '{}'),  -- by name
    dead_letters_above integer,        -- how many are told of as too many
    stuck_after interval,              -- how long nothing of a queue must start
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    changed_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, name),
    CONSTRAINT one_scope CHECK (tag IS NULL OR queue IS NULL)
);

-- What a rule has told of as too much: dead letters, or a queue that is stuck. It tells again after it was less.
CREATE TABLE tickwork.exceeded_limit (
    tenant_id integer NOT NULL,
    rule text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('dead_letters', 'queue_stuck')),
    queue text NOT NULL DEFAULT '',
    since timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, rule, kind, queue)
);

-- Which executions of a watched queue wait foremost in their lanes, and since when none of them has been started.
CREATE TABLE tickwork.watched_queue (
    tenant_id integer NOT NULL,
    queue text NOT NULL,
    foremost text[] NOT NULL,
    since timestamptz NOT NULL DEFAULT tickwork.clock(),
    PRIMARY KEY (tenant_id, queue)
);

-- The number of the last event that was handled. Its row is the lock for notifying.
CREATE TABLE tickwork.notifier (
    place bigint NOT NULL,
    installation uuid NOT NULL DEFAULT gen_random_uuid(),  -- makes keys of incidents differ from those of others
    one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
INSERT INTO tickwork.notifier (place) SELECT number FROM tickwork.last_event;

-- What one delivery tells a channel. It is on its way until its delivery has ended.
CREATE TABLE tickwork.notification_message (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dedupe_id text NOT NULL,           -- by which a receiver knows it again
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    status text NOT NULL DEFAULT 'sending' CHECK (status IN ('sending', 'sent', 'failed')),
    job_id bigint NOT NULL,            -- its delivery
    content bytea NOT NULL,            -- JSON, to be sent again
    attempts integer NOT NULL DEFAULT 0,
    error text,                        -- of the last attempt that failed
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    ended_at timestamptz,
    CONSTRAINT ended_is_dated CHECK ((status = 'sending') = (ended_at IS NULL))
);
CREATE INDEX notification_message_of_channel ON tickwork.notification_message (channel_id, created_at);
CREATE INDEX notification_message_on_its_way ON tickwork.notification_message (job_id) WHERE status = 'sending';
CREATE INDEX notification_message_age ON tickwork.notification_message (ended_at);

-- Facts of one cause that a channel is told of together: the first, the last, and how many there were.
CREATE TABLE tickwork.notification (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id integer NOT NULL,
    channel_id integer NOT NULL,
    channel text NOT NULL,             -- its name: the log outlives the channel
    cause text NOT NULL,
    kind text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
    count bigint NOT NULL CHECK (count > 0),
    first bytea NOT NULL,              -- JSON: the first as an item of a message
    last bytea,                        -- likewise the last, if there are several
    incident_key text,                 -- for a channel that keeps incidents
    incident_action text CHECK (incident_action IN ('open', 'close')),
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sending', 'sent', 'failed')),
    reason text,                       -- why it failed without a message
    message_id bigint,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    due_at timestamptz NOT NULL,       -- when it is told
    CONSTRAINT waits_without_message CHECK (status <> 'waiting' OR message_id IS NULL),
    CONSTRAINT incident_is_whole CHECK ((incident_key IS NULL) = (incident_action IS NULL))
);
CREATE UNIQUE INDEX notification_waiting ON tickwork.notification (channel_id, cause) WHERE status = 'waiting';
CREATE INDEX notification_due ON tickwork.notification (channel_id, due_at) WHERE status = 'waiting';
CREATE INDEX notification_of_tenant ON tickwork.notification (tenant_id, id);
CREATE INDEX notification_of_message ON tickwork.notification (message_id) WHERE message_id IS NOT NULL;

-- What a channel was told of lately. More of the same cause is gathered until the window ends.
CREATE TABLE tickwork.notification_window (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    until timestamptz NOT NULL,
    length interval NOT NULL,
    PRIMARY KEY (channel_id, cause)
);

-- What is in trouble under an incident: a recurring job, a destination, a ping or a queue. The incident is closed when
-- nothing is any more.
CREATE TABLE tickwork.incident (
    channel_id integer NOT NULL,
    cause text NOT NULL,
    subject text NOT NULL,
    PRIMARY KEY (channel_id, cause, subject)
);
CREATE INDEX incident_of_subject ON tickwork.incident (subject, channel_id);

-- Jobs that have recovered lately, as a channel was told: one that fails and recovers in turn is flapping.
CREATE TABLE tickwork.flapping_job (
    channel_id integer NOT NULL,
    job_id bigint NOT NULL,
    recoveries integer NOT NULL,       -- one soon after the other
    changed_at timestamptz NOT NULL,   -- when it failed or recovered last
    is_failing boolean NOT NULL,
    is_told boolean NOT NULL,          -- as flapping: what it does now is not told
    example bytea NOT NULL,            -- JSON: the last of its facts as an item of a message
    PRIMARY KEY (channel_id, job_id)
);
CREATE INDEX flapping_job_settled ON tickwork.flapping_job (changed_at);
