"""Everything that is in the database, as text: to see that nothing changed, or that a word is nowhere."""

import asyncpg

_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'tickwork'::regnamespace
        AND (relkind = 'p' OR relkind = 'r' AND NOT relispartition) ORDER BY relname"""


async def dump(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """The rows of each table."""
    return {
        row["relname"]: [
            text
            for (text,) in await connection.fetch(
                f"SELECT t::text FROM tickwork.{row['relname']} t ORDER BY 1"
            )
        ]
        for row in await connection.fetch(_TABLES)
    }
