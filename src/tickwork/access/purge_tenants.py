"""Lists tenants, and deletes them for good: begun by a request, and gone on with by a loop of every node."""

import builtins
from collections.abc import Callable
from time import monotonic
from typing import Protocol

import structlog

from tickwork.loop import Loops
from tickwork.model.access import Author
from tickwork.model.errors import Invalid, NotFound
from tickwork.model.tenant import TenantContents, TenantPurgeView, TenantView

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_AT_ONCE = 1.0  # seconds that a request goes on with it before it answers
_INTERVAL = 5.0


class TenantStore(Protocol):
    async def tenants(self, name: str | None = None) -> list[TenantView]: ...

    async def contents(self, name: str) -> TenantContents: ...


class TenantPurgeStore(Protocol):
    async def begin(self, name: str, author: Author | None) -> None:
        """Revoke its keys, and note that it is to be deleted. Conflict for a tenant of the installation itself."""

    async def progress(self, name: str) -> TenantPurgeView: ...

    async def delete_some(self, name: str | None = None) -> bool:
        """Delete a batch of this purge, or of the oldest. Whether there may be more at once."""


class Tenants:
    def __init__(self, store: TenantStore, purges: TenantPurgeStore, forget_keys: Callable[[], None]) -> None:
        """`forget_keys`: that they were valid a moment ago."""
        self._store = store
        self._purges = purges
        self._forget_keys = forget_keys

    def add_loops(self, loops: Loops) -> None:
        loops.add("delete purged tenants", self.delete_some, every=_INTERVAL)

    async def list(self) -> builtins.list[TenantView]:
        return await self._store.tenants()

    async def contents(self, name: str) -> TenantContents:
        return await self._store.contents(name)

    async def purge(self, name: str, confirm: str | None, author: Author | None = None) -> TenantPurgeView:
        """Revoke its keys and delete what it has, as far as a moment allows. The rest goes on by itself."""
        if confirm != name:
            raise Invalid.field(
                "confirm",
                f"everything that the tenant {name} has would be deleted, and nothing of it can be restored",
                f"repeat its name: confirm={name}",
            )
        try:
            await self._purges.begin(name, author)
        except NotFound:
            return await self._ended(name)
        self._forget_keys()
        _log.info("tenant is being purged", tenant=name)
        deadline = monotonic() + _AT_ONCE
        while monotonic() < deadline and await self._purges.delete_some(name):
            pass
        return await self.progress(name)

    async def _ended(self, name: str) -> TenantPurgeView:
        """A repeated request gets the answer that the first one may have lost."""
        try:
            return await self.progress(name)
        except NotFound:
            raise NotFound("tenant", name) from None

    async def progress(self, name: str) -> TenantPurgeView:
        return await self._purges.progress(name)

    async def delete_some(self) -> bool:
        """A step of the loop: one batch of the oldest purge."""
        return await self._purges.delete_some()
