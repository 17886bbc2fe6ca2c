"""Tenants and API keys."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.access import DEFAULT_TENANT, Caller, KeyView, Scope
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.public_ids import key_id
from tickwork.model.tenant import MOST_COUNTED, TenantContents, TenantView
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries


class PostgresAccessStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("tenant_and_key")

    async def now(self) -> datetime:
        return await self._database.now()

    async def ensure_tenant(self, name: str, signing_secret: str) -> int:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["ensure_tenant"], name, signing_secret)
            row = await connection.fetchrow(self._sql["find_tenant"], name)
        assert row is not None  # noqa: S101 (it was created if it did not exist)
        if row["is_being_purged"]:
            raise Conflict(f"the tenant {name} is being deleted: its name is free when that has ended")
        return int(row["id"])

    async def tenants(self, name: str | None = None) -> list[TenantView]:
        return [
            msgspec.convert(dict(row), TenantView)
            for row in await self._database.fetch(self._sql["tenants"], name)
        ]

    async def contents(self, name: str) -> TenantContents:
        rows = await self._database.fetch(self._sql["contents_of_tenant"], name, MOST_COUNTED + 1)
        if not rows:
            raise NotFound("tenant", name)
        counts = dict(rows[0])
        is_in_archive: bool = counts.pop("is_in_archive")
        return TenantContents(
            name=name,
            counts={what: min(count, MOST_COUNTED) for what, count in counts.items()},
            at_least=[what for what, count in counts.items() if count > MOST_COUNTED],
            is_in_archive=is_in_archive,
        )

    async def signing_secret(self, tenant_id: int) -> str:
        (row,) = await self._database.fetch(self._sql["signing_secret"], tenant_id)
        return str(row["signing_secret"])

    async def create_key(
        self,
        tenant_id: int,
        name: str,
        prefix: str,
        digest: bytes,
        scopes: Sequence[Scope],
        expires_at: datetime | None,
    ) -> KeyView | None:
        """None when this key exists already."""
        async with self._database.transaction() as connection:
            key = await connection.fetchval(
                self._sql["create_key"],
                tenant_id,
                name,
                prefix,
                digest,
                [str(scope) for scope in scopes],
                expires_at,
            )
            return await self._key(connection, key) if key is not None else None

    async def find_key(self, digest: bytes) -> Caller | None:
        row = await self._database.fetchrow(self._sql["find_key"], digest)
        if row is None:
            return None
        scopes = frozenset(map(Scope, row["scopes"]))
        return Caller(row["tenant_id"], row["tenant"], row["id"], scopes, key_name=row["name"])

    async def touch_keys(self, keys: Sequence[int]) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["touch_keys"], list(keys))

    async def keys(self, tenant_id: int | None) -> list[KeyView]:
        return [_key_view(row) for row in await self._database.fetch(self._sql["keys"], tenant_id, None)]

    async def revoke_key(self, tenant_id: int | None, key: int) -> KeyView:
        """Conflict for the last admin key of a tenant, unless an admin of another tenant locks that tenant out."""
        async with self._database.transaction() as connection:
            owner = await connection.fetchrow(
                self._sql["lock_keys_of_tenant"], tenant_id, min(key, 2**31 - 1)
            )
            if owner is None:
                raise NotFound("key", key_id(key))
            locks_out = tenant_id is None and owner["name"] != DEFAULT_TENANT
            if not locks_out and await connection.fetch(self._sql["is_last_admin_key"], key):
                raise Conflict(
                    f"{key_id(key)} is the last admin key of the tenant {owner['name']}, not counting those that "
                    "expire: make another one first"
                )
            await connection.execute(self._sql["revoke_key"], key)
            return await self._key(connection, key)

    async def is_valid(self, key: int) -> bool:
        return bool(await self._database.fetch(self._sql["is_valid_key"], key))

    async def any_key(self) -> bool:
        (row,) = await self._database.fetch(self._sql["any_key"])
        return bool(row["any"])

    async def _key(self, connection: Connection, key: int) -> KeyView:
        row = await connection.fetchrow(self._sql["keys"], None, key)
        assert row is not None  # noqa: S101 (this transaction wrote it)
        return _key_view(row)


def _key_view(row: asyncpg.Record) -> KeyView:
    return KeyView(
        id=key_id(row["id"]),
        tenant=row["tenant"],
        name=row["name"],
        prefix=row["prefix"],
        scopes=[Scope(scope) for scope in row["scopes"]],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )
