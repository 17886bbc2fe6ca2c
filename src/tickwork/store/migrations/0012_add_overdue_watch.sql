-- Up to when waiting and running executions have been looked at: those that became late or slow before have their
-- events. One row, which a node locks while it looks, so that each is told of once.
CREATE TABLE tickwork.overdue_watch (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    watched_until timestamptz NOT NULL
);
INSERT INTO tickwork.overdue_watch (watched_until) VALUES (tickwork.clock());
