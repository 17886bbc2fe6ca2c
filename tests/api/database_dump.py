"""Everything that is in the database, as text: to see that nothing changed, or that a word is nowhere."""

import asyncpg

_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'tickwork'::regnamespace
        AND (relkind = 'p' OR relkind = 'r' AND NOT relispartition) ORDER BY relname"""


async def dump(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """The rows of each table."""
    tables = [row["relname"] for row in await connection.fetch(_TABLES)]
    return {table: await _rows(connection, table) for table in tables}


async def _rows(connection: asyncpg.Connection, table: str) -> list[str]:
    rows = await connection.fetch(f"SELECT t::text AS row FROM tickwork.{table} t ORDER BY 1")  # noqa: S608 (our own name)
    return [row["row"] for row in rows]
