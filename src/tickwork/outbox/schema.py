"""The outbox's tables in a user's database: made, and checked before they are used."""

from importlib.resources import files
from typing import Any, TypeAlias

import asyncpg

from tickwork.model.errors import WrongSchema

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
