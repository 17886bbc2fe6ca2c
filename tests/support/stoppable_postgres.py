"""A PostgreSQL that a test can take away and bring back."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Literal

import asyncpg

from support.postgres_programs import PROGRAMS
from support.ready_cluster import copy_ready_cluster
from support.waiting import eventually
from tickwork.store.embedded.run_postgres_programs import hand_over
from tickwork.store.embedded.server import EmbeddedPostgres

_STARTS_WITHIN = 60.0


class StoppablePostgres(EmbeddedPostgres):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PROGRAMS)

    def _make_cluster(self) -> None:
        copy_ready_cluster(self._folder, PROGRAMS)

    def follow(self, primary: "StoppablePostgres") -> None:
        """Start as a standby of another one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._cluster.mkdir(mode=0o700)
        hand_over(self._cluster)
        self._run("pg_basebackup", "-R", "-D", str(self._cluster), "-d", primary.url, "--checkpoint=fast")
        (self._cluster / ".s.PGSQL.5432.lock").unlink()  # of the other's socket
        self._prepare()
        self._launch()

    async def promote(self) -> None:
        """Make a standby the primary, on a timeline of its own."""
        await asyncio.to_thread(self._pg_ctl, "promote")

    async def halt(self, how: Literal["fast", "immediate"]) -> None:
        """Fast: every session is told that the server shuts down. Immediate: as if the power failed."""
        await asyncio.to_thread(self._pg_ctl, "stop", "-m", how)

    def kill(self) -> None:
        """Its first process alone: the others find out, each in its own time."""
        os.kill(self.postmaster, signal.SIGKILL)

    @property
    def postmaster(self) -> int:
        """The id of that process."""
        return int((self._cluster / "postmaster.pid").read_text().split()[0])

    async def resume(self) -> None:
        """Until it accepts connections, and not a moment longer."""
        await eventually(self._starts, within=_STARTS_WITHIN, what="the start of PostgreSQL")

    @property
    def socket(self) -> str:
        return str(self._socket_folder() / ".s.PGSQL.5432")

    async def _starts(self) -> bool:
        """One that was killed does not start again before the last of its processes has ended."""
        with suppress(OSError, asyncpg.PostgresError):
            await (await asyncpg.connect(self.url)).close()
            return True
        if not await asyncio.to_thread(self._running):
            arguments = ("-W", "-l", str(self._cluster / "server.log"), "-o", f"-k '{self._socket_folder()}'")
            await asyncio.to_thread(self._pg_ctl, "start", *arguments)
        return False
