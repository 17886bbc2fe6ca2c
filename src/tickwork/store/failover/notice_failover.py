"""Notices that the database failed over, and whether commits were lost.

Every second a node marks its commits: it writes a number into its own row. Commits are kept in order, so after a
failover everything that was committed before a mark is there if the mark is. Each new connection is compared with the
history of WAL that the node knows, before anybody uses it: the first one to a promoted server passes through `_cross`,
which skips ids and raises the attempt fence in the database. So no node can give anything out on that server before
this is done. A server that was replaced and comes back is refused for a while.

The number of a timeline is not enough to tell histories apart: two standbys that are promoted one after the other begin
the same one, if the second has nothing of the first. What nodes have noted in the database tells them apart.
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
from tickwork.store.connect_to_any_host import SETTINGS, RawConnection
from tickwork.store.failover.new_attempt_numbers import CLOCKS_DIFFER, STEP, AttemptFence, Fence
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

Loss = Literal["none", "possible", "certain"]
_Connection: TypeAlias = "RawConnection | Connection"
_Transaction: TypeAlias = Callable[[], AbstractAsyncContextManager[_Connection]]
_REFUSED_FOR = 15.0  # seconds
_MOST_NAMED = 100  # jobs in an event
_MOST_KEPT = 10_000  # requests that created jobs
_MARKS_TO_SPARE = 60
# More ids than were given out since the last sign of life in the database: per second, and at least.
_IDS_PER_SECOND, _LEAST_IDS = 100_000, 1_000_000  # of 64 bits
_SMALL_IDS_PER_SECOND, _LEAST_SMALL_IDS = 10, 10_000  # of 32 bits
_BEGIN = f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{SETTINGS['idle_in_transaction_session_timeout']}'"
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


class Note(NamedTuple):
    """What nodes have noted of a server's history. No two histories have the same."""

    id: int
    noticed_at: datetime
    history: ServerHistory

    @classmethod
    def of(cls, row: asyncpg.Record) -> "Note":
        return cls(row["id"], row["noticed_at"], ServerHistory(row["system_id"], row["wal_timeline"]))


