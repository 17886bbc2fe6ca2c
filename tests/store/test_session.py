"""Our sessions depend on no setting of the server, the database or the role."""

import asyncpg

from support.session_settings import differ, set_otherwise
from tickwork.store.connect_to_any_host import VITAL
from tickwork.store.pool import Database


async def test_what_we_depend_on_is_set_whatever_the_database_has(
    connection: asyncpg.Connection, database_url: str
) -> None:
    await set_otherwise(connection)
    database = Database(database_url, size=1)
    await database.open()
    async with database.transaction() as session:
        assert await differ(session) == {}
    await database.close()


async def test_vital_connections_have_limits_of_their_own(database_url: str) -> None:
    database = Database(database_url, size=1, limits=VITAL)
    await database.open()
    async with database.transaction() as session:
        assert await differ(session, VITAL) == {}
    await database.close()
