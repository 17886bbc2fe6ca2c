"""What was told to channels, and telling it again."""

from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.field_types import Page
from tickwork.model.notification_delivery_job import SYSTEM_TENANT
from tickwork.model.notification_view import NotificationFilter, NotificationView
from tickwork.store.port.notify import NotificationLogStore


class NotificationLog:
    def __init__(self, store: NotificationLogStore, publish: Publish) -> None:
        self._store = store
        self._publish = publish

    async def list(
        self, tenant_id: int, wanted: NotificationFilter, limit: int, cursor: str | None
    ) -> Page[NotificationView]:
        return await self._store.page(tenant_id, wanted, limit, cursor)

    async def get(self, tenant_id: int, notification: int) -> NotificationView:
        return await self._store.notification(tenant_id, notification)

    async def resend(self, tenant_id: int, notification: int) -> NotificationView:
        """Deliver its message again, with the same dedupe id."""
        await self._store.resend(tenant_id, notification)
        self._publish(WorkArrived(SYSTEM_TENANT))
        return await self.get(tenant_id, notification)
