"""The cluster that a scenario runs on: its own PostgreSQL, server and worker processes, and meters for all of them."""

import asyncio
import os
import secrets
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path

import asyncpg

from tickwork.bench.resource_meter import Meter
from tickwork.bench.run_ledger import LEDGER_FOLDER, Ledgers
from tickwork.bench.tasks import URGENT
from tickwork.client.async_client import AsyncClient
from tickwork.client.find_server import Address
from tickwork.model.errors import TickworkError
from tickwork.store.embedded.server import EmbeddedPostgres

HELD_EQUAL = (
    "one machine for all; PostgreSQL with fsync and synchronous_commit on; history kept; "
    "fencing, tenancy, retries and timeouts as always"
)
_POLL_INTERVAL = 0.02  # seconds
_TIMEOUT = 60.0
ADDRESS_PHRASE = " answers on "
_programs: ContextVar[Path | None] = ContextVar("programs", default=None)
_CONNECTED = "SELECT count(*) FROM tickwork.worker WHERE ended_at IS NULL AND tenant_id IS NOT NULL"


def use_postgres(programs: Path | None) -> None:
    """Run clusters on the PostgreSQL in this folder, with its default settings; None means Tickwork's own."""
    _programs.set(programs)


class BenchCluster:
    def __init__(
        self,
        folder: Path,
        database_url: str,
        database: "asyncpg.Connection[asyncpg.Record]",
        opened: AsyncExitStack,
    ) -> None:
        self.folder = folder
        self.database = database
        self.ledgers = Ledgers(folder)
        self.urgent = Ledgers(folder / URGENT)
        self.meter = Meter(folder / "postgres" / "postmaster.pid")
        self.database_url = database_url
        self._opened = opened
        self._key = secrets.token_urlsafe(32)
        self._servers: dict[Process, str] = {}

    async def start(self, *, servers: int = 1, workers: int = 1, slots: int = 1000) -> None:
        for _ in range(servers):
            await self.start_server()
        for _ in range(workers):
            await self.start_worker(slots)

    async def start_server(self) -> Process:
        """Returns when the server is ready."""
        process = await self._tickwork("server", "--port", "0", "--database-url", self.database_url)
        self._servers[process] = await read_address(process, ADDRESS_PHRASE)
        self.meter.watch("server", process.pid)
        return process

    async def start_worker(self, slots: int = 1000) -> Process:
        """Returns when the worker is connected."""
        before = await self.database.fetchval(_CONNECTED)
        servers = [part for url in self._servers.values() for part in ("--server", url)]
        process = await self._tickwork(
            "worker", "run", "tickwork.bench.tasks:app", "--slots", str(slots), *servers
        )
        self.meter.watch("worker", process.pid)
        asyncio.create_task(_forward_stderr(process))  # noqa: RUF006 (ends with the process)
        async with asyncio.timeout(_TIMEOUT):
            while await self.database.fetchval(_CONNECTED) == before:  # noqa: ASYNC110 (it is in the database)
                await asyncio.sleep(_POLL_INTERVAL)
        return process

    async def start_program(self, module: str, *arguments: str) -> Process:
        """Run another program of the bench in its own process, so that it does not limit the measurement."""
        process = await create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            env=os.environ | {LEDGER_FOLDER: str(self.folder)},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        self._opened.push_async_callback(_kill, process)
        return process

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """Open another connection to the database."""
        database = await asyncpg.connect(self.database_url)
        self._opened.push_async_callback(database.close)
        return database

    async def stop(self, process: Process) -> None:
        """Stop a process with SIGTERM, so that it finishes its work."""
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_TIMEOUT):
            await process.wait()
        self._servers.pop(process, None)

    @property
    def address(self) -> Address:
        return Address(next(iter(self._servers.values())), self._key)

    def client(self) -> AsyncClient:
        return AsyncClient(*self.address)

    async def _tickwork(self, *arguments: str) -> Process:
        process = await create_subprocess_exec(
            *(sys.executable, "-m", "tickwork.cli", *arguments),
            env=os.environ | self._environment(),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            start_new_session=True,
        )
        self._opened.push_async_callback(_kill, process)
        return process

    def _environment(self) -> dict[str, str]:
        return {
            "TICKWORK_ADMIN_KEY": self._key,
            "TICKWORK_API_KEY": self._key,
            "TICKWORK_LOG_LEVEL": "warning",
            "TICKWORK_HTTP_ALLOW_LOOPBACK": "true",
            LEDGER_FOLDER: str(self.folder),
        }


@asynccontextmanager
async def running_cluster() -> AsyncIterator[BenchCluster]:
    """A real cluster, started for one scenario and deleted after it."""
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="tickwork-bench-")))
        (folder / URGENT).mkdir()
        postgres = EmbeddedPostgres(folder, _programs.get())
        url = await asyncio.to_thread(postgres.start)
        opened.push_async_callback(asyncio.to_thread, postgres.stop)
        opened.push_async_callback(asyncio.to_thread, _kill_postgres, folder / "postgres" / "postmaster.pid")
        database = await asyncpg.connect(url)
        opened.push_async_callback(database.close)
        yield BenchCluster(folder, url, database, opened)


async def read_address(process: Process, phrase: str) -> str:
    """The last word of the line in which the process prints the phrase."""
    lines: list[str] = []
    if process.stderr:
        async with asyncio.timeout(_TIMEOUT):
            while line := (await process.stderr.readline()).decode():
                lines.append(line)
                if phrase in line:
                    asyncio.create_task(_forward_stderr(process))  # noqa: RUF006 (ends with the process)
                    return line.split()[-1]
    raise TickworkError("a process of the bench did not start:\n" + "".join(lines))


async def _forward_stderr(process: Process) -> None:
    while process.stderr and (line := await process.stderr.readline()):
        sys.stderr.write(line.decode())


def _kill_postgres(postmaster: Path) -> None:
    """Without a checkpoint, because the data is not needed any more."""
    os.kill(int(postmaster.read_text().split()[0]), signal.SIGQUIT)
    while postmaster.exists():
        time.sleep(_POLL_INTERVAL)


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
