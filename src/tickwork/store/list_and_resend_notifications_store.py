"""What was told to channels, and sending it again."""

import asyncpg
import msgspec

from tickwork.model.errors import Conflict, NotFound
from tickwork.model.field_types import Page
from tickwork.model.notification_delivery_job import SYSTEM_TENANT, resent_delivery
from tickwork.model.notification_message import NotificationItem, NotificationMessage, Severity
from tickwork.model.notification_view import (
    NotificationFilter,
    NotificationStatus,
    NotificationView,
    StoredMessage,
    item_of_all,
)
from tickwork.model.public_ids import notification_id
from tickwork.store.page_cursor import NotificationPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.port.define import JobStore
from tickwork.store.query_files import queries

_LATEST = 2**63 - 1


class PostgresNotificationLogStore:
    def __init__(self, database: Database, jobs: JobStore) -> None:
        """`jobs`: creates the deliveries."""
        self._database = database
        self._jobs = jobs
        self._sql = queries("list_and_resend_notifications")

    async def page(
        self, tenant_id: int, wanted: NotificationFilter, limit: int, cursor: str | None
    ) -> Page[NotificationView]:
        before = decode_cursor(cursor, NotificationPlace).id if cursor else _LATEST
        rows = await self._database.fetch(self._sql["notifications"], tenant_id, before, None, *wanted, limit)
        end = NotificationPlace("notifications", rows[-1]["id"]) if len(rows) == limit else None
        return Page([_view(row) for row in rows], encode_cursor(end))

    async def notification(self, tenant_id: int, notification: int) -> NotificationView:
        row = await self._database.fetchrow(
            self._sql["notifications"], tenant_id, _LATEST, notification, *NotificationFilter(), 1
        )
        if row is None:
            raise NotFound("notification", notification_id(notification))
        return _view(row)

    async def message(self, tenant_id: int, notification: int) -> StoredMessage | None:
        row = await self._database.fetchrow(self._sql["message"], tenant_id, notification)
        if row is None:
            return None
        return StoredMessage(
            msgspec.json.decode(row["content"], type=NotificationMessage),
            row["channel"],
            NotificationStatus(row["status"]),
            row["created_at"],
            row["ended_at"],
            row["job_id"],
            row["scheduled_for"],
        )

    async def resend(self, tenant_id: int, notification: int) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_message"], tenant_id, notification)
            if row is None:
                view = await self.notification(tenant_id, notification)
                raise Conflict(f"it has no message to send again: it is {view.status}")
            if row["status"] == NotificationStatus.SENDING:
                raise Conflict("its message is on its way already")
            if not row["has_channel"]:
                raise Conflict("its channel was deleted")
            delivery = resent_delivery(row["dedupe_id"], row["content"])
            (made,) = await self._jobs.create(SYSTEM_TENANT, [delivery])
            await connection.execute(self._sql["resend_message"], row["id"], made.job, row["job_id"])


def _view(row: asyncpg.Record) -> NotificationView:
    first = msgspec.json.decode(row["first"], type=NotificationItem)
    last = msgspec.json.decode(row["last"], type=NotificationItem) if row["last"] else None
    return NotificationView(
        id=notification_id(row["id"]),
        channel=row["channel"],
        kind=row["kind"],
        severity=Severity(row["severity"]),
        status=NotificationStatus(row["status"]),
        count=row["count"],
        item=item_of_all(first, last, row["count"], Severity(row["severity"])),
        created_at=row["created_at"],
        due_at=row["due_at"],
        message_id=row["dedupe_id"],
        attempts=row["attempts"] or 0,
        ended_at=row["ended_at"],
        error=row["reason"] or row["error"],
    )
