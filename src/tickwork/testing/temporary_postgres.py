"""An embedded PostgreSQL for a run of tests: one cluster, and a new database for each test."""

import asyncio
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg

from tickwork.store.embedded.server import DATABASE, EmbeddedPostgres
from tickwork.store.migrate import upgrade
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.testing.loop_thread import LoopThread

_HISTORY_DAYS = 30
# Waits until the process that started it has ended. If PostgreSQL's folder is still there then, it was killed.
_CLEAN_UP = """
import os, shutil, signal, sys, time

sys.stdin.read()
folder, patience = sys.argv[1], time.monotonic() + 30
lock = os.path.join(folder, "postgres", "postmaster.pid")
if os.path.exists(lock):
    with open(lock) as file:
        os.kill(int(file.readline()), signal.SIGQUIT)
while os.path.exists(lock) and time.monotonic() < patience:
    time.sleep(0.05)
shutil.rmtree(folder, ignore_errors=True)
"""


class TemporaryPostgres:
    """Its databases are copies of one that is ready, and all of it is gone when it stops, or when the process that
    started it is killed."""

    def __init__(self, programs: Path | None = None) -> None:
        """`programs`: the folder with the programs of another PostgreSQL than Tickwork's own."""
        # Not in pytest's folder, which every run of pytest closes to other users: as root, PostgreSQL runs as one.
        self._folder = tempfile.TemporaryDirectory(prefix="tickwork-tests-")
        self._postgres = EmbeddedPostgres(Path(self._folder.name), programs)
        self._clean_up: subprocess.Popen[bytes] | None = None
        self._administrator: _Administrator | None = None
        self._numbers = itertools.count(1)
        self.url = ""  # of the database that is copied: nobody may be connected to it

    async def start(self) -> None:
        """Start PostgreSQL and prepare the database that is copied."""
        self._clean_up = _start_clean_up(self._folder.name)
        self.url = self._postgres.start()
        await self._hurry()
        await upgrade(self.url)
        database = Database(self.url, size=1)
        await database.open()
        await Partitions(database, _HISTORY_DAYS).keep_up()
        await database.close()

    def stop(self) -> None:
        """Stop PostgreSQL and delete all its databases."""
        if self._administrator:
            self._administrator.close()
        self._postgres.stop()
        self._folder.cleanup()
        if self._clean_up:
            self._clean_up.communicate()

    async def create_database(self) -> str:
        """The URL of a new database, with Tickwork's tables in it."""
        name = f"test_{next(self._numbers)}"
        # Without fsync, copying the files is much faster than writing every page to the WAL.
        await self._administer(f"CREATE DATABASE {name} TEMPLATE {DATABASE} STRATEGY FILE_COPY")
        return self._url_of(name)

    async def drop_database(self, url: str) -> None:
        """Delete a database, whoever is connected to it."""
        before, after = self.url.split(f"/{DATABASE}?")
        name = url.removeprefix(f"{before}/").removesuffix(f"?{after}")
        await self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    def _url_of(self, name: str) -> str:
        return self.url.replace(f"/{DATABASE}?", f"/{name}?")

    async def _hurry(self) -> None:
        """No test needs to survive a power cut, and autovacuum would run at moments that no test decides."""
        connection = await asyncpg.connect(self.url)
        for setting in ("fsync", "full_page_writes", "autovacuum"):
            await connection.execute(f"ALTER SYSTEM SET {setting} = off")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()

    async def _administer(self, command: str) -> None:
        if self._administrator is None:
            self._administrator = _Administrator(self._url_of("postgres"))
        await self._administrator.do(command)


class _Administrator:
    """Has one connection for all commands: they come from the event loop of one test after the other."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._thread = LoopThread()
        self._turn = asyncio.Lock()
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def do(self, command: str) -> None:
        await asyncio.wrap_future(self._thread.submit(self._do(command)))

    def close(self) -> None:
        self._thread.submit(self._close()).result()
        self._thread.close()

    async def _do(self, command: str) -> None:
        async with self._turn:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(self._url)
            await self._connection.execute(command)

    async def _close(self) -> None:
        if self._connection:
            await self._connection.close()


def _start_clean_up(folder: str) -> subprocess.Popen[bytes]:
    """In a session of its own, so that Ctrl-C does not end it first."""
    return subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-I", "-S", "-c", _CLEAN_UP, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
