"""Sessions: a browser signs in with an API key or a one-time link, and then uses a cookie.

A session has the rights of its key and ends with it. It expires when it was not used for a while, and at the latest a
month after it began. It is looked up at every request, so that any node accepts it and its end takes effect at once.
"""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

import structlog

from tickwork.access.api_keys import ApiKeys
from tickwork.access.sign_in_limit import SignInLimit
from tickwork.model.access import Caller, Identity, Scope, SignInLink
from tickwork.model.errors import NotAllowed
from tickwork.model.public_ids import key_id

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
LIFETIME = timedelta(days=7)  # since its last use
LONGEST_LIFE = timedelta(days=30)
LINK_LIFETIME = timedelta(minutes=10)
MOST_PER_KEY = 50
_MAX_TOKEN_LENGTH = 100


class SessionStore(Protocol):
    async def begin(self, digest: bytes, key: int, lifetime: timedelta, at_most: int) -> None: ...

    async def begin_by_link(
        self, link: bytes, digest: bytes, lifetime: timedelta, at_most: int
    ) -> Caller | None: ...

    async def find(self, digest: bytes) -> Caller | None: ...

    async def identity(self, key: int, session: bytes | None) -> Identity: ...

    async def extend(self, digests: Sequence[bytes], lifetime: timedelta, longest: timedelta) -> None: ...

    async def delete_expired(self) -> None: ...

    async def end(self, digest: bytes) -> int: ...

    async def end_all(self, key: int) -> int: ...

    async def create_link(self, digest: bytes, key: int, lifetime: timedelta, at_most: int) -> datetime: ...


class NewSession(NamedTuple):
    token: str  # for the cookie; it is not stored
    identity: Identity


class Sessions:
    def __init__(self, store: SessionStore, keys: ApiKeys) -> None:
        self._store = store
        self._keys = keys
        self._used: set[bytes] = set()
        self.limit = SignInLimit()

    async def sign_in_with_key(self, secret: str) -> NewSession | None:
        """None if the key is not valid."""
        caller = await self._keys.authenticate(secret)
        if caller is None:
            return None
        if caller.scopes == {Scope.WORKER}:
            raise NotAllowed("this key is for workers only; sign in with one that has the scope read")
        token, digest = _new_token()
        await self._store.begin(digest, caller.key_id, LIFETIME, MOST_PER_KEY)
        return await self._signed_in(caller._replace(session=digest), token)

    async def sign_in_with_link(self, link: str) -> NewSession | None:
        """None if the link was used, has expired or never existed."""
        token, digest = _new_token()
        caller = await self._store.begin_by_link(_digest(link), digest, LIFETIME, MOST_PER_KEY)
        return await self._signed_in(caller, token) if caller else None

    async def authenticate(self, token: str) -> Caller | None:
        caller = await self._store.find(_digest(token)) if len(token) <= _MAX_TOKEN_LENGTH else None
        if caller and caller.session:
            self._used.add(caller.session)
        return caller

    async def identity(self, caller: Caller) -> Identity:
        return await self._store.identity(caller.key_id, caller.session)

    async def end(self, caller: Caller) -> int:
        """End the caller's session. With an API key instead of a session: end all sessions of the key."""
        if caller.session:
            return await self._store.end(caller.session)
        return await self._store.end_all(caller.key_id)

    async def create_link(self, caller: Caller) -> SignInLink:
        token, digest = _new_token()
        expires_at = await self._store.create_link(digest, caller.key_id, LINK_LIFETIME, MOST_PER_KEY)
        return SignInLink(token=token, expires_at=expires_at)

    async def update(self) -> bool:
        """Extend the sessions that were used, and delete those that have expired."""
        used, self._used = self._used, set()
        if used:
            await self._store.extend(sorted(used), LIFETIME, LONGEST_LIFE)
        await self._store.delete_expired()
        return False

    async def _signed_in(self, caller: Caller, token: str) -> NewSession:
        _log.info("signed in", key=key_id(caller.key_id), tenant=caller.tenant)
        return NewSession(token, await self.identity(caller))


def _new_token() -> tuple[str, bytes]:
    token = secrets.token_urlsafe(32)
    return token, _digest(token)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
