"""Reads events that somebody may be told of, and adds them to what waits to be told, in one transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from tickwork.model.notification_message import NotificationItem
from tickwork.store.batch_columns import stored
from tickwork.store.channels_for_notifier import read_told_channels
from tickwork.store.pool import Connection, Database
from tickwork.store.port.notify import (
    DeliveryEnd,
    Entry,
    Fact,
    Flap,
    Gathered,
    IncidentName,
    Subject,
    ToldChannel,
    ToldRule,
    WorkflowEnd,
)
from tickwork.store.query_files import queries

_LOOKED_THROUGH = 50_000  # events of one transaction, of which few may be facts


class _Entry(msgspec.Struct):
    on: list[str] = []
    to: list[str] = []


class _Definition(msgspec.Struct):
    """What of a job's definition is looked at here."""

    notify: list[_Entry] = []


class PostgresGathering:
    def __init__(self, database: Database, connection: Connection, notifier: asyncpg.Record) -> None:
        """`notifier`: its locked row."""
        self._database = database
        self._connection = connection
        self._sql = queries("events_to_notifications")
        self._place: int = notifier["place"]
        self._last: int = notifier["last_number"]
        self.now: datetime = notifier["now"]
        self.installation: str = notifier["installation"]
        self.has_more = False

    async def channels(self) -> list[ToldChannel]:
        return await read_told_channels(self._database)

    async def facts(self, tenants: Collection[int], kinds: Collection[str], limit: int) -> list[Fact]:
        until = min(self._last, self._place + _LOOKED_THROUGH)
        rows = await self._connection.fetch(
            self._sql["facts_after"], self._place, until, list(tenants), list(kinds), limit
        )
        place = rows[-1]["number"] if len(rows) == limit else until
        self.has_more = place < self._last
        if place > self._place:
            await self._connection.execute(self._sql["move_notifier"], place)
        return [_fact(row) for row in rows]

    async def rules(self, tenants: Collection[int]) -> list[ToldRule]:
        rows = await self._connection.fetch(self._sql["told_rules"], list(tenants))
        return [
            ToldRule(
                row["tenant_id"],
                row["name"],
                row["tag"],
                row["queue"],
                frozenset(row["kinds"]),
                row["channels"],
            )
            for row in rows
        ]

    async def entries_of_pings(
        self, pings: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], list[Entry]]:
        columns = [tenant_id for tenant_id, _ in pings], [name for _, name in pings]
        rows = await self._connection.fetch(self._sql["entries_of_pings"], *columns)
        return {(row["tenant_id"], row["name"]): _entries_of_ping(row["notify"]) for row in rows}

    async def entries_of_workflows(self, jobs: Collection[int]) -> Mapping[int, list[Entry]]:
        entries: dict[int, list[Entry]] = {}
        for row in await self._connection.fetch(self._sql["entries_of_workflows"], list(jobs)):
            entries.setdefault(row["first_id"], []).extend(_entries(row["definition"]))
        return entries

    async def gather(self, gathered: Sequence[Gathered]) -> None:
        if not gathered:
            return
        opened = [each for each in gathered if each.incident and each.incident.action == "open"]
        if opened:
            await self._connection.execute(
                self._sql["drop_closings"],
                [each.channel.id for each in opened],
                [each.incident.key for each in opened if each.incident],
            )
        await self._connection.execute(self._sql["gather_notifications"], *_columns(map(_row, gathered)))

    async def flaps(self, jobs: Collection[int]) -> list[Flap]:
        if not jobs:
            return []
        return [_flap(row) for row in await self._connection.fetch(self._sql["flaps"], list(jobs))]

    async def settled_flaps(self, since: datetime) -> list[Flap]:
        return [_flap(row) for row in await self._connection.fetch(self._sql["take_settled_flaps"], since)]

    async def keep_flaps(self, flaps: Sequence[Flap]) -> None:
        if flaps:
            rows = ((*flap[:-1], _encoded(flap.example)) for flap in flaps)
            await self._connection.execute(self._sql["keep_flaps"], *_columns(rows))

    async def note_trouble(self, troubled: Collection[tuple[Subject, str]]) -> None:
        await self._connection.execute(
            self._sql["note_trouble"], *_columns((*subject, cause) for subject, cause in troubled)
        )

    async def end_trouble(self, over: Collection[Subject]) -> list[tuple[Subject, str]]:
        rows = await self._connection.fetch(self._sql["end_trouble"], *_columns(over))
        return [(Subject(row["channel_id"], row["subject"]), row["cause"]) for row in rows]

    async def over_incidents(self, named: Collection[IncidentName]) -> list[IncidentName]:
        rows = await self._connection.fetch(self._sql["over_incidents"], *_columns(named))
        return [IncidentName(row["channel_id"], row["cause"]) for row in rows]

    async def end_deliveries(self, ends: Sequence[DeliveryEnd]) -> None:
        await self._connection.execute(self._sql["end_deliveries"], *_columns(ends))

    async def write_workflow_ends(self, ends: Sequence[WorkflowEnd]) -> None:
        if ends:
            await self._connection.execute(self._sql["write_workflow_ends"], *_columns(ends))


def _columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _fact(row: asyncpg.Record) -> Fact:
    return Fact(
        number=row["number"],
        tenant_id=row["tenant_id"],
        at=row["at"],
        kind=row["kind"],
        job_id=row["job_id"],
        scheduled_for=row["scheduled_for"],
        attempt=row["attempt"],
        error_type=row["error_type"],
        fingerprint=row["fingerprint"],
        detail=_detail(row["detail"]),
        queue=row["queue"],
        task=row["task"],
        job_name=row["job_name"],
        job_key=row["job_key"],
        tags=row["tags"] or (),
        own=_entries(row["definition"]),
        is_recurring=bool(row["is_recurring"]),
        depends=bool(row["depends"]),
        tells_completion=bool(row["tells_completion"]),
    )


def _detail(text: str | None) -> dict[str, Any]:
    return {} if text is None else stored(text.encode(), dict[str, Any]) or {}


def _entries(definition: bytes | None) -> list[Entry]:
    found = stored(definition, _Definition)
    return [Entry(entry.on, entry.to) for entry in found.notify] if found else []


def _entries_of_ping(notify: str | None) -> list[Entry]:
    found = stored(notify.encode() if notify else None, list[_Entry])
    return [Entry(entry.on, entry.to) for entry in found or ()]


def _row(each: Gathered) -> tuple[Any, ...]:
    return (
        each.channel.tenant_id,
        each.channel.id,
        each.channel.name,
        each.cause,
        each.first.kind,
        each.severity,
        each.number,
        _encoded(each.first),
        _encoded(each.last) if each.last else None,
        each.due_at,
        each.incident.key if each.incident else None,
        each.incident.action if each.incident else None,
    )


def _encoded(item: NotificationItem) -> bytes:
    return msgspec.json.encode(item)


def _flap(row: asyncpg.Record) -> Flap:
    example = msgspec.json.decode(row["example"], type=NotificationItem)
    return Flap(
        row["channel_id"],
        row["job_id"],
        row["recoveries"],
        row["changed_at"],
        row["is_failing"],
        row["is_told"],
        example,
    )
