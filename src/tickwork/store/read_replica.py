"""A replica of the database that answers lists, statistics and exports, while it is there and not far behind.

How far it is behind is seen in the rows of the nodes, which each of them writes every second on the primary. So it does
not matter how the replica gets its data, or whether it knows that it gets none.
"""

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any

import asyncpg
import structlog
from prometheus_client import Gauge

from tickwork.model.cluster import ReplicaView
from tickwork.model.errors import Unavailable
from tickwork.model.public_ids import to_micros
from tickwork.model.stale_reads import allowed_stale_reads
from tickwork.model.worker_protocol import Micros
from tickwork.store.database_errors import Condition
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

MOST_BEHIND = 5.0  # seconds
_CONNECTIONS = 4
_REPEAT_AFTER = 2.0  # seconds without a replica that failed
_READ_ONLY = {"default_transaction_read_only": "on"}  # whatever the URL leads to
_USABLE = Gauge("tickwork_replica_usable", "1 if a read replica answers lists, otherwise 0.", ["replica"])
_LAG = Gauge("tickwork_replica_lag_seconds", "How far a read replica is behind the primary.", ["replica"])
_NAME = "read_url"
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class ReadReplica:
    def __init__(self, url: str, now: Callable[[], Micros]) -> None:
        """`now`: the time of the primary."""
        self._database = Database(
            _any_host_will_do(url), size=_CONNECTIONS, condition=Condition(), settings=_READ_ONLY
        )
        self._now = now
        self._sql = queries("read_replica")
        self._is_open = False
        self._unusable_until = 0.0
        self._problem: str | None = "was not asked yet"
        self._lag: float | None = None

    async def look(self) -> bool:
        """See whether it is there, and how far it is behind. Returns False: there is never more to do."""
        try:
            if not self._is_open:
                await self._database.open()
                self._is_open = True
            row = await self._database.fetchrow(self._sql["last_news_of_nodes"])
        except Unavailable as error:
            self._judge(None, error.cause or "cannot be reached")
            return False
        except asyncpg.PostgresError as error:
            self._judge(None, _refusal(error))
            return False
        at = row["at"] if row else None
        lag = max(self._now() - to_micros(at), 0) / 1e6 if at else None
        if lag is None or lag > MOST_BEHIND:
            self._judge(lag, "is too far behind")
        else:
            self._judge(lag, None)
        return False

    def may_answer(self) -> bool:
        """Whether what is read now may come from it."""
        return (
            self._problem is None
            and allowed_stale_reads.get() is not None
            and monotonic() > self._unusable_until
        )

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Unavailable if the primary has to be asked."""
        try:
            rows = await self._database.fetch(query, *arguments)
        except Unavailable:
            self._unusable_until = monotonic() + _REPEAT_AFTER
            raise
        except (
            asyncpg.PostgresError
        ) as error:  # it may lack what an upgrade has just made; the primary says if not
            self._unusable_until = monotonic() + _REPEAT_AFTER
            raise Unavailable(f"the replica {_refusal(error)}") from error
        if reads := allowed_stale_reads.get():
            reads.from_replica = True
        return rows

    def view(self) -> ReplicaView:
        return ReplicaView(usable=self._problem is None, lag=self._lag, problem=self._problem)

    async def close(self) -> None:
        await self._database.close()

    def _judge(self, lag: float | None, problem: str | None) -> None:
        if problem != self._problem:
            if problem:
                _log.warning("lists are read from the primary: the replica " + problem, lag=lag)
            else:
                _log.info("lists are read from the replica", lag=lag)
        self._problem, self._lag = problem, lag
        _USABLE.labels(_NAME).set(problem is None)
        _LAG.labels(_NAME).set(inf if lag is None else lag)


def _refusal(error: asyncpg.PostgresError) -> str:
    return f"refuses a statement: {type(error).__name__}"


def _any_host_will_do(url: str) -> str:
    """Unless it says otherwise: a primary can be read, too."""
    if "target_session_attrs=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}target_session_attrs=any"
