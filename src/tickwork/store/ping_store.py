"""Pings: what is expected of them, how things stand, and their runs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

import asyncpg
import msgspec

from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page
from tickwork.model.ping import (
    RECENT_RUNS,
    PingFilter,
    PingRunSummary,
    PingRunView,
    PingSpec,
    PingState,
    PingStatus,
    PingView,
)
from tickwork.store.event_store import write_events
from tickwork.store.page_cursor import PingPlace, PingRunPlace, decode_cursor, encode_cursor
from tickwork.store.ping_rows_to_views import ping_run_view, ping_view, run_summary, statistics_of
from tickwork.store.pool import Connection, Database
from tickwork.store.port.ping import (
    DecideHeard,
    DecideLook,
    LockedPing,
    PastRun,
    PingChange,
    Token,
)
from tickwork.store.port.record import NewEvent
from tickwork.store.query_files import queries, rows_written

_MOST_RUNS = 10_000  # of a ping that are kept
_MOST_LOGS = 200  # of its latest runs
_IN_STATISTICS = 100  # runs
_DELETED_TOGETHER = 10_000
_UNREADABLE_FOR = timedelta(hours=1)  # until a ping that cannot be read is looked at again
_NEWEST = 2**62

Changed: TypeAlias = tuple[LockedPing, PingChange]


class PostgresPingStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("ping")
        self._looking = BadRowIsolation("watch pings")

    async def now(self) -> datetime:
        return await self._database.now()

    async def page(
        self, tenant_id: int, wanted: PingFilter, limit: int, cursor: str | None
    ) -> Page[PingView]:
        after = decode_cursor(cursor, PingPlace).name if cursor else ""
        rows = await self._database.fetch(self._sql["pings"], tenant_id, after, *wanted, limit)
        end = PingPlace("pings", rows[-1]["name"]) if len(rows) == limit else None
        return Page(await self._views(rows), encode_cursor(end))

    async def get(self, tenant_id: int, name: str) -> PingView:
        rows = await self._database.fetch(self._sql["ping"], tenant_id, name)
        if not rows:
            raise NotFound("ping", name)
        (view,) = await self._views(rows)
        latest = await self._database.fetch(self._sql["latest_ping_runs"], rows[0]["id"], _IN_STATISTICS)
        return msgspec.structs.replace(view, log=rows[0]["log"] or None, statistics=statistics_of(latest))

    async def _views(self, rows: Sequence[asyncpg.Record]) -> list[PingView]:
        ids = [row["id"] for row in rows]
        runs: dict[int, list[PingRunSummary]] = {ping: [] for ping in ids}
        for run in await self._database.fetch(self._sql["recent_ping_runs"], ids, RECENT_RUNS):
            runs[run["id"]].append(run_summary(run))
        return [ping_view(row, runs[row["id"]]) for row in rows]

    async def history(self, tenant_id: int, name: str, limit: int, cursor: str | None) -> Page[PingRunView]:
        ping = await self._database.fetchrow(self._sql["find_ping"], tenant_id, name)
        if ping is None:
            raise NotFound("ping", name)
        before = decode_cursor(cursor, PingRunPlace).number if cursor else _NEWEST
        rows = await self._database.fetch(self._sql["ping_history"], ping["id"], before, limit)
        end = PingRunPlace("ping runs", rows[-1]["number"]) if len(rows) == limit else None
        return Page([ping_run_view(row) for row in rows], encode_cursor(end))

    async def create(self, tenant_id: int, name: str, spec: PingSpec, token: Token, new: PingChange) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["create_ping"], tenant_id, name, *_defined(spec), *token, new.check_at, *new.state
            )
        return row is not None

    async def change(self, tenant_id: int, name: str, spec: PingSpec, decide: DecideLook) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_ping"], tenant_id, name)
            if row is None:
                return False
            before = _locked(row)
            await connection.execute(self._sql["define_ping"], before.id, *_defined(spec))
            if (before.timing, before.grace) != (spec.timing, spec.grace):
                ping = before._replace(timing=spec.timing, grace=spec.grace)
                await self._write(connection, [(ping, decide(ping))])
        return True

    async def set_token(self, tenant_id: int, name: str, token: Token) -> bool:
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["set_ping_token"], tenant_id, name, *token)
        return bool(rows_written(answer))

    async def delete(self, tenant_id: int, name: str) -> bool:
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["delete_ping"], tenant_id, name)
        return bool(rows_written(answer))

    async def hear(self, tenant_id: int, name: str, decide: DecideHeard) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_ping"], tenant_id, name)
            return await self._hear(connection, row, decide)

    async def hear_by_token(self, digest: bytes, decide: DecideHeard) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_ping_by_token"], digest)
            return await self._hear(connection, row, decide)

    async def _hear(self, connection: Connection, row: asyncpg.Record | None, decide: DecideHeard) -> bool:
        if row is None:
            return False
        ping = _locked(row)
        past = await connection.fetch(self._sql["past_ping_successes"], ping.id, RECENT_RUNS)
        change = decide(ping, [PastRun(*run) for run in past])
        await self._write(connection, [(ping, change)])
        return True

    async def look(self, limit: int, decide: DecideLook) -> int:
        (row,) = await self._database.fetch(self._sql["is_any_ping_to_check"])
        if not row["is_any"]:
            return 0
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_pings_to_check"], limit)
            await self._looking.run_batch(rows, partial(self._look_at, decide), self._put_off)
        return len(rows)

    async def change_all(self, after: int, limit: int, decide: DecideLook) -> int | None:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_pings_after"], after, limit)
            await self._looking.run_batch(rows, partial(self._look_at, decide), self._put_off)
        return rows[-1]["id"] if rows else None

    async def _look_at(self, decide: DecideLook, rows: Sequence[asyncpg.Record]) -> None:
        async with self._database.transaction() as connection:
            await self._write(connection, [(ping, decide(ping)) for ping in map(_locked, rows)])

    async def _put_off(self, row: asyncpg.Record, _: Exception) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["put_off_ping"], row["id"], _UNREADABLE_FOR)

    async def delete_old_runs(self, older_than: timedelta) -> bool:
        async with self._database.transaction() as connection:
            answer = await connection.execute(
                self._sql["delete_old_ping_runs"], older_than, _DELETED_TOGETHER
            )
        return rows_written(answer) == _DELETED_TOGETHER

    async def _write(self, connection: Connection, changes: Sequence[Changed]) -> None:
        if not changes:
            return
        states = [(ping.id, change.check_at, len(change.runs), *change.state) for ping, change in changes]
        written = await connection.fetch(self._sql["write_ping_states"], *_columns(states))
        last = {row["id"]: row["last_run"] for row in written}
        runs = [
            (ping.id, number, *run)
            for ping, change in changes
            for number, run in enumerate(change.runs, start=last[ping.id] - len(change.runs) + 1)
        ]
        if runs:
            await connection.execute(self._sql["add_ping_runs"], *_columns(runs), _MOST_RUNS, _MOST_LOGS)
        await write_events(connection, [event for changed in changes for event in _new_events(*changed)])


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _new_events(ping: LockedPing, change: PingChange) -> list[NewEvent]:
    return [
        NewEvent(ping.tenant_id, kind, detail=_detail_text({"ping": ping.name, **detail}))
        for kind, detail in change.events
    ]


def _detail_text(detail: dict[str, object]) -> str:
    return msgspec.json.encode({name: value for name, value in detail.items() if value is not None}).decode()


def _defined(spec: PingSpec) -> tuple[bytes, str, timedelta, str]:
    return spec.definition, spec.timing, spec.grace, spec.notify.decode()


def _locked(row: asyncpg.Record) -> LockedPing:
    number, tenant_id, name, timing, grace, now, status, *rest = row
    return LockedPing(number, tenant_id, name, timing, grace, now, PingState(PingStatus(status), *rest))
