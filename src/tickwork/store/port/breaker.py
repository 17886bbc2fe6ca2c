"""What circuit breakers ask of the store."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from tickwork.model.breaker import Breaker, BreakerKey, BreakerView

Decide = Callable[[Breaker], Breaker]


class BreakerChange(NamedTuple):
    before: Breaker
    after: Breaker


class BreakerStore(Protocol):
    async def read(self) -> list[Breaker]:
        """All of them, of every tenant."""

    async def change(
        self, decisions: Mapping[BreakerKey, Decide], make: Collection[BreakerKey] = ()
    ) -> list[BreakerChange]:
        """Lock those of them that exist, and let each become what is decided; some are made first, closed."""

    async def let_go(self, limit: int) -> int:
        """Let executions go on for which the time has come, of so many breakers; how many."""

    async def views(self, tenant_id: int, destination: str | None = None) -> list[BreakerView]: ...
