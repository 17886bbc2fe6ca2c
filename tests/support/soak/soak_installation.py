"""What a soak runs on: PostgreSQL, servers and workers as processes, killed again and again, and started again as an
operator's supervisor does. The first server and worker are spared, so that their memory shows the whole run."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import asyncpg
import psutil

from support.cluster import Cluster, Program
from support.soak.soak_tasks import LEDGER_FOLDER
from support.stoppable_postgres import StoppablePostgres
from tickwork.client.async_client import AsyncClient

SERVERS = WORKERS = 2
_SLOTS = 500
_DOWN = 1.0  # seconds until a process is started again
_LOOK = 0.2
_TASKS = "support.soak.soak_tasks:app"
_A_BACKEND = (
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'tickwork' ORDER BY state, random() LIMIT 1"
)
KINDS = ("postmaster", "server", "backend", "worker")


class Kill(NamedTuple):
    kind: str
    victim: str
    process: int
    at: float  # seconds by the wall clock


class SoakInstallation:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres = StoppablePostgres(folder)
        self.ledger_folder = folder / "ledger"
        self.kills: list[Kill] = []
        self.surprises: list[str] = []
        self._cluster: Cluster
        self._kinds = cycle(KINDS)
        self._expected: set[int] = set()  # processes that were killed by this one
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.ledger_folder.mkdir(parents=True)
        await asyncio.to_thread(self.postgres.start)
        self._cluster = Cluster(self.postgres.url, self.folder)
        for _ in range(SERVERS):
            await self._cluster.add_server(env={"TICKWORK_LOG_LEVEL": "warning"})
        for number in range(WORKERS):
            ledger = {LEDGER_FOLDER: str(self.ledger_folder)}
            await self._cluster.add_worker(slots=_SLOTS, first=number, env=ledger, tasks=_TASKS)
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """The programs; PostgreSQL stays for the check."""
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        for program in self._cluster.programs:
            if program.exit_code is None:
                program.kill()

    async def stop_postgres(self) -> None:
        await asyncio.to_thread(self.postgres.stop)

    @property
    def spared(self) -> dict[str, int]:
        """The process of each kind that lives as long as the soak."""
        return {
            "server": self._cluster.servers[0].pid,
            "worker": self._cluster.workers[0].pid,
            "harness": os.getpid(),
        }

    @property
    def client(self) -> AsyncClient:
        return self._cluster.client()

    @asynccontextmanager
    async def admin(self) -> AsyncIterator["asyncpg.Connection"]:
        connection = await asyncpg.connect(self.postgres.url, server_settings={"application_name": "admin"})
        try:
            yield connection
        finally:
            await connection.close()

    async def kill_next(self) -> Kill:
        """One kind after the other."""
        kind = next(self._kinds)
        match kind:
            case "server":
                process = await self._kill(kind, self._cluster.servers[-1])
            case "worker":
                process = await self._kill(kind, self._cluster.workers[-1])
            case "backend":
                process = await self._kill_backend()
            case _:
                process = self.postgres.postmaster
                self._remember(kind, "postmaster", process)
                self.postgres.kill()
                await asyncio.sleep(_DOWN)
                await self.postgres.resume()
        return self.kills[-1]

    async def _kill(self, kind: str, program: Program) -> int:
        process = program.pid
        self._expected.add(process)
        self._remember(kind, program.name, process)
        program.kill()
        await asyncio.sleep(_DOWN)
        return process

    async def _kill_backend(self) -> int:
        """PostgreSQL then ends all the others, too, and recovers."""
        async with self.admin() as admin:
            process: int = await admin.fetchval(_A_BACKEND)
        self._remember("backend", "backend", process)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        return process

    def _remember(self, kind: str, victim: str, process: int) -> None:
        self.kills.append(Kill(kind, victim, process, time.time()))

    async def _keep(self) -> None:
        """What ended by itself is started again, too, and told of: nothing may."""
        while True:
            for program in self._cluster.programs:
                if program.exit_code is not None:
                    if program.pid not in self._expected and program.has_worked:
                        self.surprises.append(f"{program.name} ended by itself with {program.exit_code}")
                    program.launch()
            await asyncio.sleep(_LOOK)


def memory(process: int) -> float:
    """Megabytes that are resident."""
    try:
        return psutil.Process(process).memory_info().rss / 1e6
    except psutil.NoSuchProcess:
        return 0.0


def private_memory(postmaster: int) -> float:
    """Megabytes of PostgreSQL's processes, without what they share."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for process in [psutil.Process(postmaster), *psutil.Process(postmaster).children()]:
            with suppress(psutil.NoSuchProcess):
                total += process.memory_full_info().uss
    return total / 1e6
