"""Leaves a database server that no longer answers, as soon as another takes its place.

A server that is frozen keeps its connections open, and statements on them wait until their own limits. This asks once a
second over a connection of its own, which a slow disk does not delay. Without an answer it looks for the primary anew,
and once it has found one that is not the server from before, all other connections are abandoned.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic

import structlog

from tickwork.store.connect_to_any_host import Connector, RawConnection
from tickwork.store.database_errors import BUSY, LOST, unavailable
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_ANSWER_WITHIN = 2.0  # seconds
_NAME = {"application_name": "tickwork"}
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class ServerWatch:
    def __init__(self, connect: Connector, pools: Sequence[Database]) -> None:
        self._connect = connect
        self._pools = pools
        self._sql = queries("failover")
        self._connection: RawConnection | None = None
        self._server: datetime | None = None  # when the server that answered last was started
        self._answered_at = 0.0  # by the monotonic clock

    async def look(self) -> bool:
        """Ask the server for a sign of life, and leave it if another has taken its place. Returns False."""
        try:
            server = await self._ask()
        except (*LOST, *BUSY) as error:
            raise unavailable(error) from error
        if self._server not in (None, server):
            _log.warning(
                "another database server has taken over: the connections to the old one are given up"
            )
            for pool in self._pools:
                await pool.abandon_connections(opened_before=self._answered_at)
        self._server, self._answered_at = server, monotonic()
        return False

    async def close(self) -> None:
        self._drop()

    async def _ask(self) -> datetime:
        if self._connection is not None:
            with suppress(*LOST):
                return await self._ask_over(self._connection)
            self._drop()
        self._connection = await self._connect(
            statement_cache_size=0, command_timeout=_ANSWER_WITHIN, server_settings=_NAME
        )
        return await self._ask_over(self._connection)

    async def _ask_over(self, connection: RawConnection) -> datetime:
        async with asyncio.timeout(_ANSWER_WITHIN), connection.transaction():  # a pooler needs it
            started: datetime = await connection.fetchval(self._sql["server_started_at"])
        return started

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(*LOST):
                self._connection.terminate()
        self._connection = None
