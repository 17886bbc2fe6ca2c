"""A COMMIT that waits for a synchronous standby is given up by Tickwork: nobody may see it before a standby has it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.model.errors import Unavailable
from tickwork.store.connect_to_any_host import Limits
from tickwork.store.pool import Database

_BRIEF = Limits(statement=1, lock=1)
_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
_WITHIN = 30.0
_STORE = "INSERT INTO stored VALUES (1)"


class Primary:
    """It waits for a standby that does not come."""

    def __init__(self, url: str, control: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.url = url
        self._control = control

    async def prepare(self) -> None:
        await self._control.execute(
            "SET synchronous_commit = local; CREATE TABLE stored (id int PRIMARY KEY)"
        )
        await self.wait_for("a_standby")

    async def wait_for(self, standby: str) -> None:
        await self._control.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")
        await self._control.execute("SELECT pg_reload_conf()")
        shown = "SELECT current_setting('synchronous_standby_names') = $1"
        await eventually(lambda: self._control.fetchval(shown, standby), within=_WITHIN)

    async def waiting(self) -> int:
        return int(await self._control.fetchval(_WAITS))

    async def stored(self) -> int:
        return int(await self._control.fetchval("SELECT count(*) FROM stored"))


@pytest.fixture
async def primary(tmp_path: Path) -> AsyncIterator[Primary]:
    postgres = StoppablePostgres(tmp_path / "primary")
    url = postgres.start()
    control = await asyncpg.connect(url)
    primary = Primary(url, control)
    await primary.prepare()
    yield primary
    await control.close()
    postgres.stop()


@pytest.fixture
async def database(primary: Primary) -> AsyncIterator[Database]:
    database = Database(primary.url, limits=_BRIEF)
    await database.open()
    yield database
    await database.close()


async def _in_transaction(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(_STORE)


async def _alone(database: Database) -> None:
    await database.execute(_STORE)


@pytest.mark.parametrize("store", [_in_transaction, _alone])
async def test_what_no_standby_has_is_not_shown_when_its_time_is_up(
    primary: Primary, database: Database, store: Callable[[Database], Awaitable[None]]
) -> None:
    with pytest.raises(Unavailable, match="does not answer in time"):
        await store(database)
    assert await primary.stored() == 0
    with pytest.raises(Unavailable):  # nor can it be stored again: the first one holds its key
        await store(database)
    assert (await primary.stored(), await primary.waiting()) == (0, 1)

    await primary.wait_for("")
    await eventually(primary.stored, within=_WITHIN, what="the end of the COMMIT")


async def test_nor_when_the_caller_gives_up(primary: Primary, database: Database) -> None:
    storing = asyncio.create_task(_in_transaction(database))
    await eventually(primary.waiting, within=_WITHIN, what="a COMMIT that waits")
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    assert (await primary.stored(), await primary.waiting()) == (0, 1)


async def test_the_pool_has_as_many_connections_as_before(primary: Primary) -> None:
    database = Database(primary.url, limits=_BRIEF, size=1)
    await database.open()
    with pytest.raises(Unavailable):
        await _in_transaction(database)
    assert [tuple(row) for row in await database.fetch("SELECT 1")] == [(1,)]
    await database.close()
