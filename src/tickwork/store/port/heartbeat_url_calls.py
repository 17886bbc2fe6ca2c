"""What heartbeats ask of the store: the URLs that jobs call after success, and the one that the cluster calls."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.ping import OutsidePingView


class DueHeartbeat(NamedTuple):
    job_id: int
    url: str
    completed_at: datetime  # when the execution completed that it tells of


class CalledHeartbeat(NamedTuple):
    heartbeat: DueHeartbeat
    error: str | None  # None: it was answered with success


class HeartbeatStore(Protocol):
    async def jobs(self, limit: int) -> frozenset[int]:
        """The jobs that have a heartbeat URL."""

    async def mark_completed_since(self, jobs: Sequence[int]) -> None:
        """Those of the jobs of which an execution completed since they have their URL are to be told of."""

    async def take_due(self, limit: int, lease: timedelta) -> list[DueHeartbeat]:
        """Those to call now. No other node takes them until the lease is over."""

    async def note_called(self, called: Sequence[CalledHeartbeat], give_up_after: timedelta) -> None:
        """What failed is called again, later each time, until it is too old to tell anything."""


class OutsidePingStore(Protocol):
    async def set(self, url: str) -> None: ...

    async def delete(self) -> bool:
        """False when there is none."""

    async def view(self) -> OutsidePingView: ...

    async def take_due(self, interval: timedelta, most_late: timedelta) -> str | None:
        """The URL, if it is to be called now and all rules are fired in time. No other node gets it then."""

    async def note_called(self, error: str | None, retry_after: timedelta) -> None: ...
