-- How to read these queries: README.md

-- name: notifications
-- One page of a tenant's notifications, latest first, or one by its id.
SELECT n.id, n.channel, n.kind, n.severity, n.status, n.count, n.first, n.last, n.created_at, n.due_at, n.reason,
    m.dedupe_id, m.attempts, m.ended_at, m.error
FROM tickwork.notification n
LEFT JOIN tickwork.notification_message m ON m.id = n.message_id
WHERE n.tenant_id = $1 AND n.id < $2 AND ($3::bigint IS NULL OR n.id = $3) AND ($4::text IS NULL OR n.channel = $4)
    AND ($5::text IS NULL OR n.kind = $5) AND ($6::text IS NULL OR n.status = $6)
    AND ($7::timestamptz IS NULL OR n.created_at >= $7) AND ($8::timestamptz IS NULL OR n.created_at <= $8)
ORDER BY n.id DESC
LIMIT $9;

-- name: message
-- The message of a notification, and the execution that delivers it.
SELECT n.channel, m.status, m.content, m.created_at, m.ended_at, m.job_id, j.scheduled_for
FROM tickwork.notification n
JOIN tickwork.notification_message m ON m.id = n.message_id
LEFT JOIN tickwork.job j ON j.id = m.job_id
WHERE n.tenant_id = $1 AND n.id = $2;

-- name: lock_message
-- Locks the message of a notification, to send it again: its delivery, if it has one, and whether its channel exists.
SELECT n.status, m.id, m.dedupe_id, m.content, m.job_id,
    EXISTS (SELECT FROM tickwork.channel c WHERE c.id = m.channel_id) AS has_channel
FROM tickwork.notification n
JOIN tickwork.notification_message m ON m.id = n.message_id
WHERE n.tenant_id = $1 AND n.id = $2
FOR UPDATE OF m;

-- name: resend_message
-- Gives a message another delivery.
WITH sent_again AS (
    -- The message.
    UPDATE tickwork.notification_message
    SET status = 'sending', job_id = $2, attempts = 0, error = NULL, ended_at = NULL
    WHERE id = $1 AND status <> 'sending'
    RETURNING id, channel_id
), discarded AS (
    -- The dead letter of the delivery before, if that failed.
    DELETE FROM tickwork.dead_letter d
    USING tickwork.job j WHERE j.id = $3 AND d.tenant_id = j.tenant_id AND d.scheduled_for = j.scheduled_for
        AND d.job_id = j.id
)
UPDATE tickwork.notification n SET status = 'sending' FROM sent_again m WHERE n.message_id = m.id;
