"""Notices that the database failed over, and whether commits were lost.

Every second a node marks its commits: it writes a number into its own row. Commits are kept in order, so after a
failover everything that was committed before a mark is there if the mark is. Each new connection is compared with the
history of WAL that the node knows, before anybody uses it: the first one to a promoted server passes through `_cross`,
which skips ids and raises the attempt fence in the database. So no node can give anything out on that server before
this is done. A server that was replaced and comes back is refused for a while.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import Literal, NamedTuple, TypeAlias

import asyncpg
import msgspec
import structlog
from prometheus_client import Counter, Gauge

from tickwork.model.public_ids import job_id
from tickwork.model.stream_event import EventKind
from tickwork.store.connect_to_any_host import RawConnection
from tickwork.store.failover.attempt_fence import AttemptFence, Fence
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

Loss = Literal["none", "possible", "certain"]
_Connection: TypeAlias = "RawConnection | Connection"
_Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[_Connection]]
_STEP = 100_000  # between the attempts before a failover and those after it: more than an execution ever has
_CLOCKS_DIFFER = timedelta(
    seconds=10
)  # at most, between the old server and the new one, with the lead of a handover
_REFUSED_FOR = 15.0  # seconds
_NOTED_TOGETHER = timedelta(seconds=60)  # what nodes note of the same failover
_MOST_NAMED = 100  # jobs in an event
_MOST_KEPT = 10_000  # requests that created jobs
_MARKS_TO_SPARE = 60
_FAILOVERS = Counter(
    "tickwork_database_failovers_total", "Failovers of the database that this node went through.", ["loss"]
)
_COMMIT_SECONDS = Gauge("tickwork_database_commit_seconds", "How long the last small transaction took.")
for _loss in ("none", "possible", "certain"):
    _FAILOVERS.labels(_loss)
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class ServerHistory(NamedTuple):
    """Which history of WAL a server writes."""

    system_id: str
    wal_timeline: int

    def precedes(self, other: "ServerHistory") -> bool:
        return self.system_id == other.system_id and self.wal_timeline < other.wal_timeline


class Mark(NamedTuple):
    """A mark that is known to be committed."""

    number: int
    marked_at: datetime
    wal_position: int
    synchronous: bool  # commits waited for another server


class Survived(NamedTuple):
    """What a promoted server has."""

    number: int | None  # the last mark of this node
    marked_at: datetime | None
    replayed: int | None  # up to where it had the WAL when it was promoted; None: it has been restarted since
    replayed_at: datetime | None  # when the last transaction before that was committed
    now: datetime | None = None


def judge(known: Mark | None, survived: Survived) -> Loss:
    """Whether commits are lost that this node had answers for."""
    if known is None:
        return "possible"
    if survived.number is None or survived.number < known.number:
        return "certain"
    if known.synchronous:
        return "none"
    if survived.replayed is not None and survived.replayed < known.wal_position:
        return "certain"
    return "possible"


class _Crossing(NamedTuple):
    newest: asyncpg.Record  # what nodes go by from now on
    loss: Loss  # as far as this node can tell
    survived: Survived


class FailoverWatch:
    def __init__(self, database: Database, node_id: str) -> None:
        """`database`: connections that do not wait behind work."""
        self._database = database
        self._node_id = node_id
        self._sql = queries("failover")
        self.fence = AttemptFence()
        self.history: ServerHistory | None = None  # None: PostgreSQL does not tell
        self.after_loss: Callable[[], None] | None = None  # called when commits may have been lost
        self._mark: Mark | None = None
        self._failover = 0  # id of the last one that this node knows
        self._crossing = asyncio.Lock()
        self._refusing_since = 0.0  # by the monotonic clock; 0: it refuses no server
        self._unreported: list[_Crossing] = []
        self._created: deque[tuple[int, Sequence[int]]] = deque(maxlen=_MOST_KEPT)  # with the mark before

    async def begin(self) -> None:
        """Compare the server with the one that nodes used last. From now on each new connection is compared."""
        async with self._database.transaction() as connection:
            found = await self._read_history(connection)
            if found is None:
                _log.warning(
                    "PostgreSQL does not tell its timeline: a failover that loses commits goes unnoticed"
                )
                return
            await connection.execute(self._sql["lock_failovers"])
            known = await connection.fetch(self._sql["newest_failover"])
            (newest,) = known or await connection.fetch(self._sql["note_first_history"], *found)
        self.history = ServerHistory(newest["system_id"], newest["wal_timeline"])
        self._adopt(newest)
        if found != self.history:  # while no node ran
            self.history = self.history._replace(wal_timeline=0)  # that of a restored database may be lower
            await self._cross_if_new(found, self._database.transaction)

    async def admit(self, connection: RawConnection) -> None:
        """Look at a new connection. ConnectionError if it leads to a server that was replaced."""
        if self.history is not None:
            found = await self._read_history(connection)
            await self._cross_if_new(found, lambda: _transaction_on(connection))

    async def mark(self) -> bool:
        """Mark the commits of this node, and learn what other nodes know of the last failover. Returns False: one call
        does it all."""
        if self.history is None:
            return False
        if self._database.pooled:
            await self._look_behind_pooler()
        number = self._mark.number + 1 if self._mark else 1
        began = monotonic()
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["mark_commit"], self._node_id, number, self.history.wal_timeline
            )
            (newest,) = await connection.fetch(self._sql["newest_failover"])
        _COMMIT_SECONDS.set(monotonic() - began)
        if row:  # otherwise the node has not reported itself yet
            self._mark = Mark(*row)
        self._adopt(newest)
        await self._report()
        self._forget_created()
        return False

    async def _look_behind_pooler(self) -> None:
        """A pooler may have exchanged the server behind a connection that is not new."""
        async with self._database.transaction() as connection:
            found = await self._read_history(connection)
        await self._cross_if_new(found, self._database.transaction)

    def note_created(self, jobs: Sequence[int]) -> None:
        """These jobs were created, and the clients told so."""
        if self._mark:
            self._created.append((self._mark.number, jobs))

    def _forget_created(self) -> None:
        """Those that were created before marks which are known to be committed, with some to spare."""
        while self._mark and self._created and self._created[0][0] < self._mark.number - _MARKS_TO_SPARE:
            self._created.popleft()

    async def _read_history(self, connection: _Connection) -> ServerHistory | None:
        try:
            row = await connection.fetchrow(self._sql["server_history"])
        except (
            asyncpg.InsufficientPrivilegeError,
            asyncpg.UndefinedFunctionError,
            asyncpg.FeatureNotSupportedError,
        ):
            return None
        return ServerHistory(*row) if row else None

    async def _cross_if_new(self, found: ServerHistory | None, transaction: _Transaction) -> None:
        """What the first connection of this node to a server with another history goes through."""
        if found is None or self.history is None:
            return
        if found == self.history:
            self._refusing_since = 0.0
            return
        if found.precedes(self.history):
            self._refuse(found, self.history)
        async with self._crossing:
            if found == self.history:
                return
            async with transaction() as connection:
                crossing = await self._cross(connection, found)
            self.history, self._refusing_since = found, 0.0
            self._unreported.append(crossing)
            self._adopt(crossing.newest)

    def _refuse(self, found: ServerHistory, known: ServerHistory) -> None:
        """A server that was replaced goes away in a moment. If it stays the primary, those who manage the database have
        gone back to it, and what was committed since is lost."""
        self._refusing_since = self._refusing_since or monotonic()
        if monotonic() - self._refusing_since < _REFUSED_FOR:
            raise ConnectionError(
                f"it was replaced: its timeline is {found.wal_timeline}, not {known.wal_timeline}"
            )

    async def _cross(self, connection: _Connection, found: ServerHistory) -> "_Crossing":
        await connection.execute(self._sql["lock_failovers"])
        (newest,) = await connection.fetch(self._sql["newest_failover"])
        (row,) = await connection.fetch(self._sql["what_survived"], self._node_id)
        survived = Survived(*row)
        loss = judge(self._mark, survived)
        if tuple(newest)[1:3] != found or self._is_first_to_go_back(found, newest, survived.now):
            newest = await self._note(connection, found, loss, _lost_after(survived))
        elif loss == "certain" != newest["loss"]:  # another node has noted it before, and could not know
            (newest,) = await connection.fetch(
                self._sql["raise_loss"], newest["id"], _lost_after(survived), _CLOCKS_DIFFER, _STEP
            )
        return _Crossing(newest, loss, survived)

    def _is_first_to_go_back(
        self, found: ServerHistory, newest: asyncpg.Record, now: datetime | None
    ) -> bool:
        """Whether the database has gone back to an earlier history, and no other node has noted that."""
        goes_back = self.history is not None and found.precedes(self.history)
        return goes_back and now is not None and now - newest["noticed_at"] > _NOTED_TOGETHER

    async def _note(
        self, connection: _Connection, found: ServerHistory, loss: Loss, lost_after: datetime | None
    ) -> asyncpg.Record:
        await connection.execute(self._sql["skip_ids"])
        (row,) = await connection.fetch(
            self._sql["note_failover"], *found, loss, lost_after, _CLOCKS_DIFFER, _STEP
        )
        await self._write_event(
            connection,
            EventKind.DATABASE_FAILOVER,
            loss=loss, timeline=found.wal_timeline, lost_after=lost_after,
            first_attempt=row["first_attempt"] if loss != "none" else None,
        )  # fmt: skip
        return row

    def _adopt(self, newest: asyncpg.Record) -> None:
        """Go by the last failover that nodes have noted."""
        raised = self.fence.raise_to(
            Fence(newest["due_until"], newest["first_attempt"], newest["first_lease"])
        )
        if raised and self._failover and self.after_loss:
            self.after_loss()
        self._failover = newest["id"]

    async def _report(self) -> None:
        """Count and log what this node went through, and tell of commits that it knows to be lost."""
        while self._unreported:
            _, loss, survived = self._unreported[0]
            jobs = await self._vanished_jobs() if loss != "none" else []
            if loss == "certain" or jobs:
                await self._tell_lost(survived, jobs)
            _FAILOVERS.labels(loss).inc()
            _log.warning(
                "the database failed over",
                lost_commits={"none": "none", "possible": "perhaps", "certain": "yes"}[loss],
                lost_after=str(_lost_after(survived)),
                vanished_jobs=len(jobs),
            )
            self._unreported.pop(0)
            self._created.clear()

    async def _tell_lost(self, survived: Survived, jobs: Sequence[str]) -> None:
        async with self._database.transaction() as connection:
            await self._write_event(
                connection,
                EventKind.COMMITS_LOST,
                node=self._node_id, lost_after=_lost_after(survived), vanished_jobs=list(jobs)[:_MOST_NAMED],
                vanished_jobs_count=len(jobs),
            )  # fmt: skip

    async def _vanished_jobs(self) -> list[str]:
        jobs = [job for _, created in self._created for job in created]
        rows = await self._database.fetch(self._sql["vanished_jobs"], jobs) if jobs else []
        return [job_id(row["id"]) for row in rows]

    async def _write_event(self, connection: _Connection, kind: EventKind, **detail: object) -> None:
        told = {name: value for name, value in detail.items() if value is not None}
        await connection.execute(self._sql["write_failover_event"], kind, msgspec.json.encode(told).decode())


@asynccontextmanager
async def _transaction_on(connection: RawConnection) -> AsyncIterator[RawConnection]:
    async with connection.transaction():
        yield connection


def _lost_after(survived: Survived) -> datetime | None:
    """When the last commit was made that is known to be there."""
    return survived.replayed_at or survived.marked_at
