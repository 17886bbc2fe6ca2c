"""A host of the database is silent: others are asked, and nobody waits for it for long."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from support.proxy import Upstream, Way, Wire
from support.silent_port import deaf_port, silent_port
from support.stoppable_postgres import StoppablePostgres
from tickwork.config import Settings
from tickwork.model.errors import Invalid, Unavailable
from tickwork.node import Node
from tickwork.store.connect_to_any_host import Connector, Limits
from tickwork.store.pool import Database

_BRIEF = "connect_timeout=1"
_AT_ALL = 30  # seconds; it should be a few, and was 60
Silence = Callable[[], AbstractContextManager[int]]


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[Wire]:
    """The database on a port that can fall silent."""
    wire = await Wire(Upstream(f"{parse_qs(urlsplit(database_url).query)['host'][0]}/.s.PGSQL.5432")).open()
    yield wire
    await wire.close()


@pytest.fixture
def name(database_url: str) -> str:
    return urlsplit(database_url).path.strip("/")


@pytest.mark.parametrize("silence", [silent_port, deaf_port])
async def test_the_next_host_is_asked_when_one_is_silent(silence: Silence, wire: Wire, name: str) -> None:
    with silence() as silent:
        hosts = f"127.0.0.1:{silent},127.0.0.1:{wire.port}"
        database = Database(f"postgresql://tickwork@{hosts}/{name}?{_BRIEF}", size=2)
        await database.open()
        assert await database.fetch("SELECT 1") == [(1,)]
        await database.close()


async def test_a_silent_host_does_not_use_up_its_time_before_the_next_is_asked(wire: Wire, name: str) -> None:
    with silent_port() as first, deaf_port() as second:
        hosts = f"127.0.0.1:{first},127.0.0.1:{second},127.0.0.1:{wire.port}"
        connect = Connector(f"postgresql://tickwork@{hosts}/{name}?connect_timeout=600")
        async with asyncio.timeout(_AT_ALL):
            connection = await connect()
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_a_host_that_is_not_admitted_is_passed_over_with_the_reason(wire: Wire, name: str) -> None:
    async def refuse(_: object) -> None:
        raise ConnectionError("it was replaced")

    connect = Connector(f"postgresql://tickwork@127.0.0.1:{wire.port},127.0.0.1:1/{name}?{_BRIEF}")
    connect.admit = refuse
    with pytest.raises(ConnectionError, match=f"127.0.0.1:{wire.port}: it was replaced"):
        await connect()


async def test_hosts_may_be_options_of_the_url(wire: Wire, name: str) -> None:
    with silent_port() as silent:
        hosts = f"host=127.0.0.1,127.0.0.1&port={silent},{wire.port}"
        connection = await Connector(f"postgresql://tickwork@/{name}?{hosts}&{_BRIEF}")()
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_the_host_that_answered_is_the_first_to_be_asked_again(wire: Wire, name: str) -> None:
    with counting_port() as (port, come):
        connect = Connector(f"postgresql://tickwork@127.0.0.1:{port},127.0.0.1:{wire.port}/{name}?{_BRIEF}")
        for _ in range(3):
            connection = await connect()
            await connection.close()
        assert come() == 1


@contextmanager
def counting_port() -> Iterator[tuple[int, Callable[[], int]]]:
    """A silent port, and how many have come to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)

        def come() -> int:
            count = 0
            while True:
                try:
                    listener.accept()[0].close()
                except BlockingIOError:
                    return count
                count += 1

        yield listener.getsockname()[1], come


async def test_connections_are_opened_one_at_a_time_and_who_waits_fails_with_the_first() -> None:
    with counting_port() as (port, come):
        connect = Connector(f"postgresql://x@127.0.0.1:{port}/x?{_BRIEF}")
        failures = await asyncio.gather(*(connect() for _ in range(8)), return_exceptions=True)
        assert {str(failure) for failure in failures} == {"no answer within 1 s"}
        assert come() == 1


