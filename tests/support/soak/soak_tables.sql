-- What a soak's ledgers are loaded into, for the check. Never shipped.

CREATE SCHEMA soak;

CREATE TABLE soak.line (event text, job bigint, due bigint, attempt int, process int, at bigint);
CREATE TABLE soak.kill (process int, at bigint);
CREATE TABLE soak.job (job bigint PRIMARY KEY, first timestamptz, limited boolean);
