"""API keys: random, shown once, stored only as a digest. A revoked key stops working within seconds."""

import asyncio
import base64
import builtins
import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from time import monotonic
from typing import Protocol

import structlog

from tickwork.model.access import DEFAULT_TENANT, Caller, KeyView, Scope
from tickwork.model.errors import Conflict, Invalid, NotAllowed, Unavailable
from tickwork.model.field_types import to_utc
from tickwork.model.public_ids import key_id

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_PREFIX = "tw_"
_PREFIX_LENGTH = 10  # characters that lists show, so that people can tell keys apart
_CACHE_LIFETIME = 2.0  # seconds: a key that another node revoked works for this long at most
_MAX_CACHED = 10_000
_PATIENCE_IN_OUTAGE = 1.0  # seconds for the database to answer
_VALID_IN_OUTAGE = 3600.0  # seconds
_TENANT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class KeyStore(Protocol):
    async def now(self) -> datetime: ...

    async def ensure_tenant(self, name: str, signing_secret: str) -> int: ...

    async def create_key(
        self,
        tenant_id: int,
        name: str,
        prefix: str,
        digest: bytes,
        scopes: Sequence[Scope],
        expires_at: datetime | None,
    ) -> KeyView | None: ...

    async def find_key(self, digest: bytes) -> Caller | None: ...

    async def touch_keys(self, keys: Sequence[int]) -> None: ...

    async def keys(self, tenant_id: int | None) -> list[KeyView]: ...

    async def revoke_key(self, tenant_id: int | None, key: int) -> KeyView: ...

    async def signing_secret(self, tenant_id: int) -> str: ...

    async def is_valid(self, key: int) -> bool: ...

    async def any_key(self) -> bool: ...


class ApiKeys:
    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._cached: dict[bytes, tuple[float, Caller | None]] = {}
        self._used: set[int] = set()

    async def authenticate(self, secret: str) -> Caller | None:
        digest = _digest(secret)
        until, caller = self._cached.get(digest, (0.0, None))
        if monotonic() >= until:
            caller = await self._store.find_key(digest)
            if len(self._cached) >= _MAX_CACHED:
                self._cached.clear()
            self._cached[digest] = (monotonic() + _CACHE_LIFETIME, caller)
        if caller:
            self._used.add(caller.key_id)
        return caller

    async def authenticate_in_outage(self, secret: str) -> Caller | None:
        """As `authenticate`; while the database does not answer, a key that it knew within the last hour is valid."""
        try:
            async with asyncio.timeout(_PATIENCE_IN_OUTAGE):
                return await self.authenticate(secret)
        except (Unavailable, TimeoutError) as error:
            until, caller = self._cached.get(_digest(secret), (0.0, None))
            if caller is None or monotonic() >= until + _VALID_IN_OUTAGE:
                raise Unavailable("the database does not answer, so the key cannot be checked") from error
            return caller

    async def create(
        self,
        caller: Caller,
        name: str,
        scopes: Sequence[Scope],
        tenant: str | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[KeyView, str]:
        """Create a key of the caller's tenant. Admins of the default tenant also create keys of other tenants, and with
        the first key the tenant itself."""
        expires_at = to_utc(expires_at) if expires_at else None
        if expires_at and expires_at <= await self._store.now():
            raise Invalid.field("expires_at", "is in the past", "choose a later time, or leave it out")
        tenant_id = await self._find_tenant(caller, tenant)
        secret = make_secret()
        view = await self._store.create_key(
            tenant_id, name, secret[:_PREFIX_LENGTH], _digest(secret), scopes, expires_at
        )
        if view is None:
            raise Conflict("that key exists already")
        _log.info("key created", **_about(view), by=key_id(caller.key_id))
        return view, secret

    async def operator(self) -> Caller:
        """The caller for someone with direct access to the database, who needs no key."""
        tenant_id = await self._store.ensure_tenant(DEFAULT_TENANT, _signing_secret())
        return Caller(tenant_id, DEFAULT_TENANT, 0, frozenset({Scope.ADMIN}))

    async def list(self, caller: Caller) -> builtins.list[KeyView]:
        return await self._store.keys(_visible_tenant(caller))

    async def revoke(self, caller: Caller, key: int) -> KeyView:
        view = await self._store.revoke_key(_visible_tenant(caller), key)
        self.forget_valid()
        _log.info("key revoked", **_about(view), by=key_id(caller.key_id))
        return view

    def forget_valid(self) -> None:
        """Look up all keys again."""
        self._cached.clear()

    async def signing_secret(self, caller: Caller) -> str:
        return await self._store.signing_secret(caller.tenant_id)

    async def is_valid(self, key: int) -> bool:
        """Whether a key that was accepted earlier is still valid."""
        return await self._store.is_valid(key)

    async def any(self) -> bool:
        return await self._store.any_key()

    async def first(self, secret: str | None) -> str | None:
        """Create the admin key of a new database, with this secret or a random one. None if there are keys already."""
        tenant_id = await self._store.ensure_tenant(DEFAULT_TENANT, _signing_secret())
        if await self._store.any_key():
            return None
        secret = secret or make_secret()
        await self._store.create_key(
            tenant_id, "first", secret[:_PREFIX_LENGTH], _digest(secret), [Scope.ADMIN], None
        )
        _log.info("first admin key created", tenant=DEFAULT_TENANT)
        return secret

    async def note_use(self) -> bool:
        used, self._used = self._used, set()
        if used:
            await self._store.touch_keys(sorted(used))
        return False

    async def _find_tenant(self, caller: Caller, tenant: str | None) -> int:
        if tenant is None or tenant == caller.tenant:
            return caller.tenant_id
        if caller.tenant != DEFAULT_TENANT:
            raise NotAllowed("only admins of the default tenant may create keys for other tenants")
        if not _TENANT.fullmatch(tenant):
            raise Invalid.field("tenant", "must be lower-case letters, digits, '.', '_' and '-', at most 63")
        return await self._store.ensure_tenant(tenant, _signing_secret())


def _about(view: KeyView) -> dict[str, object]:
    """For the log: never the secret."""
    return {"key": view.id, "name": view.name, "tenant": view.tenant}


def make_secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _visible_tenant(caller: Caller) -> int | None:
    """The tenant whose keys the caller may list and revoke; None for all tenants."""
    return None if caller.tenant == DEFAULT_TENANT else caller.tenant_id


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _signing_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