async def test_a_new_attempt_is_made_after_one_that_failed(wire: Wire, name: str) -> None:
    connect = Connector(f"postgresql://tickwork@127.0.0.1:{wire.port}/{name}?{_BRIEF}")
    with wire.blocked(*Way), pytest.raises(ConnectionError):
        await connect()
    connection = await connect()
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()


async def test_every_host_is_named_with_its_reason_when_none_answers() -> None:
    with silent_port() as silent, deaf_port() as deaf:
        database = Database(f"postgresql://x@127.0.0.1:{silent},127.0.0.1:{deaf},127.0.0.1:1/x?{_BRIEF}")
        with pytest.raises(Unavailable) as caught:
            await database.open()
    assert f"127.0.0.1:{silent}: no answer within 1 s; 127.0.0.1:{deaf}: no answer within 1 s" in str(
        caught.value
    )
    assert "127.0.0.1:1: " in str(caught.value)


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("postgresql://x@a:1,b:2/x?connect_timeout=soon", "connect_timeout=soon is no number of seconds"),
        ("postgresql://x@a:one,b:2/x", "'one' is no port"),
        ("postgresql://x@/x?host=a,b,c&port=1,2", "2 ports for 3 hosts"),
    ],
)
async def test_a_url_that_makes_no_sense_is_explained(url: str, wrong: str) -> None:
    with pytest.raises(Invalid, match=wrong):
        await Database(url).open()


async def test_a_statement_that_is_never_answered_ends_and_the_next_works(wire: Wire, name: str) -> None:
    database = Database(f"postgresql://tickwork@127.0.0.1:{wire.port}/{name}", size=1, limits=Limits(1, 1))
    await database.open()
    assert await database.fetch("SELECT 1") == [(1,)]
    async with asyncio.timeout(_AT_ALL):
        with wire.forgotten():
            with pytest.raises(Unavailable, match="no answer in time"):
                await database.fetch("SELECT 2")
            with pytest.raises(Unavailable):
                async with database.transaction() as connection:
                    await connection.execute("SELECT 3")
        assert await database.fetch("SELECT 4") == [(4,)]
    await database.close()


async def test_leases_do_not_wait_for_a_connection_that_fell_silent(
    wire: Wire, name: str, tmp_path: Path
) -> None:
    url = f"postgresql://tickwork@127.0.0.1:{wire.port}/{name}?{_BRIEF}"
    node = Node(Settings(database_url=url, data_dir=tmp_path, http=False))
    await node.open()
    async with node._vital.transaction():
        pass
    async with asyncio.timeout(_AT_ALL):
        with wire.blocked(*Way), pytest.raises(Unavailable):
            async with node._vital.transaction() as connection:
                await connection.execute("SELECT 1")
        await node.step("read clock")
    await node.stop()


@pytest.fixture
def primary_and_standby(tmp_path: Path) -> Iterator[list[str]]:
    """The folders of their sockets."""
    with ExitStack() as running:
        primary, standby = (StoppablePostgres(tmp_path / each) for each in ("primary", "standby"))
        primary.start()
        running.callback(primary.stop)
        standby.follow(primary)
        running.callback(standby.stop)
        yield [str(Path(each.socket).parent) for each in (primary, standby)]


async def test_a_standby_is_passed_over(primary_and_standby: list[str]) -> None:
    primary, standby = primary_and_standby
    url = f"postgresql://tickwork@/tickwork?host={standby},{primary}&port=5432"
    assert not await _is_standby(url)
    assert await _is_standby(f"{url}&target_session_attrs=any")
    with pytest.raises(Unavailable, match="it is a standby"):
        await Database(f"postgresql://tickwork@/tickwork?host={standby}").open()


async def _is_standby(url: str) -> bool:
    connection = await Connector(url)()
    try:
        return bool(await connection.fetchval("SELECT pg_is_in_recovery()"))
    finally:
        await connection.close()
