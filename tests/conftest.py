"""One PostgreSQL cluster per run, one database per test."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from support.database_copy import create_database, drop_database
from support.postgres_programs import PROGRAMS
from support.skipped_tests import pytest_terminal_summary  # noqa: F401 (pytest finds it here)
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migrate import upgrade
from tickwork.store.pool import Database
from tickwork.store.retention import Partitions
from tickwork.testing.clock import SettableClock


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The URL of a database that tests copy and never open. Not in pytest's folder, which every run of pytest closes
    to other users: as root, PostgreSQL runs as one."""
    with tempfile.TemporaryDirectory(prefix="tickwork-tests-") as folder:
        postgres = EmbeddedPostgres(Path(folder), PROGRAMS)
        url = postgres.start()
        asyncio.run(_prepare_template(url))
        yield url
        postgres.stop()


async def _prepare_template(url: str) -> None:
    await _hurry(url)
    await upgrade(url)
    database = Database(url, size=1)
    await database.open()
    await Partitions(database, history_days=30).keep_up()
    await database.close()


async def _hurry(url: str) -> None:
    """This cluster need not survive a power cut: tests that cut the power have their own."""
    connection = await asyncpg.connect(url)
    for setting in ("fsync", "full_page_writes"):
        await connection.execute(f"ALTER SYSTEM SET {setting} = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Not in pytest's folder either, for the same reason."""
    with tempfile.TemporaryDirectory(prefix="tickwork-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
async def database_url(cluster: str) -> AsyncIterator[str]:
    url = await create_database(cluster)
    yield url
    await drop_database(cluster, url)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """To look at the tables, as an operator would."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def clock(database_url: str) -> SettableClock:
    """Stands still at noon of today. To be asked for before the node."""
    clock = SettableClock(database_url)
    await clock.set(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0))
    return clock


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path, http_allow_loopback=True)


StartNode = Callable[..., Awaitable[Node]]


@pytest.fixture
async def node(settings: Settings) -> AsyncIterator[Node]:
    """A server node that runs by itself."""
    node = Node(settings)
    await node.start()
    yield node
    await node.stop()


@pytest.fixture
async def still_node(settings: Settings) -> AsyncIterator[Node]:
    """A server node that does nothing unless told to, step by step."""
    node = Node(settings)
    await node.open()
    yield node
    await node.stop()