class Server(NamedTuple):
    """What a connection leads to."""

    history: ServerHistory
    note: Note  # the newest one there: an older history's, if no node was there before

    def was_left(self, known: "Server") -> bool:
        """Whether nodes were there before they came to the known one."""
        if self.history != known.history:
            return self.history.precedes(known.history)
        return self.note.history == self.history and self.note.noticed_at < known.note.noticed_at


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
    alive_at: datetime | None = None  # the last sign of life of any node

    def ids_to_skip(self) -> tuple[int, int]:
        """Those of 64 bits, and those of 32 bits."""
        gap = max((self.now - self.alive_at).total_seconds(), 0) if self.now and self.alive_at else 0
        return _LEAST_IDS + int(gap * _IDS_PER_SECOND), _LEAST_SMALL_IDS + int(gap * _SMALL_IDS_PER_SECOND)


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
        self._server: Server | None = None  # None: PostgreSQL does not tell
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
            history = await self._read_history(connection)
            if history is None:
                _log.warning(
                    "PostgreSQL does not tell its timeline: a failover that loses commits goes unnoticed"
                )
                return
            await connection.execute(self._sql["lock_failovers"])
            known = await connection.fetch(self._sql["newest_failover"])
            (newest,) = known or await connection.fetch(self._sql["note_first_history"], *history)
        self._adopt(newest)
        note = Note.of(newest)
        if history == note.history:
            self._server = Server(history, note)
        else:  # while no node ran. The timeline of a restored database may be lower
            self._server = Server(note.history._replace(wal_timeline=0), note)
            await self._cross_if_new(Server(history, note), self._database.transaction)

    async def admit(self, connection: RawConnection) -> None:
        """Look at a new connection. ConnectionError if it leads to a server that was replaced."""
        if self._server is not None:
            found = await self._read_server(connection)
            await self._cross_if_new(found, lambda: _transaction_on(connection))

    async def mark(self) -> bool:
        """Mark the commits of this node, and learn what other nodes know of the last failover. Returns False: one call
        does it all."""
        if self._server is None:
            return False
        if self._database.pooled:
            await self._look_behind_pooler()
        number = self._mark.number + 1 if self._mark else 1
        began = monotonic()
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["mark_commit"], self._node_id, number, self._server.history.wal_timeline
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
            found = await self._read_server(connection)
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

    async def _read_server(self, connection: _Connection) -> Server | None:
        history = await self._read_history(connection)
        if history is None:
            return None
        (newest,) = await connection.fetch(self._sql["newest_failover"])
        return Server(history, Note.of(newest))

    async def _cross_if_new(self, found: Server | None, transaction: _Transaction) -> None:
        """What the first connection of this node to a server with another history goes through."""
        if not self._is_new(found):
            return
        async with self._crossing, transaction() as connection:
            await connection.execute(self._sql["lock_failovers"])
            found = await self._read_server(connection)
            if found is None or not self._is_new(found):  # this node has crossed meanwhile
                return
            crossing = await self._cross(connection, found)
        self._server = Server(found.history, Note.of(crossing.newest))
        self._refusing_since = 0.0
        self._unreported.append(crossing)
        self._adopt(crossing.newest)

    def _is_new(self, found: Server | None) -> bool:
        """ConnectionError if it was replaced: such a server goes away in a moment. If it stays the primary, those who
        manage the database have gone back to it, and what was committed since is lost."""
        known = self._server
        if found is None or known is None:
            return False
        if found == known:
            self._refusing_since = 0.0
            return False
        if found.was_left(known):
            self._refusing_since = self._refusing_since or monotonic()
            if monotonic() - self._refusing_since < _REFUSED_FOR:
                timelines = f"its timeline is {found.history.wal_timeline}, not {known.history.wal_timeline}"
                is_same = found.history == known.history
                raise ConnectionError(
                    "it was replaced: " + ("by another with the same timeline" if is_same else timelines)
                )
        return True

    async def _cross(self, connection: _Connection, found: Server) -> "_Crossing":
        """Under the lock: what one node notes, the others find."""
        (row,) = await connection.fetch(self._sql["what_survived"], self._node_id)
        survived = Survived(*row)
        loss = judge(self._mark, survived)
        (newest,) = await connection.fetch(self._sql["newest_failover"])
        goes_back = self._server is not None and found.was_left(self._server)
        if found.note.history != found.history or goes_back:
            newest = await self._note(connection, found.history, loss, survived)
        elif self._knows_more(newest, loss):
            worst = "certain" if loss == "certain" else newest["loss"]
            (newest,) = await connection.fetch(
                self._sql["raise_loss"], newest["id"], worst, _lost_after(survived), *self._fence_values()
            )
        return _Crossing(newest, loss, survived)

    def _knows_more(self, newest: asyncpg.Record, loss: Loss) -> bool:
        """Than the node that has noted it: that commits are lost, or that attempts have had such numbers."""
        had_such_numbers: bool = newest["first_attempt"] <= self.fence.first_attempt
        noted: Loss = newest["loss"]
        return loss == "certain" != noted or (noted != "none" and had_such_numbers)

    def _fence_values(self) -> tuple[timedelta, int, int]:
        return CLOCKS_DIFFER, STEP, self.fence.first_attempt

    async def _note(
        self, connection: _Connection, found: ServerHistory, loss: Loss, survived: Survived
    ) -> asyncpg.Record:
        lost_after = _lost_after(survived)
        await connection.execute(self._sql["skip_ids"], *survived.ids_to_skip())
        (row,) = await connection.fetch(
            self._sql["note_failover"], *found, loss, lost_after, *self._fence_values()
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
    """After an error whoever opened the connection drops it: the answer to a ROLLBACK may never come. A node that
    freezes here must not keep others from the server."""
    await connection.execute(_BEGIN)
    yield connection
    await connection.execute("COMMIT")


def _lost_after(survived: Survived) -> datetime | None:
    """When the last commit was made that is known to be there."""
    return survived.replayed_at or survived.marked_at
