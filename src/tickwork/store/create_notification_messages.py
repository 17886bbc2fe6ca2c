"""Makes messages of what is due, with their deliveries, in one transaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg
import msgspec

from tickwork.model.notification_delivery_job import SYSTEM_TENANT, delivery_of
from tickwork.model.notification_message import Incident, NotificationItem, NotificationMessage, Severity
from tickwork.model.notification_rule import is_severe
from tickwork.store.channels_for_notifier import read_told_channels
from tickwork.store.pool import Connection, Database
from tickwork.store.port.define import JobStore
from tickwork.store.port.notify import DueChannel, DueNotification, ToldChannel
from tickwork.store.query_files import queries

_LONGEST_WINDOW = timedelta(hours=1)


class PostgresSending:
    def __init__(self, database: Database, connection: Connection, jobs: JobStore, now: datetime) -> None:
        self._database = database
        self._connection = connection
        self._jobs = jobs
        self._sql = queries("create_notification_messages")
        self.now = now

    async def due_channels(self) -> list[DueChannel]:
        await self._connection.execute(self._sql["give_up_orphans"])
        rows = await self._connection.fetch(self._sql["due_channels"])
        sent_lately = {row["id"]: row["sent_lately"] for row in rows}
        channels = await read_told_channels(self._database, ids=sent_lately) if rows else []
        return [DueChannel(channel, sent_lately[channel.id]) for channel in channels]

    async def due(self, channel: ToldChannel, least: Severity, limit: int) -> list[DueNotification]:
        severities = [severity for severity in Severity if is_severe(severity, least)]
        rows = await self._connection.fetch(self._sql["due_notifications"], channel.id, severities, limit)
        return [_due(row) for row in rows]

    async def send(
        self, channel: ToldChannel, message: NotificationMessage, told: Sequence[DueNotification]
    ) -> None:
        async with self._database.transaction() as connection:
            delivery = delivery_of(message)
            (made,) = await self._jobs.create(SYSTEM_TENANT, [delivery])
            number = await connection.fetchval(
                self._sql["create_message"],
                message.id,
                channel.tenant_id,
                channel.id,
                made.job,
                delivery.payload,
            )
            ids = [each.id for each in told]
            closes = message.incident is not None and message.incident.action == "close"
            key = message.incident.key if closes and message.incident else None
            await connection.execute(self._sql["tell_notifications"], ids, number, channel.id, key)
            if channel.window and channel.digest == "immediately" and not closes:
                window = channel.window
                await connection.execute(self._sql["open_windows"], channel.id, ids, window, _LONGEST_WINDOW)

    async def give_up(self, channel: ToldChannel, reason: str) -> None:
        await self._connection.execute(self._sql["give_up_due"], channel.id, reason)


def _due(row: asyncpg.Record) -> DueNotification:
    key = row["incident_key"]
    return DueNotification(
        row["id"],
        row["cause"],
        Severity(row["severity"]),
        row["count"],
        msgspec.json.decode(row["first"], type=NotificationItem),
        msgspec.json.decode(row["last"], type=NotificationItem) if row["last"] else None,
        Incident(key=key, action=row["incident_action"]) if key else None,
    )
