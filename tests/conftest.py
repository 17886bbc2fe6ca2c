"""One PostgreSQL cluster per run, one database per test."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import psutil
import pytest

from support.known_types import ask_once_for_types
from support.log_state import log_settings_kept
from support.postgres_programs import PROGRAMS
from support.ready_cluster import remove_ready_clusters
from support.skipped_tests import pytest_terminal_summary  # noqa: F401 (pytest finds it here)
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.testing import SettableClock, TemporaryPostgres

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 (each run makes folders of its own in it)
_ENOUGH = 4 << 30  # bytes
_LONGEST = ("simulation", "chaos", "typing", "browser", "process", "project")  # folders


def pytest_configure() -> None:
    _keep_bytecode()
    _put_files_into_memory()
    ask_once_for_types()


def pytest_unconfigure() -> None:
    remove_ready_clusters()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that at the end of a run none of its processes waits for another."""
    order = {f"tests/{folder}": place for place, folder in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get("/".join(item.nodeid.split("/", 2)[:2]), len(order)))


def _keep_bytecode() -> None:
    """Tests start hundreds of processes. Where Python may not keep what it has compiled, each of them would compile all
    of Tickwork."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def _put_files_into_memory() -> None:
    """A database is hundreds of small files, and in memory it is made in a tenth of the time. TMPDIR names another
    place."""
    if "TMPDIR" not in os.environ and _is_there_enough_memory():
        os.environ["TMPDIR"] = str(_IN_MEMORY)
        tempfile.tempdir = None  # Python looks at TMPDIR again


def _is_there_enough_memory() -> bool:
    if not _IN_MEMORY.is_dir():
        return False
    return min(shutil.disk_usage(_IN_MEMORY).free, psutil.virtual_memory().available) > _ENOUGH


@pytest.fixture(autouse=True)
def _log_settings() -> Iterator[None]:
    """What a test sets up ends with it."""
    with log_settings_kept():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[TemporaryPostgres]:
    postgres = TemporaryPostgres(PROGRAMS)
    asyncio.run(postgres.start())
    yield postgres
    postgres.stop()


@pytest.fixture(scope="session")
def cluster(postgres: TemporaryPostgres) -> str:
    """The URL of a database that tests copy and never open."""
    return postgres.url


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Not in pytest's folder, which every run of pytest closes to other users: as root, PostgreSQL runs as one."""
    with tempfile.TemporaryDirectory(prefix="tickwork-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
async def database_url(postgres: TemporaryPostgres) -> AsyncIterator[str]:
    url = await postgres.create_database()
    yield url
    await postgres.drop_database(url)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """To look at the tables, as an operator would."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def clock(database_url: str) -> AsyncIterator[SettableClock]:
    """Stands still at noon of today. To be asked for before the node."""
    async with SettableClock(database_url) as clock:
        await clock.set(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0))
        yield clock


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
