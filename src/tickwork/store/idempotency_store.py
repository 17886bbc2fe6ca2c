"""The stored answers to requests with an Idempotency-Key, which are repeated to requests with the same key."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import NamedTuple

import msgspec

from tickwork.model.errors import Conflict, KeyReused
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_LIFETIME = timedelta(hours=24)


class StoredAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class PostgresIdempotencyStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("idempotency")

    @asynccontextmanager
    async def begin(self, tenant_id: int, key: str, fingerprint: bytes) -> AsyncIterator["Answering"]:
        """One transaction for the request and its stored answer."""
        async with self._database.transaction() as connection:
            if not await connection.fetchval(self._sql["lock_idempotency_key"], str(tenant_id), key):
                raise Conflict(
                    "a request with this Idempotency-Key is being worked on: try again in a moment"
                )
            row = await connection.fetchrow(self._sql["find_answer"], tenant_id, key)
            if row is not None and row["fingerprint"] != fingerprint:
                raise KeyReused
            replay = (
                StoredAnswer(row["status"], msgspec.json.decode(row["headers"]), row["body"]) if row else None
            )
            yield Answering(connection, (tenant_id, key, fingerprint), replay)

    async def delete_old(self) -> bool:
        """Returns False: one call deletes all that are too old."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_old_answers"], _LIFETIME)
        return False


class Answering:
    def __init__(
        self, connection: Connection, identity: tuple[int, str, bytes], replay: StoredAnswer | None
    ) -> None:
        self._connection = connection
        self._identity = identity
        self.replay = replay

    async def save(self, status: int, headers: dict[str, str], body: bytes) -> None:
        encoded = msgspec.json.encode(headers).decode()
        await self._connection.execute(
            queries("idempotency")["keep_answer"], *self._identity, status, encoded, body
        )
