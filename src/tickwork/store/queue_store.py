"""Queues as users see and set them: the SQL behind."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import NotFound, QueueFull
from tickwork.model.field_types import Page
from tickwork.model.job import PRIORITIES
from tickwork.model.queue import DEPTH_LIMIT, QueueSettings, QueueView
from tickwork.store.page_cursor import QueuePlace, decode_cursor, encode_cursor
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import QueueLoad
from tickwork.store.query_files import queries

_COUNTED = 100_000  # of all queues that are looked at together
_LEAST_COUNTED = 1_000  # of each


class _Line(NamedTuple):
    queue: str
    lane: int
    priority: int
    waited: float  # seconds, the oldest


class _Backlog(NamedTuple):
    depths: Sequence[int]  # by priority
    most: int  # more than that are not counted
    oldest_age: float


_EMPTY = _Backlog([0] * len(PRIORITIES), DEPTH_LIMIT, 0.0)


class PostgresQueueStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("queue")

    async def queues(self, tenant_id: int, limit: int, cursor: str | None) -> Page[QueueView]:
        after = decode_cursor(cursor, QueuePlace).name if cursor else ""
        rows = await self._database.fetch(self._sql["queue_names"], tenant_id, after, limit)
        names = [row["name"] for row in rows]
        end = QueuePlace("queues", names[-1]) if len(names) == limit else None
        return Page(await self._views(tenant_id, names), encode_cursor(end))

    async def queue(self, tenant_id: int, name: str) -> QueueView:
        (row,) = await self._database.fetch(self._sql["is_queue"], tenant_id, name)
        if not row["known"]:
            raise NotFound("queue", name)
        return await self._view(tenant_id, name)

    async def set(self, tenant_id: int, name: str, settings: QueueSettings) -> QueueView:
        rate = settings.parsed_rate()
        async with self._database.transaction() as connection:
            gate = await connection.fetchval(
                self._sql["set_queue"],
                tenant_id, name, settings.max_running, settings.rate, settings.max_backlog, rate.per if rate else None,
            )  # fmt: skip
            await connection.execute(self._sql["drop_slots"], gate)
            if settings.max_running is not None:
                await connection.execute(self._sql["count_running"], gate, tenant_id, name)
            await connection.execute(self._sql["forget_queue"], tenant_id, name)
        return await self._view(tenant_id, name)

    async def pause(self, tenant_id: int, name: str) -> QueueView:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["pause_queue"], tenant_id, name)
        return await self._view(tenant_id, name)

    async def resume(self, tenant_id: int, name: str) -> QueueView:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["resume_queue"], tenant_id, name)
            await connection.execute(self._sql["forget_queue"], tenant_id, name)
        return await self._view(tenant_id, name)

    async def loads(self, most: int) -> list[QueueLoad]:
        rows = await self._database.fetch(queries("dispatch")["waiting_lanes"], timedelta(0))
        lanes = await self._database.fetch(self._sql["queues_of_lanes"], [row["lane_id"] for row in rows])
        queue_of = {lane["id"]: lane["queue"] for lane in lanes}
        measured = {*sorted({*queue_of.values()})[:most]}
        lines = [_Line(queue_of[lane], lane, priority, waited) for lane, priority, waited in rows]
        backlogs = await self._backlogs([line for line in lines if line.queue in measured])
        return [
            QueueLoad(name, sum(backlog.depths), backlog.oldest_age) for name, backlog in backlogs.items()
        ]

    async def _view(self, tenant_id: int, name: str) -> QueueView:
        (view,) = await self._views(tenant_id, [name])
        return view

    async def _views(self, tenant_id: int, names: Sequence[str]) -> list[QueueView]:
        settings = await self._database.fetch(self._sql["queue_settings"], tenant_id, names)
        running = await self._database.fetch(self._sql["running_by_queue"], tenant_id, names)
        lines = await self._database.fetch(self._sql["queue_backlogs"], tenant_id, names)
        backlogs = await self._backlogs([_Line(*line) for line in lines])
        gates = {row["name"]: row for row in settings}
        counts = {row["name"]: row["running"] for row in running}
        return [
            _view(name, gates.get(name), backlogs.get(name, _EMPTY), counts.get(name, 0)) for name in names
        ]

    async def _backlogs(self, lines: Sequence[_Line]) -> dict[str, _Backlog]:
        ages: dict[str, float] = {}
        for line in lines:
            ages[line.queue] = max(line.waited, ages.get(line.queue, 0.0))
        most = min(max(_COUNTED // max(len(ages), 1), _LEAST_COUNTED), DEPTH_LIMIT)
        rows = await self._database.fetch(
            self._sql["queue_depths"],
            [line.queue for line in lines],
            [line.lane for line in lines],
            [line.priority for line in lines],
            most + 1,
        )
        return {row["name"]: _Backlog(row["depths"], most, ages[row["name"]]) for row in rows}


async def refuse_if_full(connection: Connection, lanes: Sequence[int]) -> None:
    """QueueFull when some queue has no room for what is to wait in it from now on, given the lane of each. Others may
    come at the same moment, so that a queue may hold a few more."""
    for row in await connection.fetch(queries("queue")["backlogs"], lanes, timedelta(0)):
        if row["depth"] + row["coming"] > row["max_backlog"]:
            raise QueueFull(_full(row))


def _full(row: asyncpg.Record) -> str:
    most = row["max_backlog"]
    if row["coming"] > 1:
        return (
            f"queue {row['queue']} may hold {most:,} executions that wait; "
            f"{row['depth']:,} do, and {row['coming']:,} more do not fit"
        )
    return f"queue {row['queue']} is full: {row['depth']:,} executions wait in it, and {most:,} may"


def _view(name: str, gate: asyncpg.Record | None, backlog: _Backlog, running: int) -> QueueView:
    depth = sum(backlog.depths)
    return QueueView(
        name=name,
        paused=gate is not None and gate["paused"],
        max_running=gate["max_running"] if gate else None,
        rate=gate["rate"] if gate else None,
        max_backlog=gate["max_backlog"] if gate else None,
        depth=min(depth, backlog.most),
        depth_is_exact=depth <= backlog.most,
        depth_by_priority=dict(zip(PRIORITIES, backlog.depths, strict=True)),
        running=running,
        oldest_age=backlog.oldest_age if depth else None,
    )
