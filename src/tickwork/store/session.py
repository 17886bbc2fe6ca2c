"""What every session of ours depends on, whatever the server, the database or the role has set."""

from typing import NamedTuple

SETTINGS = {
    "application_name": "tickwork",
    # A node that stops in the middle of a transaction must not hold its locks: the server ends it.
    "idle_in_transaction_session_timeout": "10s",
    "idle_session_timeout": "0",  # a pool's connections are idle for as long as there is nothing to do
    "default_transaction_isolation": "read committed",
    "timezone": "UTC",
    # Every query here goes by an index. A plan made while a day's partition was still empty must not be another
    # one: it would be kept while millions of rows arrive. For the same reason, batches are joined with executions by
    # `tenant_id = ANY(ARRAY[...])`: a plain equality could be merged, so the planner would see a use in walking the
    # whole index, and on a day of which it knows nothing it would.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    # What is off counts as immensely dear until PostgreSQL 17, so that a plan which cannot do without it would be
    # compiled, for seconds, to read a table of three rows.
    "jit": "off",
    # And as there is one plan only, it is made once: planning over the days' partitions takes longer than a look-up.
    "plan_cache_mode": "force_generic_plan",
}


class Limits(NamedTuple):
    """How long a statement may take, and how much of that it may wait for a lock, in seconds."""

    statement: int
    lock: int

    def settings(self) -> dict[str, str]:
        return {"statement_timeout": f"{self.statement}s", "lock_timeout": f"{self.lock}s"}


WORK = Limits(statement=30, lock=10)
VITAL = Limits(statement=5, lock=3)  # a lease lasts for 15 s: whatever renews it must be able to try again
MIGRATION = Limits(statement=3600, lock=10)
