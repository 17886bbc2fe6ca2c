"""The outbox's tables in the user's database: install, check, and the statements of the relay."""

from importlib.resources import files
from typing import Any, TypeAlias

import asyncpg

from tickwork.model.errors import WrongSchema

# Locks the jobs that may be sent next, oldest first. Of jobs with the same key only the oldest may be sent, so that
# they arrive in the order in which they were written, however many relays there are.
TAKE_WAITING = """
SELECT position FROM tickwork_outbox.job AS job
WHERE batch IS NULL AND refused_at IS NULL AND NOT EXISTS (
    SELECT FROM tickwork_outbox.job AS earlier
    WHERE earlier.key = job.key AND earlier.position < job.position AND earlier.refused_at IS NULL
)
ORDER BY position
LIMIT $1
FOR UPDATE OF job SKIP LOCKED
"""

# Puts jobs into a new batch.
CREATE_BATCH = """
WITH made AS (INSERT INTO tickwork_outbox.batch DEFAULT VALUES RETURNING number)
UPDATE tickwork_outbox.job SET batch = made.number FROM made WHERE position = ANY($1::bigint[])
"""

# Lets PostgreSQL end this transaction if the relay hangs in it, so that another relay can send the batch.
END_WHEN_IDLE = "SELECT set_config('idle_in_transaction_session_timeout', $1, true)"

# Locks the oldest batch that no other relay has locked.
TAKE_BATCH = """
SELECT number, id::text, begun_at, begun_at < now() - $1::interval AS is_old FROM tickwork_outbox.batch
ORDER BY number
LIMIT 1
FOR UPDATE SKIP LOCKED
"""

# The jobs of a batch, in the order in which they were written.
BATCH_JOBS = """
SELECT position, id::text, key, request::text FROM tickwork_outbox.job WHERE batch = $1 ORDER BY position
"""

# Deletes jobs that were created.
DELETE_JOBS = "DELETE FROM tickwork_outbox.job WHERE position = ANY($1::bigint[])"

# Takes jobs out of their batch, to wait for a new one.
PUT_BACK = "UPDATE tickwork_outbox.job SET batch = NULL WHERE position = ANY($1::bigint[])"

# Sets jobs aside, with the reason.
REFUSE = """
UPDATE tickwork_outbox.job SET batch = NULL, refused_at = now(), error = $2 WHERE position = ANY($1::bigint[])
"""

# Deletes a batch that has no jobs left.
DELETE_BATCH = "DELETE FROM tickwork_outbox.batch WHERE number = $1"

# Lists the outbox: refused jobs first, then by age.
LIST = """
SELECT id::text, request ->> 'task' AS task, request #>> '{http,url}' AS url, key, written_at, error,
    CASE WHEN refused_at IS NOT NULL THEN 'refused' WHEN batch IS NOT NULL THEN 'sending' ELSE 'waiting' END AS status
FROM tickwork_outbox.job
ORDER BY refused_at IS NULL, position
LIMIT $1
"""

# Sends refused jobs again: these, or all if the list is empty.
RETRY = """
WITH again AS (
    UPDATE tickwork_outbox.job SET refused_at = NULL, error = NULL
    WHERE refused_at IS NOT NULL AND (id = ANY($1::uuid[]) OR $1::uuid[] = '{}')
    RETURNING id
)
SELECT count(*) FROM again
"""

# Deletes refused jobs.
DISCARD = """
WITH gone AS (
    DELETE FROM tickwork_outbox.job WHERE refused_at IS NOT NULL AND id = ANY($1::uuid[]) RETURNING id
)
SELECT count(*) FROM gone
"""

# Deletes the rows of executions that were done longer ago than this.
PRUNE = """
WITH gone AS (DELETE FROM tickwork_outbox.done WHERE done_at < now() - $1::interval RETURNING execution_id)
SELECT count(*) FROM gone
"""


VERSION = 1

Connection: TypeAlias = "asyncpg.Connection[Any]"


def schema_sql() -> str:
    return (files(__package__) / "schema.sql").read_text("utf-8")


async def install(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute(schema_sql())


async def check(connection: Connection) -> None:
    try:
        found = await connection.fetchval("SELECT max(number) FROM tickwork_outbox.version")
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        found = None
    if found is None or found < VERSION:
        raise WrongSchema(
            "this database has no outbox of this version", "run `tickwork outbox install` on it"
        )
    if found > VERSION:
        raise WrongSchema("this database has the outbox of a newer version", "upgrade Tickwork")
