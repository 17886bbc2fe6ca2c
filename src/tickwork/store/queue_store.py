"""Queues: their settings, their backlogs, and whether they are full."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import NotFound, QueueFull
from tickwork.model.field_types import Page
from tickwork.model.job import PRIORITIES, Priority
from tickwork.model.queue import DEPTH_LIMIT, QueueSettings, QueueView
from tickwork.store.page_cursor import QueuePlace, decode_cursor, encode_cursor
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import QueueLoad
from tickwork.store.query_files import queries
from tickwork.store.retention_store import NOTHING_SAID, retention_view, set_default_retention

_COUNTED = 100_000  # executions of all queues in one request
_LEAST_COUNTED = 1_000  # executions of each queue


class _LaneBacklog(NamedTuple):
    queue: str
    lane: int
    priority: int
    waited: float  # seconds for which the oldest execution has been ready


class _QueueBacklog(NamedTuple):
    depths: Sequence[int]  # by priority
    most: int  # the count stops here
    oldest_age: float


_EMPTY = _QueueBacklog([0] * len(PRIORITIES), DEPTH_LIMIT, 0.0)


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
            limiter = await connection.fetchval(
                self._sql["set_queue"],
                tenant_id, name, settings.max_running, settings.rate, settings.max_backlog, rate.per if rate else None,
                settings.max_workers,
            )  # fmt: skip
            await self._set_priority(connection, tenant_id, name, settings.priority)
            kept = settings.retention.view() if settings.retention else NOTHING_SAID
            await set_default_retention(connection, tenant_id, name, kept)
            await connection.execute(self._sql["drop_slots"], limiter)
            if settings.max_running is not None or settings.max_workers is not None:
                await connection.execute(self._sql["count_running"], limiter, tenant_id, name)
            await connection.execute(self._sql["forget_queue"], tenant_id, name)
        return await self._view(tenant_id, name)

    async def _set_priority(
        self, connection: Connection, tenant_id: int, name: str, priority: Priority
    ) -> None:
        if priority == "normal":
            await connection.execute(self._sql["drop_queue_priority"], tenant_id, name)
        else:
            number = PRIORITIES.index(priority)
            await connection.execute(self._sql["set_queue_priority"], tenant_id, name, number)

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
        waiting = [_LaneBacklog(queue_of[lane], lane, priority, waited) for lane, priority, waited in rows]
        backlogs = await self._backlogs([each for each in waiting if each.queue in measured])
        return [
            QueueLoad(name, sum(backlog.depths), backlog.oldest_age) for name, backlog in backlogs.items()
        ]

    async def _view(self, tenant_id: int, name: str) -> QueueView:
        (view,) = await self._views(tenant_id, [name])
        return view

    async def _views(self, tenant_id: int, names: Sequence[str]) -> list[QueueView]:
        settings = await self._database.fetch(self._sql["queue_settings"], tenant_id, names)
        running = await self._database.fetch(self._sql["running_by_queue"], tenant_id, names)
        waiting = await self._database.fetch(self._sql["queue_backlogs"], tenant_id, names)
        backlogs = await self._backlogs([_LaneBacklog(*row) for row in waiting])
        settings_of = {row["name"]: row for row in settings}
        counts = {row["name"]: row["running"] for row in running}
        return [
            _view(name, settings_of[name], backlogs.get(name, _EMPTY), counts.get(name, 0)) for name in names
        ]

    async def _backlogs(self, waiting: Sequence[_LaneBacklog]) -> dict[str, _QueueBacklog]:
        ages: dict[str, float] = {}
        for each in waiting:
            ages[each.queue] = max(each.waited, ages.get(each.queue, 0.0))
        most = min(max(_COUNTED // max(len(ages), 1), _LEAST_COUNTED), DEPTH_LIMIT)
        rows = await self._database.fetch(
            self._sql["queue_depths"],
            [each.queue for each in waiting],
            [each.lane for each in waiting],
            [each.priority for each in waiting],
            most + 1,
        )
        return {row["name"]: _QueueBacklog(row["depths"], most, ages[row["name"]]) for row in rows}


async def refuse_if_full(connection: Connection, lanes: Sequence[int]) -> None:
    """QueueFull when a queue has no capacity for new executions, given the lane of each. Concurrent requests are not
    counted, so a few more than the limit may wait."""
    for row in await connection.fetch(queries("queue")["backlogs"], lanes, timedelta(0)):
        if row["depth"] + row["coming"] > row["max_backlog"]:
            raise QueueFull(_full(row), fits_later=row["coming"] <= row["max_backlog"])


def _full(row: asyncpg.Record) -> str:
    most = row["max_backlog"]
    if row["coming"] > 1:
        return (
            f"queue {row['queue']} may hold {most:,} executions that wait; "
            f"{row['depth']:,} do, and {row['coming']:,} more do not fit"
        )
    return f"queue {row['queue']} is full: {row['depth']:,} executions wait in it, and {most:,} may"


def _view(name: str, settings: asyncpg.Record, backlog: _QueueBacklog, running: int) -> QueueView:
    depth, retention = sum(backlog.depths), retention_view(settings)
    return QueueView(
        name=name,
        paused=settings["paused"],
        max_running=settings["max_running"],
        rate=settings["rate"],
        max_backlog=settings["max_backlog"],
        max_workers=settings["max_workers"],
        priority=PRIORITIES[settings["priority"]],
        retention=None if retention == NOTHING_SAID else retention,
        depth=min(depth, backlog.most),
        depth_is_exact=depth <= backlog.most,
        depth_by_priority=dict(zip(PRIORITIES, backlog.depths, strict=True)),
        running=running,
        oldest_age=backlog.oldest_age if depth else None,
    )
