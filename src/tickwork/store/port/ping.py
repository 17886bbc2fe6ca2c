"""What pings ask of the store."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, TypeAlias

from tickwork.model.field_types import Page
from tickwork.model.ping import PingFilter, PingRun, PingRunView, PingSpec, PingState, PingView
from tickwork.model.stream_event import EventKind


class Token(NamedTuple):
    """The token in the URL of a ping, as it is stored."""

    digest: bytes
    begins: str  # what is shown of it


class LockedPing(NamedTuple):
    id: int
    tenant_id: int
    name: str
    timing: str
    grace: timedelta
    now: datetime
    state: PingState


class PastRun(NamedTuple):
    """One of the latest runs that succeeded, in seconds."""

    delay: float | None
    run_time: float | None


class PingEvent(NamedTuple):
    """What there is to tell of a ping."""

    kind: EventKind
    detail: dict[str, Any]


class PingChange(NamedTuple):
    state: PingState
    check_at: datetime | None
    runs: Sequence[PingRun] = ()
    events: Sequence[PingEvent] = ()


DecideHeard: TypeAlias = Callable[[LockedPing, Sequence[PastRun]], PingChange]
DecideLook: TypeAlias = Callable[[LockedPing], PingChange]


class PingStore(Protocol):
    """Each method that decides locks the ping, asks what becomes of it, and writes that with its events."""

    async def now(self) -> datetime: ...

    async def page(
        self, tenant_id: int, wanted: PingFilter, limit: int, cursor: str | None
    ) -> Page[PingView]:
        """By name."""

    async def get(self, tenant_id: int, name: str) -> PingView:
        """NotFound when there is no such ping."""

    async def history(self, tenant_id: int, name: str, limit: int, cursor: str | None) -> Page[PingRunView]:
        """Latest first. NotFound when there is no such ping."""

    async def create(self, tenant_id: int, name: str, spec: PingSpec, token: Token, new: PingChange) -> bool:
        """False when the name is taken."""

    async def change(self, tenant_id: int, name: str, spec: PingSpec, decide: DecideLook) -> bool:
        """False when there is no such ping. Asks what becomes of it only if its timing or grace changes."""

    async def set_token(self, tenant_id: int, name: str, token: Token) -> bool:
        """False when there is no such ping."""

    async def delete(self, tenant_id: int, name: str) -> bool:
        """False when there is no such ping."""

    async def hear(self, tenant_id: int, name: str, decide: DecideHeard) -> bool:
        """False when there is no such ping."""

    async def hear_by_token(self, digest: bytes, decide: DecideHeard) -> bool:
        """False when no ping has this token."""

    async def look(self, limit: int, decide: DecideLook) -> int:
        """Look at pings that it is time for. Returns how many there were."""

    async def change_all(self, after: int, limit: int, decide: DecideLook) -> int | None:
        """Ask for some pings, after one in the order of their numbers, what becomes of them. Returns the last of them;
        None when there are no more."""

    async def delete_old_runs(self, older_than: timedelta) -> bool:
        """Delete some old runs. Returns whether there may be more."""
