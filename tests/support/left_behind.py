"""What the database still has of something that was purged. Whoever adds a table is reminded of it here."""

import asyncpg

_COLUMNS = """
SELECT DISTINCT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'tickwork' AND column_name = ANY($1::text[])
    AND table_name !~ '_[0-9]{6,}$' AND table_name NOT LIKE '%view'"""
_STAYS_OF_JOB = {("purge", "job_id"), ("revocation", "job_id"), ("job_change", "job_id")}
_STAYS_OF_TENANT = {"tenant_purge", "retention_pass"}


async def left_of_tenant(connection: asyncpg.Connection, tenant: int) -> dict[str, int]:
    """The tables that have rows of the tenant, with how many."""
    left = {"tenant": await connection.fetchval("SELECT count(*) FROM tickwork.tenant WHERE id = $1", tenant)}
    for table, column in await connection.fetch(_COLUMNS, ["tenant_id"]):
        if table not in _STAYS_OF_TENANT:
            count = f"SELECT count(*) FROM tickwork.{table} WHERE {column} = $1"  # noqa: S608
            left[table] = await connection.fetchval(count, tenant)
    return {name: count for name, count in left.items() if count}


async def left_of_job(connection: asyncpg.Connection, job: int) -> list[tuple[str, int]]:
    """The tables that still name the job, with how many rows."""
    left = [("job", await connection.fetchval("SELECT count(*) FROM tickwork.job WHERE id = $1", job))]
    for table, column in await connection.fetch(_COLUMNS, ["job_id", "child_id", "parent_id"]):
        if (table, column) not in _STAYS_OF_JOB:
            kind = "AND kind <> 'job.purged'" if table in ("event", "new_event") else ""
            count = f"SELECT count(*) FROM tickwork.{table} WHERE {column} = $1 {kind}"  # noqa: S608
            left.append((f"{table}.{column}", await connection.fetchval(count, job)))
    return [(name, count) for name, count in left if count]
