-- How to read these queries: README.md

-- name: lock_idempotency_key
-- Locks a request's key until the end of the transaction, unless another request has it.
SELECT pg_try_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 7)) AS taken;

-- name: find_answer
-- The answer that was given to a request with this key.
SELECT fingerprint, status, headers, body FROM tickwork.idempotency WHERE tenant_id = $1 AND key = $2;

-- name: keep_answer
-- Stores the answer to a request with this key.
INSERT INTO tickwork.idempotency (tenant_id, key, fingerprint, status, headers, body) VALUES ($1, $2, $3, $4, $5, $6);

-- name: delete_old_answers
-- Deletes answers that are old enough.
DELETE FROM tickwork.idempotency WHERE created_at < tickwork.clock() - $1::interval;
