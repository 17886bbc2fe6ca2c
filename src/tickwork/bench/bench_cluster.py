"""What a scenario runs on: a PostgreSQL of its own, server processes, worker processes, and meters on all of them."""

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
from tickwork.client.server_address import Address
from tickwork.model.errors import TickworkError
from tickwork.store.embedded.server import EmbeddedPostgres

HELD_EQUAL = (
    "one machine for all; PostgreSQL with fsync and synchronous_commit on; history kept; "
    "fencing, tenancy, retries and timeouts as always"
)
_LOOK = 0.02  # seconds between looks whether something has happened
_WITHIN = 60.0
ANSWERS = " answers on "
_programs: ContextVar[Path | None] = ContextVar("programs", default=None)
_CONNECTED = "SELECT count(*) FROM tickwork.worker WHERE ended_at IS NULL AND tenant_id IS NOT NULL"


def use_postgres(programs: Path | None) -> None:
    """What stages run on from now: the PostgreSQL of these programs, as it comes; None is Tickwork's own."""
    _programs.set(programs)


class Stage:
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
        """A server process that can do its work."""
        process = await self._tickwork("server", "--port", "0", "--database-url", self.database_url)
        self._servers[process] = await said(process, ANSWERS)
        self.meter.watch("server", process.pid)
        return process

    async def start_worker(self, slots: int = 1000) -> Process:
        """A worker process, connected."""
        before = await self.database.fetchval(_CONNECTED)
        servers = [part for url in self._servers.values() for part in ("--server", url)]
        process = await self._tickwork(
            "worker", "run", "tickwork.bench.tasks:app", "--slots", str(slots), *servers
        )
        self.meter.watch("worker", process.pid)
        asyncio.create_task(_pass_on(process))  # noqa: RUF006 (ends with the process)
        async with asyncio.timeout(_WITHIN):
            while await self.database.fetchval(_CONNECTED) == before:  # noqa: ASYNC110 (it is in the database)
                await asyncio.sleep(_LOOK)
        return process

    async def start_program(self, module: str, *arguments: str) -> Process:
        """Another program of the bench, in a process of its own so that it is not the limit."""
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
        """To the database, beside the connection that everything here shares."""
        database = await asyncpg.connect(self.database_url)
        self._opened.push_async_callback(database.close)
        return database

    async def stop(self, process: Process) -> None:
        """As its user would: it finishes what it does."""
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_WITHIN):
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
async def stage() -> AsyncIterator[Stage]:
    """Everything on it is real, started for the scenario and gone after it."""
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="tickwork-bench-")))
        (folder / URGENT).mkdir()
        postgres = EmbeddedPostgres(folder, _programs.get())
        url = await asyncio.to_thread(postgres.start)
        opened.push_async_callback(asyncio.to_thread, postgres.stop)
        opened.push_async_callback(asyncio.to_thread, _end_at_once, folder / "postgres" / "postmaster.pid")
        database = await asyncpg.connect(url)
        opened.push_async_callback(database.close)
        yield Stage(folder, url, database, opened)


async def said(process: Process, phrase: str) -> str:
    """The last word of the line in which a process says this."""
    lines: list[str] = []
    if process.stderr:
        async with asyncio.timeout(_WITHIN):
            while line := (await process.stderr.readline()).decode():
                lines.append(line)
                if phrase in line:
                    asyncio.create_task(_pass_on(process))  # noqa: RUF006 (ends with the process)
                    return line.split()[-1]
    raise TickworkError("a process of the bench did not start:\n" + "".join(lines))


async def _pass_on(process: Process) -> None:
    while process.stderr and (line := await process.stderr.readline()):
        sys.stderr.write(line.decode())


def _end_at_once(postmaster: Path) -> None:
    """Nobody needs the data any more, so it is not written out first."""
    os.kill(int(postmaster.read_text().split()[0]), signal.SIGQUIT)
    while postmaster.exists():
        time.sleep(_LOOK)


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
