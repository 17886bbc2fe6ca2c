"""An effect on the user's own PostgreSQL happens once per execution, whichever attempts live, die or overlap."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from support.database_libraries import LEVELS, LIBRARIES, Library, make_effect_table
from support.end_sessions import end_sessions
from support.waiting import eventually
from tickwork import Context, NoRetry
from tickwork.outbox import once, once_async
from tickwork.outbox.outbox_tables import install

FIRST = "e7-1k0aw5tybnt"


@pytest.fixture
async def own(connection: asyncpg.Connection) -> asyncpg.Connection:
    await install(connection)
    await make_effect_table(connection)
    return connection


@pytest.fixture
async def other(own: asyncpg.Connection, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


def attempt(number: int, execution_id: str = FIRST) -> Context:
    return Context(attempt=number, execution_id=execution_id)


async def add(connection: asyncpg.Connection, result: Any = None) -> Any:
    await connection.execute("INSERT INTO effect (execution_id) VALUES ($1)", FIRST)
    return result


async def effects(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT count(*) FROM effect")


@pytest.fixture(params=LIBRARIES.values(), ids=list(LIBRARIES))
def library(request: pytest.FixtureRequest) -> Library:
    return request.param


async def test_a_later_attempt_is_given_the_result_and_does_not_do_the_work(
    own: asyncpg.Connection, database_url: str, library: Library
) -> None:
    async with library.open(database_url) as theirs:
        first = await library.do_once(attempt(1), theirs, library.add, FIRST)
    async with library.open(database_url) as theirs:
        second = await library.do_once(attempt(2), theirs, library.add, FIRST)
    assert first == second == {"made": FIRST}
    assert await effects(own) == 1


async def test_work_that_fails_leaves_nothing_and_is_done_by_the_next_attempt(
    own: asyncpg.Connection, database_url: str, library: Library
) -> None:
    def broken(_connection: Any) -> None:
        raise ZeroDivisionError

    async with library.open(database_url) as theirs:
        with pytest.raises(ZeroDivisionError):
            await library.do_once(attempt(1), theirs, broken)
        assert await own.fetchval("SELECT count(*) FROM tickwork_outbox.done") == 0
        await library.do_once(attempt(2), theirs, library.add, FIRST)
    assert await effects(own) == 1


async def test_the_transaction_is_its_own(
    own: asyncpg.Connection, database_url: str, library: Library
) -> None:
    """Else it could return before the work is committed, and the execution would be completed without it."""
    async with library.open(database_url) as theirs:
        if isinstance(theirs, asyncpg.Connection):
            await theirs.execute("BEGIN")  # with the others, the first statement does
        await _awaited(library.add(theirs, "before"))
        with pytest.raises(NoRetry, match="begins and commits the transaction itself"):
            await library.do_once(attempt(1), theirs, library.add, FIRST)


async def _awaited(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


async def test_another_execution_is_another_effect(own: asyncpg.Connection) -> None:
    await once_async(attempt(1, "e7-1"), own, add)
    await once_async(attempt(1, "e7-2"), own, add)
    assert await effects(own) == 2


@pytest.fixture
async def watcher(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


class Overlap:
    """A first attempt that is half done, and a second one that has come upon its note."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails
        self._begun = asyncio.Event()
        self._go_on = asyncio.Event()

    async def begin(
        self, level: str, own: asyncpg.Connection, other: asyncpg.Connection, watcher: asyncpg.Connection
    ) -> None:
        for connection in (own, other):
            await connection.execute(f"SET default_transaction_isolation = '{level}'")
        self.first = asyncio.create_task(once_async(attempt(1), own, self._slow))
        await self._begun.wait()
        self.second = asyncio.create_task(once_async(attempt(2), other, add, "second"))
        waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1"
        pid = other.get_server_pid()
        await eventually(lambda: watcher.fetchval(waits, pid), within=10, what="the second one to wait")
        self._go_on.set()

    async def _slow(self, connection: asyncpg.Connection) -> str:
        self._begun.set()
        await self._go_on.wait()
        if self._fails:
            raise ZeroDivisionError
        return await add(connection, "first")


