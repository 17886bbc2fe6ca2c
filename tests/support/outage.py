"""A PostgreSQL that a test can take away and bring back."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Literal

import asyncpg

from support.waiting import eventually
from tickwork.store.embedded import EmbeddedPostgres

_STARTS_WITHIN = 60.0


class StoppablePostgres(EmbeddedPostgres):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = ""

    def start(self) -> str:
        self.url = super().start()
        return self.url

    async def halt(self, how: Literal["fast", "immediate"]) -> None:
        """Fast: every session is told that the server shuts down. Immediate: as if the power failed."""
        await asyncio.to_thread(self._pg_ctl, "stop", "-m", how)

    async def resume(self) -> None:
        """Until it accepts connections, and not a moment longer."""
        arguments = ("-W", "-l", str(self._cluster / "server.log"), "-o", f"-k '{self._socket_folder()}'")
        await asyncio.to_thread(self._pg_ctl, "start", *arguments)
        await eventually(self._accepts, within=_STARTS_WITHIN, what="the start of PostgreSQL")

    async def _accepts(self) -> bool:
        with suppress(OSError, asyncpg.PostgresError):
            await (await asyncpg.connect(self.url)).close()
            return True
        return False
