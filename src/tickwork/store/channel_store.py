"""Channels, with their secrets."""

from collections.abc import Callable, Sequence

import asyncpg
import msgspec

from tickwork.model.channel import Channel, ChannelDeliveries, StoredChannel, kind_of
from tickwork.model.channel_secrets import split_fields
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page
from tickwork.model.quantities import parse_duration
from tickwork.store.page_cursor import ChannelPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_LATEST_MESSAGES = 100
_MOST_WAITING = 1_000


class PostgresChannelStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("channel")

    async def list(self, tenant_id: int, limit: int, cursor: str | None) -> Page[StoredChannel]:
        after = decode_cursor(cursor, ChannelPlace).name if cursor else ""
        rows = await self._database.fetch(self._sql["channels"], tenant_id, after, limit)
        end = ChannelPlace("channels", rows[-1]["name"]) if len(rows) == limit else None
        return Page([_stored(row) for row in rows], encode_cursor(end))

    async def get(self, tenant_id: int, name: str) -> StoredChannel:
        row = await self._database.fetchrow(self._sql["channel"], tenant_id, name)
        if row is None:
            raise NotFound("channel", name)
        return _stored(row)

    async def find(self, tenant_id: int, channel_id: int) -> StoredChannel | None:
        row = await self._database.fetchrow(self._sql["channel_by_id"], tenant_id, channel_id)
        return _stored(row) if row else None

    async def deliveries(self, channels: Sequence[int]) -> dict[int, ChannelDeliveries]:
        rows = await self._database.fetch(self._sql["deliveries"], channels, _LATEST_MESSAGES, _MOST_WAITING)
        return {row["id"]: _deliveries(row) for row in rows}

    async def set(
        self, tenant_id: int, name: str, decide: Callable[[Channel | None], Channel]
    ) -> StoredChannel:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_channel"], tenant_id, name)
            channel = decide(_stored(row).channel if row else None)
            settings, secrets = split_fields(channel)
            written = await connection.fetchrow(
                self._sql["set_channel"],
                tenant_id, name, kind_of(channel), _json(settings), msgspec.json.encode(secrets) if secrets else None,
                channel.severity, _json(channel.quiet), channel.digest,
                parse_duration(channel.window).total_seconds(), channel.rate, channel.paused, _json(channel.template),
            )  # fmt: skip
        assert written is not None  # noqa: S101 (an upsert returns its row)
        return _stored(written)

    async def delete(self, tenant_id: int, name: str) -> StoredChannel:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["delete_channel"], tenant_id, name)
        if row is None:
            raise NotFound("channel", name)
        return _stored(row)


def _deliveries(row: asyncpg.Record) -> ChannelDeliveries:
    sent, failed = row["last_sent_at"], row["last_failed_at"]
    failed_last = failed is not None and (sent is None or failed > sent)
    error = row["current_error"] or (row["last_error"] if failed_last else None)
    return ChannelDeliveries(
        is_failing=failed_last or row["current_error"] is not None,
        **{name: row[name] for name in ("sent", "failed", "sending", "waiting", "last_sent_at")},
        error=error,
    )


def _json(value: msgspec.Struct | dict[str, object] | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _stored(row: asyncpg.Record) -> StoredChannel:
    fields = {
        "kind": row["kind"],
        **msgspec.json.decode(row["settings"]),
        **msgspec.json.decode(row["secret"] or b"{}"),
        **{name: row[name] for name in ("severity", "digest", "rate", "paused")},
        **{name: msgspec.json.decode(row[name]) for name in ("quiet", "template") if row[name] is not None},
        "window": row["window_seconds"],
    }
    channel: Channel = msgspec.convert(fields, Channel)
    return StoredChannel(
        row["id"], row["tenant_id"], row["name"], channel, row["created_at"], row["changed_at"]
    )
