"""The logs and the progress of attempts.

The lines of an attempt are stored in chunks that never overlap, so that a position is found by the key of its chunk.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import asyncpg
import msgspec

from tickwork.model.attempt_log import BEGINNING, LogEntry, Position, position_after
from tickwork.model.execution import ExecutionKey, ExecutionStatus, Progress
from tickwork.model.field_types import Page
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import LogLine
from tickwork.store.batch_columns import stored
from tickwork.store.page_cursor import LogPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import Logged, LogState, ProgressNote, UsageNote
from tickwork.store.query_files import queries

_KEPT = 256 * 1024  # bytes of one attempt's log
_CHUNK = 16 * 1024
_LOCKS = 64

_AttemptKey = tuple[ExecutionKey, int]
_Row = tuple[int, int, bytes]  # first line, how many, as JSON


async def lock_logs(connection: Connection, jobs: Iterable[int]) -> None:
    """Until the commit, nobody else writes a log of these jobs."""
    locks = sorted({job % _LOCKS for job in jobs})
    await connection.execute(queries("log")["lock_logs"], locks)


class PostgresLogStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("log")

    async def keep(self, logged: Sequence[Logged]) -> None:
        if not logged:
            return
        async with self._database.transaction() as connection:
            await lock_logs(connection, {each.key.job_id for each in logged})
            ends = await self._ends(connection, {(each.key, each.attempt) for each in logged})
            rows = [
                (place, row)
                for each in logged
                if (place := (each.key, each.attempt)) in ends
                for row in _chunks(each, ends[place])
            ]
            if rows:
                await self._insert(connection, rows)

    async def keep_usage(self, used: Sequence[UsageNote]) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["insert_usage"],
                [note.key.tenant_id for note in used],
                [note.key.scheduled_for for note in used],
                [note.key.job_id for note in used],
                [note.attempt for note in used],
                [note.usage.cpu_seconds for note in used],
                [note.usage.peak_memory for note in used],
            )

    async def _ends(self, connection: Connection, attempts: Iterable[_AttemptKey]) -> dict[_AttemptKey, int]:
        """The next line of each log: earlier lines are repeats."""
        rows = await connection.fetch(self._sql["next_log_lines"], *_columns(attempts))
        return {
            (ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"]), row["attempt"]): row["next_line"]
            for row in rows
        }  # fmt: skip

    async def _insert(self, connection: Connection, rows: Sequence[tuple[_AttemptKey, _Row]]) -> None:
        await connection.execute(
            self._sql["insert_log_lines"],
            [key.tenant_id for (key, _), _ in rows],
            [key.scheduled_for for (key, _), _ in rows],
            [key.job_id for (key, _), _ in rows],
            [attempt for (_, attempt), _ in rows],
            [first for _, (first, _, _) in rows],
            [count for _, (_, count, _) in rows],
            [lines for _, (_, _, lines) in rows],
        )
        attempts = {place for place, _ in rows}
        await connection.execute(self._sql["forget_oldest_log_lines"], *_columns(attempts), _KEPT)

    async def set_progress(self, notes: Sequence[ProgressNote]) -> list[ProgressNote]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                self._sql["set_progress"],
                [note.claimed.key.tenant_id for note in notes],
                [note.claimed.key.scheduled_for for note in notes],
                [note.claimed.key.job_id for note in notes],
                [note.claimed.worker_id for note in notes],
                [note.claimed.attempt for note in notes],
                [msgspec.json.encode(note.progress) for note in notes],
                [note.started_at for note in notes],
            )
        return [notes[row["number"] - 1] for row in rows]

    async def page(
        self, key: ExecutionKey, attempt: int | None, limit: int, cursor: str | None
    ) -> Page[LogEntry]:
        begin = BEGINNING
        if cursor:
            _, *place = decode_cursor(cursor, LogPlace)
            begin = Position(*place)
        lines = await self._lines(key, begin, limit + 1, attempt)
        more = LogPlace("log", *position_after(lines[limit - 1])) if len(lines) > limit else None
        return Page(lines[:limit], encode_cursor(more))

    async def lines(self, key: ExecutionKey, begin: Position, limit: int) -> list[LogEntry]:
        return await self._lines(key, begin, limit, None)

    async def _lines(
        self, key: ExecutionKey, begin: Position, limit: int, attempt: int | None
    ) -> list[LogEntry]:
        rows = await self._database.fetch(self._sql["log_lines"], *key, *begin, attempt, limit)
        entries = (entry for row in rows for entry in entries_of(row))
        return [entry for entry in entries if (entry.attempt, entry.line) >= begin][:limit]

    async def last_lines(self, key: ExecutionKey, attempt: int | None, count: int) -> list[LogEntry]:
        attempts = None if attempt is None else [attempt]
        rows = await self._database.fetch(self._sql["last_log_lines"], *key, attempts, count, False)
        return [entry for row in rows for entry in entries_of(row)][-count:]

    async def state(self, key: ExecutionKey) -> LogState | None:
        row = await self._database.fetchrow(self._sql["log_state"], *key)
        if row is None:
            return None
        return LogState(
            ExecutionStatus(row["status"]),
            row["attempt"],
            progress_of(row["progress"]),
            Position(row["last_attempt"], row["next_line"]) if row["last_attempt"] else BEGINNING,
            row["ended_for"],
        )


def progress_of(column: bytes | None) -> Progress | None:
    return stored(column, Progress)


def entries_of(row: asyncpg.Record) -> Iterator[LogEntry]:
    lines = stored(row["lines"], list[LogLine]) or []
    for number, line in enumerate(lines, row["first_line"]):
        yield LogEntry(
            attempt=row["attempt"], line=number, at=from_micros(line.at), level=line.level, text=line.text
        )


def _chunks(logged: Logged, begin: int) -> Iterator[_Row]:
    """The new lines, at most as many as are kept, in chunks."""
    first = max(logged.first, begin)
    lines = [msgspec.json.encode(line) for line in logged.lines[first - logged.first :]]
    too_old = sum(size > _KEPT for size in accumulate(len(line) + 1 for line in reversed(lines)))
    first += too_old
    for chunk in _split(lines[too_old:]):
        yield first, len(chunk), b"[" + b",".join(chunk) + b"]"
        first += len(chunk)


def _split(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        if chunk and size + len(line) > _CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield chunk


def _columns(attempts: Iterable[_AttemptKey]) -> tuple[object, ...]:
    """The attempts as columns."""
    listed = sorted(attempts)
    return (
        [key.tenant_id for key, _ in listed],
        [key.scheduled_for for key, _ in listed],
        [key.job_id for key, _ in listed],
        [attempt for _, attempt in listed],
    )
