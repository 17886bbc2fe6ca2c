-- How to read these queries: README.md

-- name: is_any_to_gather
-- Whether there are events that were not handled, or jobs that may have stopped flapping. Without this look, every node
-- would write a lock twice a second.
SELECT (SELECT number FROM tickwork.last_event) > place
    OR EXISTS (SELECT FROM tickwork.flapping_job WHERE changed_at < tickwork.clock() - $1::interval) AS is_any
FROM tickwork.notifier;

-- name: is_any_due
-- Whether something is due to be told.
SELECT EXISTS (SELECT FROM tickwork.notification WHERE status = 'waiting' AND due_at <= tickwork.clock()) AS is_any;

-- name: lock_notifier
-- Locks notifying, unless another node notifies: which event was handled last, and which was numbered last.
SELECT n.place, n.installation::text, tickwork.clock() AS now, (SELECT number FROM tickwork.last_event) AS last_number
FROM tickwork.notifier n FOR UPDATE SKIP LOCKED;

-- name: forget_windows
-- Deletes windows in which nothing was gathered, and what was noted for channels that are gone.
WITH passed AS (
    -- Windows that ended a while ago.
    DELETE FROM tickwork.notification_window WHERE until < tickwork.clock() - interval '1 hour'
), flaps AS (
    -- Jobs as channels saw them that are gone.
    DELETE FROM tickwork.flapping_job f WHERE NOT EXISTS (SELECT FROM tickwork.channel c WHERE c.id = f.channel_id)
)
DELETE FROM tickwork.incident i WHERE NOT EXISTS (SELECT FROM tickwork.channel c WHERE c.id = i.channel_id);

-- name: delete_old_notifications
-- Deletes some notifications from before the history, also those that their channel was never told.
DELETE FROM tickwork.notification WHERE id = ANY(ARRAY(
    SELECT id FROM (SELECT id, created_at, status FROM tickwork.notification ORDER BY id LIMIT $2) oldest
    WHERE created_at < tickwork.clock() - $1::interval AND status <> 'sending'));

-- name: delete_old_messages
-- Deletes some messages that ended before the history.
DELETE FROM tickwork.notification_message WHERE id = ANY(ARRAY(
    SELECT id FROM tickwork.notification_message
    WHERE ended_at < tickwork.clock() - $1::interval ORDER BY ended_at LIMIT $2));
