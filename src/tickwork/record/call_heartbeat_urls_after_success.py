"""Calls the heartbeat URL of a job after an execution of it has completed.

The call is noted in the transaction that completes the execution, and made by any node afterwards: it never delays or
fails the execution, and it is not lost with a node. Of executions that complete while a call is on its way, the last is
told of.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeAlias

import structlog
from prometheus_client import Counter

from tickwork.model.public_ids import job_id
from tickwork.store.port.heartbeat_url_calls import CalledHeartbeat, DueHeartbeat, HeartbeatStore

CallUrl: TypeAlias = Callable[[str], Awaitable[str | None]]  # what went wrong; None: success

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_CALLS = Counter(
    "tickwork_heartbeat_calls_total", "Calls of heartbeat URLs of jobs, by outcome.", ["outcome"]
)
_MOST_JOBS = 100_000  # that a node keeps in mind
_TOGETHER = 100
_LEASE = timedelta(minutes=1)
_GIVE_UP_AFTER = timedelta(hours=1)  # a heartbeat that is so old tells nothing

for _outcome in ("success", "failed"):
    _CALLS.labels(_outcome)  # from 0 on, or Prometheus would not see the first failure as growth


class Heartbeats:
    def __init__(self, store: HeartbeatStore, call: CallUrl) -> None:
        self._store = store
        self._call = call
        self.jobs: frozenset[int] = frozenset()  # that have a URL, as this node knows them

    async def read(self) -> bool:
        """Read which jobs have a URL. What completed before this node knew of it is told of, too."""
        known, self.jobs = self.jobs, await self._store.jobs(_MOST_JOBS)
        if new := self.jobs - known:
            await self._store.mark_completed_since(sorted(new))
        return False

    async def call_due(self) -> bool:
        """Make the calls that are due; whether there may be more."""
        due = await self._store.take_due(_TOGETHER, _LEASE) if self.jobs else []
        if due:
            called = await asyncio.gather(*map(self._make, due))
            await self._store.note_called(called, _GIVE_UP_AFTER)
        return len(due) == _TOGETHER

    async def _make(self, heartbeat: DueHeartbeat) -> CalledHeartbeat:
        error = await self._call(heartbeat.url)
        _CALLS.labels("failed" if error else "success").inc()
        if error:
            _log.warning("heartbeat call failed", job=job_id(heartbeat.job_id), error=error)
        return CalledHeartbeat(heartbeat, error)
