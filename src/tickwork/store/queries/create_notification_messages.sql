-- How to read these queries: README.md

-- name: due_channels
-- The channels that are to be told something and to which nothing is on its way, and how many messages each got lately.
SELECT c.id, (
    SELECT count(*) FROM tickwork.notification_message m
    WHERE m.channel_id = c.id AND m.created_at > tickwork.clock() - interval '1 minute'
) AS sent_lately
FROM tickwork.channel c
WHERE NOT c.paused
    AND EXISTS (SELECT FROM tickwork.notification n
                WHERE n.channel_id = c.id AND n.status = 'waiting' AND n.due_at <= tickwork.clock() OFFSET 0)
    AND NOT EXISTS (SELECT FROM tickwork.notification_message m
                    WHERE m.channel_id = c.id AND m.status = 'sending' OFFSET 0)
ORDER BY c.id;

-- name: give_up_orphans
-- Marks what is due for channels that are gone.
UPDATE tickwork.notification n SET status = 'failed', reason = 'the channel was deleted'
WHERE n.status = 'waiting' AND n.due_at <= tickwork.clock()
    AND NOT EXISTS (SELECT FROM tickwork.channel c WHERE c.id = n.channel_id);

-- name: due_notifications
-- What is due for a channel, the oldest first.
SELECT id, cause, severity, count, first, last, incident_key, incident_action FROM tickwork.notification
WHERE channel_id = $1 AND status = 'waiting' AND due_at <= tickwork.clock() AND severity = ANY($2::text[])
ORDER BY due_at, id LIMIT $3;

-- name: give_up_due
-- Marks what is due for a channel as failed.
UPDATE tickwork.notification SET status = 'failed', reason = $2
WHERE channel_id = $1 AND status = 'waiting' AND due_at <= tickwork.clock();

-- name: create_message
-- Creates a message with its delivery.
INSERT INTO tickwork.notification_message (dedupe_id, tenant_id, channel_id, job_id, content)
VALUES ($1, $2, $3, $4, $5)
RETURNING id;

-- name: tell_notifications
-- Notes that notifications are told with a message. One that closes an incident tells of what was gathered about it.
UPDATE tickwork.notification n SET status = 'sending', message_id = $2
WHERE n.status = 'waiting'
    AND (n.id = ANY($1::bigint[])
         OR $4::text IS NOT NULL AND n.channel_id = $3 AND n.incident_key = $4 AND n.id < $1[1]);

-- name: open_windows
-- Opens windows for causes of which a channel was told: a longer one if more was gathered in the one before.
WITH told AS (
    -- The causes, and how long their windows are.
    SELECT n.cause, CASE WHEN w.until >= n.created_at THEN least(w.length * 2, greatest($4::interval, $3::interval))
                         ELSE $3::interval END AS length
    FROM tickwork.notification n
    LEFT JOIN tickwork.notification_window w ON w.channel_id = $1 AND w.cause = n.cause
    WHERE n.id = ANY($2::bigint[])
)
INSERT INTO tickwork.notification_window (channel_id, cause, until, length)
SELECT $1, cause, tickwork.clock() + length, length FROM told
ON CONFLICT (channel_id, cause) DO UPDATE SET until = excluded.until, length = excluded.length;
