-- Sessions of browsers: a person signs in with an API key, and the browser keeps a cookie instead of the key.

-- Only the digest of the cookie's token is stored. A session ends with its API key.
CREATE TABLE tickwork.session (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    key_id integer NOT NULL REFERENCES tickwork.api_key,
    created_at timestamptz NOT NULL DEFAULT tickwork.clock(),
    expires_at timestamptz NOT NULL     -- moves on while the session is used
);
CREATE INDEX session_of_key ON tickwork.session (key_id, created_at);
CREATE INDEX session_expiry ON tickwork.session (expires_at);

-- Links that sign a browser in once, with the rights of the API key that made them.
CREATE TABLE tickwork.sign_in_link (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    key_id integer NOT NULL REFERENCES tickwork.api_key,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_link_of_key ON tickwork.sign_in_link (key_id, expires_at);
