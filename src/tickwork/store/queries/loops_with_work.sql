-- How to read these queries: README.md

-- name: loops_with_work
-- The names of the loops that may have something to do. Each line looks into an index for one row that its loop would
-- take, or that may become one. A loop may look more closely itself before it locks anything.
SELECT loop FROM (VALUES
    ('backfill', EXISTS (SELECT FROM tickwork.backfill WHERE ended_at IS NULL)),
    ('cancel jobs of retired tasks', EXISTS (SELECT FROM tickwork.task WHERE cancels_jobs)),
    ('check jobs of new tasks', EXISTS (SELECT FROM tickwork.unchecked_job)),
    ('end callbacks', EXISTS (SELECT FROM tickwork.callback_wait WHERE deadline <= tickwork.clock())
        OR EXISTS (SELECT FROM tickwork.revocation WHERE worker_id = 0)),
    ('notify', EXISTS (SELECT FROM tickwork.notifier n, tickwork.last_event e WHERE e.number > n.place)
        OR EXISTS (SELECT FROM tickwork.flapping_job)
        OR EXISTS (SELECT FROM tickwork.notification WHERE status = 'waiting' AND due_at <= tickwork.clock())),
    ('number events', EXISTS (SELECT FROM tickwork.new_event)),
    ('poll targets', EXISTS (SELECT FROM tickwork.callback_wait WHERE poll_at <= tickwork.clock())),
    -- In the order of the index of those that are queued: the planner must not take another.
    ('release queued', (
        SELECT true FROM tickwork.execution WHERE blocked_by IS NOT NULL AND ready_at IS NOT NULL
        ORDER BY tenant_id, job_id LIMIT 1)),
    ('skip rounds', EXISTS (SELECT FROM tickwork.awaited WHERE unsure)),
    ('watch pings', EXISTS (SELECT FROM tickwork.ping WHERE check_at <= tickwork.clock()))
) AS looks (loop, may_have_work)
WHERE may_have_work;
