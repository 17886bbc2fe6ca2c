"""What was told to channels, and telling it again."""

import builtins
from collections.abc import Awaitable, Callable

from tickwork.model.channel import ChannelError, ChannelPreview
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.execution import AttemptView
from tickwork.model.field_types import Page
from tickwork.model.notification_delivery_job import SYSTEM_TENANT
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.notification_view import (
    DeliveryAttempt,
    MessageView,
    NotificationFilter,
    NotificationView,
    StoredMessage,
)
from tickwork.store.port.notify import NotificationLogStore
from tickwork.store.port.read_jobs_executions_workers import ReadStore

ContentOf = Callable[[int, NotificationMessage], Awaitable[ChannelPreview | None]]


class NotificationLog:
    def __init__(self, store: NotificationLogStore, read: ReadStore, publish: Publish) -> None:
        self._store = store
        self._read = read
        self._publish = publish

    async def list(
        self, tenant_id: int, wanted: NotificationFilter, limit: int, cursor: str | None
    ) -> Page[NotificationView]:
        return await self._store.page(tenant_id, wanted, limit, cursor)

    async def get(self, tenant_id: int, notification: int) -> NotificationView:
        return await self._store.notification(tenant_id, notification)

    async def message(self, tenant_id: int, notification: int, content_of: ContentOf) -> MessageView:
        """The message that tells it. `content_of`: what the channel sends."""
        stored = await self._store.message(tenant_id, notification)
        if stored is None:
            view = await self.get(tenant_id, notification)
            raise Conflict(f"it has no message yet: it is {view.status}")
        attempts, answer = await self._delivery(stored)
        return MessageView(
            id=stored.message.id,
            channel=stored.channel,
            status=stored.status,
            created_at=stored.created_at,
            ended_at=stored.ended_at,
            items=stored.message.items,
            attempts=[_attempt(each) for each in attempts],
            answer=answer,
            content=await content_of(tenant_id, stored.message),
        )

    async def resend(self, tenant_id: int, notification: int) -> NotificationView:
        """Deliver its message again, with the same dedupe id."""
        await self._store.resend(tenant_id, notification)
        self._publish(WorkArrived(SYSTEM_TENANT))
        return await self.get(tenant_id, notification)

    async def _delivery(self, stored: StoredMessage) -> tuple[builtins.list[AttemptView], object]:
        """The attempts, and what the receiver answered. Nothing, once the history of the delivery is deleted."""
        if stored.scheduled_for is None:
            return [], None
        try:
            execution = await self._read.execution(SYSTEM_TENANT, stored.job, stored.scheduled_for)
            attempts = await self._read.attempts(SYSTEM_TENANT, stored.job, stored.scheduled_for)
        except NotFound:
            return [], None
        return attempts, execution.result


def _attempt(attempt: AttemptView) -> DeliveryAttempt:
    error = attempt.error
    return DeliveryAttempt(
        attempt=attempt.attempt,
        outcome=attempt.outcome,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        error=ChannelError(error.type, error.message) if error else None,
    )
