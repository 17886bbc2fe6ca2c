"""Channels, as far as they decide what is told and when."""

from collections.abc import Collection
from datetime import timedelta

import asyncpg

from tickwork.model.channel import QuietHours
from tickwork.model.notification_message import Severity
from tickwork.store.batch_columns import stored
from tickwork.store.pool import Database
from tickwork.store.port.notify import ToldChannel
from tickwork.store.query_files import queries


async def read_told_channels(
    database: Database, tenant_id: int | None = None, ids: Collection[int] | None = None
) -> list[ToldChannel]:
    """All, those of a tenant, or some by id."""
    sql = queries("channels_for_notifier")["told_channels"]
    rows = await database.fetch(sql, tenant_id, None if ids is None else list(ids))
    return [_told_channel(row) for row in rows]


def _told_channel(row: asyncpg.Record) -> ToldChannel:
    return ToldChannel(
        row["id"],
        row["tenant_id"],
        row["name"],
        row["kind"],
        Severity(row["severity"]),
        stored(row["quiet"].encode(), QuietHours) if row["quiet"] else None,
        row["digest"],
        timedelta(seconds=row["window_seconds"]),
        row["rate"],
        row["paused"],
    )