@pytest.mark.parametrize("level", LEVELS)
async def test_an_attempt_that_overlaps_waits_and_finds_it_done(
    own: asyncpg.Connection, other: asyncpg.Connection, watcher: asyncpg.Connection, level: str
) -> None:
    """The first one's lease ran out, but it is still at work, and commits."""
    overlap = Overlap(fails=False)
    await overlap.begin(level, own, other, watcher)
    assert await overlap.first == "first"
    if level == "read committed":
        assert await overlap.second == "first"
    else:
        with pytest.raises(asyncpg.SerializationError):
            await overlap.second
        assert await once_async(attempt(3), other, add, "third") == "first"
    assert await effects(watcher) == 1


@pytest.mark.parametrize("level", LEVELS)
async def test_an_attempt_that_overlaps_does_the_work_when_the_first_one_fails(
    own: asyncpg.Connection, other: asyncpg.Connection, watcher: asyncpg.Connection, level: str
) -> None:
    overlap = Overlap(fails=True)
    await overlap.begin(level, own, other, watcher)
    with pytest.raises(ZeroDivisionError):
        await overlap.first
    assert await overlap.second == "second"
    assert await effects(watcher) == 1


async def test_an_attempt_whose_connection_is_lost_before_the_commit_has_done_nothing(
    own: asyncpg.Connection, other: asyncpg.Connection
) -> None:
    async def cut_off(connection: asyncpg.Connection) -> None:
        await add(connection)
        await end_sessions(own, "pid = $1", connection.get_server_pid())

    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await once_async(attempt(1), other, cut_off)
    assert await once_async(attempt(2), own, add, "second") == "second"
    assert await effects(own) == 1


async def test_what_cannot_be_a_result_fails_before_anything_is_committed(own: asyncpg.Connection) -> None:
    with pytest.raises(NoRetry, match="cannot be written as JSON"):
        await once_async(attempt(1), own, add, object())
    with pytest.raises(NoRetry, match="the limit is 262144"):
        await once_async(attempt(1), own, add, "x" * 300_000)
    assert await effects(own) == 0


async def test_the_result_is_the_same_in_form_on_every_attempt(own: asyncpg.Connection) -> None:
    first = await once_async(attempt(1), own, add, (1, "a\x00b", None))
    assert first == await once_async(attempt(2), own, add) == [1, "a\x00b", None]


async def test_a_second_piece_of_work_in_one_attempt_is_refused_rather_than_passed_over(
    own: asyncpg.Connection,
) -> None:
    ctx = attempt(1)
    await once_async(ctx, own, add)
    with pytest.raises(NoRetry, match="do all work in it"):
        await once_async(ctx, own, add)


async def test_a_connection_that_commits_every_statement_is_refused(
    own: asyncpg.Connection, database_url: str
) -> None:
    async with LIBRARIES["SQLAlchemy connection"].open(database_url) as theirs:
        theirs.execution_options(isolation_level="AUTOCOMMIT")
        with pytest.raises(Exception, match="can only be used in transaction blocks"):
            once(attempt(1), theirs, LIBRARIES["SQLAlchemy connection"].add, FIRST)
    assert await own.fetchval("SELECT count(*) FROM tickwork_outbox.done") == 0


async def test_something_else_than_a_connection_is_named(own: asyncpg.Connection) -> None:
    with pytest.raises(TypeError, match="name ends in _async"):
        once(attempt(1), own, print)
    with pytest.raises(TypeError, match=r"builtins\.str is no connection of asyncpg"):
        await once_async(attempt(1), "postgresql://", add)  # type: ignore[misc]


async def test_installing_again_or_at_the_same_time_changes_nothing(
    connection: asyncpg.Connection, watcher: asyncpg.Connection
) -> None:
    await asyncio.gather(install(connection), install(watcher))
    await once_async(attempt(1), connection, _nothing)
    await install(connection)
    assert await connection.fetchval("SELECT count(*) FROM tickwork_outbox.done") == 1


async def _nothing(_: asyncpg.Connection) -> None: ...
