"""What handing out what waits, and keeping track of who works, asks of the store."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.model.protocol import Hello
from tickwork.model.tenancy import Caller
from tickwork.store.port.handing import Handing, Lane
from tickwork.store.port.seat import FIRST_CONNECTION, Seat
from tickwork.store.port.settling import Claimed, Settling
from tickwork.store.port.work import HeldWorks, Works


class Line(NamedTuple):
    """Executions of a lane and a priority that wait, the oldest first."""

    lane: int
    priority: int
    waited: float  # seconds for which the oldest has been ready


class Renewal(NamedTuple):
    """Who is in neither has lost what it held."""

    kept: Mapping[Seat, bool]  # and whether somebody wants the worker to drain
    elsewhere: frozenset[Seat]  # the worker has come back on another connection


class Revocation(NamedTuple):
    worker_id: int
    key: ExecutionKey
    attempt: int
    reason: str


class Claiming(Handing, Protocol):
    """One transaction that hands out waiting executions."""

    async def waiting(self, lead: timedelta) -> list[Line]: ...

    async def pick(self, quotas: Mapping[Line, int], lead: timedelta) -> Works:
        """Lock up to so many of each line."""

    async def claim(self, works: Works, worker_id: int) -> None: ...


class Rescuing(Settling, Protocol):
    """One transaction that takes work out of dead workers' hands."""

    async def take_dead(self, limit: int, only: int | None = None) -> list[int]: ...

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]: ...

    async def end(self, workers: Sequence[int]) -> dict[int, str]:
        """Those of which nothing is left to take, with their names."""


class DispatchStore(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...

    async def forget_slots(self) -> None:
        """Clear away what no longer counts under any gate."""

    def claiming(self) -> AbstractAsyncContextManager[Claiming]: ...

    async def set_aside_first(self, line: Line, lead: timedelta, reason: str) -> None:
        """End as failed what has waited longest in a line."""

    async def set_aside(self, key: ExecutionKey, reason: str) -> None:
        """End it as failed, wherever it is, unless it has ended."""

    def rescuing(self) -> AbstractAsyncContextManager[Rescuing]: ...

    async def register(
        self,
        caller: Caller | None,
        hello: Hello,
        token: bytes,
        lease: timedelta,
        connection_number: int = FIRST_CONNECTION,
    ) -> Seat:
        """It belongs to the key that it comes with. Nobody's worker is the built-in one, for all tenants."""

    async def resume(self, caller: Caller | None, token: bytes, lease: timedelta) -> Seat | None:
        """Who has the token is the worker; it belongs to the key that it comes with now."""

    async def held_by(self, worker_id: int) -> HeldWorks: ...

    async def renew(self, seats: Collection[Seat], lease: timedelta) -> Renewal: ...

    async def drain(self, worker_id: int) -> None: ...

    async def leave(self, worker_id: int) -> None: ...

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]: ...

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None: ...

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        """Whether some worker has yet to stop an execution of this job."""
