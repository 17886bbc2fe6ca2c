"""Sessions of browsers, and the links that begin one. Tokens are stored as digests only."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tickwork.model.access import Caller, Identity, Scope
from tickwork.model.public_ids import key_id
from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class PostgresSessionStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("browser_session")

    async def begin(self, digest: bytes, key: int, lifetime: timedelta, at_most: int) -> None:
        """Begin a session. The oldest ones of the key end if it has more than `at_most`."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["create_session"], digest, key, lifetime)
            await connection.execute(self._sql["end_surplus_sessions"], key, at_most)

    async def begin_by_link(
        self, link: bytes, digest: bytes, lifetime: timedelta, at_most: int
    ) -> Caller | None:
        """Use up a link and begin a session, both or neither. None if there is no such link."""
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["use_link"], link)
            if row is None:
                return None
            await self.begin(digest, row["id"], lifetime, at_most)
            return _caller(row, digest)

    async def find(self, digest: bytes) -> Caller | None:
        row = await self._database.fetchrow(self._sql["find_session"], digest)
        return _caller(row, digest) if row else None

    async def identity(self, key: int, session: bytes | None) -> Identity:
        row = await self._database.fetchrow(self._sql["identity"], key, session)
        assert row is not None  # noqa: S101 (keys are never deleted)
        scopes = [Scope(scope) for scope in row["scopes"]]
        return Identity(
            tenant=row["tenant"],
            key=key_id(row["id"]),
            key_name=row["name"],
            scopes=scopes,
            expires_at=row["expires_at"],
        )

    async def extend(self, digests: Sequence[bytes], lifetime: timedelta, longest: timedelta) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["extend_sessions"], list(digests), lifetime, longest)

    async def delete_expired(self) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_expired_sessions"])
            await connection.execute(self._sql["delete_expired_links"])

    async def end(self, digest: bytes) -> int:
        return await self._deleted("end_session", digest)

    async def end_all(self, key: int) -> int:
        return await self._deleted("end_sessions_of_key", key)

    async def create_link(self, digest: bytes, key: int, lifetime: timedelta, at_most: int) -> datetime:
        async with self._database.transaction() as connection:
            expires_at: datetime = await connection.fetchval(self._sql["create_link"], digest, key, lifetime)
            await connection.execute(self._sql["delete_surplus_links"], key, at_most)
        return expires_at

    async def _deleted(self, query: str, argument: bytes | int) -> int:
        async with self._database.transaction() as connection:
            status = await connection.execute(self._sql[query], argument)
        return int(status.rpartition(" ")[2])


def _caller(row: asyncpg.Record, digest: bytes) -> Caller:
    scopes = frozenset(map(Scope, row["scopes"]))
    return Caller(row["tenant_id"], row["tenant"], row["id"], scopes, digest, row["name"])
