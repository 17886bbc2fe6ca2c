"""Tests and previews of channels: a message that nobody's job caused."""

from collections.abc import Callable
from datetime import datetime, timedelta
from email.message import EmailMessage
from secrets import token_hex
from time import monotonic
from typing import Any

import msgspec

from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.notify.channel_sender import LONGEST_SEND, ChannelSender, service_request
from tickwork.execute.runners.notify.email_message import email_message
from tickwork.execute.runners.notify.render_message import Rendered
from tickwork.execute.runners.notify.webhook_request import webhook_body
from tickwork.model.channel import (
    AppriseChannel,
    ChannelError,
    ChannelPreview,
    ChannelTest,
    EmailChannel,
    StoredChannel,
    WebhookChannel,
)
from tickwork.model.notification_message import (
    NotificationItem,
    NotificationMessage,
    NotifiedExecution,
    NotifiedJob,
    Severity,
)

Now = Callable[[], datetime]
_NOT_SHOWN = ("MIME-Version", "Content-Type")  # headers of a mail


class ChannelTests:
    def __init__(self, sender: ChannelSender, now: Now) -> None:
        self._sender = sender
        self._now = now

    async def send(self, stored: StoredChannel) -> ChannelTest:
        """Send a test message at once, and say what became of it. It has a text of its own: a template that does not
        say that this is a test could alarm people."""
        stored = stored._replace(channel=msgspec.structs.replace(stored.channel, template=None))
        item = NotificationItem(
            kind="channel.tested",
            severity=Severity.INFO,
            title=f"This is a test of the channel {stored.name}",
            at=self._now(),
            path=f"/channels/{stored.name}",
        )
        began = monotonic()
        try:
            answer = await self._sender.send(stored, _message(stored, item, is_test=True), LONGEST_SEND)
        except AttemptFailed as failed:
            error = ChannelError(failed.failure.type, failed.failure.message)
        except AttemptPostponed as postponed:
            error = ChannelError(postponed.reason.type, postponed.reason.message)
        else:
            return ChannelTest(delivered=True, took=monotonic() - began, answer=msgspec.json.decode(answer))
        return ChannelTest(delivered=False, took=monotonic() - began, error=error)

    def preview(self, stored: StoredChannel, message: NotificationMessage | None = None) -> ChannelPreview:
        """What the channel sends to tell a message, by default one about an execution that failed. `stored`: without
        secrets."""
        message = message or _message(stored, _sample_item(self._now()), is_test=False)
        rendered = self._sender.render(stored, message)
        return ChannelPreview(
            title=rendered.title, body=rendered.text, sent=self._content(stored, message, rendered)
        )

    def _content(self, stored: StoredChannel, message: NotificationMessage, rendered: Rendered) -> Any:
        match stored.channel:
            case EmailChannel() as channel:
                relay = self._sender.mail_server(channel)
                sender = relay.sender if relay else "tickwork@example.com"
                mail = email_message(channel, stored.name, message, rendered, sender, self._sender.public_url)
                return _mail_fields(mail)
            case AppriseChannel():
                return {"title": rendered.title, "body": rendered.text}
            case WebhookChannel() as channel:
                return webhook_body(channel, message, rendered)
        return msgspec.json.decode(service_request(stored, message, rendered).body)


def _message(stored: StoredChannel, item: NotificationItem, *, is_test: bool) -> NotificationMessage:
    return NotificationMessage(
        id=f"test-{token_hex(12)}",
        tenant_id=stored.tenant_id,
        channel_id=stored.id,
        at=item.at,
        items=[item],
        is_test=is_test,
    )


def _sample_item(now: datetime) -> NotificationItem:
    job = NotifiedJob(
        id="j1",
        name="weekly report",
        key="weekly-report",
        task="reports.weekly",
        queue="default",
        tags=["billing"],
    )
    failed = NotifiedExecution(
        id="e1-1k0aw5t6re1",
        scheduled_for=now - timedelta(minutes=1),
        attempt=4,
        error_type="FileNotFoundError",
        error_message="there is no report.csv",
    )
    return NotificationItem(
        kind="execution.failed",
        severity=Severity.ERROR,
        title="weekly report failed",
        at=now,
        job=job,
        execution=failed,
        path=f"/executions/{failed.id}",
    )


def _mail_fields(mail: EmailMessage) -> dict[str, str]:
    text, html = (mail.get_body([kind]) for kind in ("plain", "html"))
    return {
        **{name: str(value) for name, value in mail.items() if name not in _NOT_SHOWN},
        "text": text.get_content() if text else "",
        "html": html.get_content() if html else "",
    }
