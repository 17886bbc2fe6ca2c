"""Channels as users see, define, test and preview them. Secrets leave the service only as marks."""

from collections import Counter
from collections.abc import Awaitable, Callable
from time import monotonic

import msgspec
import structlog

from tickwork.define.check_channel import ChannelSupport, channel_errors, with_zone_name
from tickwork.model.channel import (
    CHANNEL_NAME,
    RULES,
    Channel,
    ChannelDeliveries,
    ChannelName,
    ChannelPreview,
    ChannelTest,
    ChannelView,
    MessageTemplate,
    SmtpServerView,
    StoredChannel,
    kind_of,
)
from tickwork.model.channel_secrets import keep_secrets, redacted
from tickwork.model.errors import Conflict, Invalid, NotFound
from tickwork.model.explain_type_errors import raise_if_any
from tickwork.model.field_types import Page
from tickwork.model.message_template import template_errors
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.quantities import parse_duration
from tickwork.store.port.define import ChannelStore

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

_MOST_TESTS = 20  # of a tenant, on one server
_TEST_PERIOD = 60.0  # seconds

SendTest = Callable[[StoredChannel], Awaitable[ChannelTest]]
Preview = Callable[[StoredChannel, NotificationMessage | None], ChannelPreview]  # None: of a sample


class Channels:
    def __init__(
        self, store: ChannelStore, support: ChannelSupport, send_test: SendTest | None, preview: Preview
    ) -> None:
        """`send_test`: None if this server makes no calls."""
        self._store = store
        self._support = support
        self._send_test = send_test
        self._preview = preview
        self._test_limit = _TestLimit()

    async def list(self, tenant_id: int, limit: int, cursor: str | None = None) -> Page[ChannelView]:
        page = await self._store.list(tenant_id, limit, cursor)
        deliveries = await self._store.deliveries([stored.id for stored in page.items])
        return Page([_view(stored, deliveries[stored.id]) for stored in page.items], page.next_cursor)

    async def get(self, tenant_id: int, name: str) -> ChannelView:
        return await self._view(await self._find(tenant_id, name))

    async def set(self, tenant_id: int, name: str, channel: Channel) -> ChannelView:
        """Create or replace a channel. A mark keeps the stored secret, for the same destination."""
        if not _is_name(name):
            raise Invalid.field("name", f"{name[:80]!r} is not the name of a channel", CHANNEL_NAME)
        raise_if_any(channel_errors(channel, self._support))
        channel = with_zone_name(channel)
        stored = await self._store.set(tenant_id, name, lambda before: keep_secrets(channel, before))
        _log.info("channel set", channel=name, kind=kind_of(channel), tenant_id=tenant_id)
        return await self._view(stored)

    async def delete(self, tenant_id: int, name: str) -> ChannelView:
        await self._find(tenant_id, name)
        deleted = await self._store.delete(tenant_id, name)
        _log.info("channel deleted", channel=name, tenant_id=tenant_id)
        return await self._view(deleted)

    async def test(self, tenant_id: int, name: str) -> ChannelTest:
        """Send a test message at once, whatever the channel's rules."""
        stored = await self._find(tenant_id, name)
        if self._send_test is None:
            raise Conflict("this server makes no calls, because it runs with --no-http: ask another one")
        self._test_limit.count(tenant_id)
        return await self._send_test(stored)

    async def preview(self, tenant_id: int, name: str, template: MessageTemplate | None) -> ChannelPreview:
        """A sample message as the channel would send it, by its own template or by this one."""
        stored = await self._find(tenant_id, name)
        if template:
            raise_if_any(template_errors(template))
            stored = stored._replace(channel=msgspec.structs.replace(stored.channel, template=template))
        return self._preview(stored._replace(channel=redacted(stored.channel)), None)

    async def content_of(self, tenant_id: int, message: NotificationMessage) -> ChannelPreview | None:
        """A message as its channel sends it now, without secrets. None if the channel is gone."""
        stored = await self._store.find(tenant_id, message.channel_id)
        return self._preview(stored._replace(channel=redacted(stored.channel)), message) if stored else None

    async def _view(self, stored: StoredChannel) -> ChannelView:
        return _view(stored, (await self._store.deliveries([stored.id]))[stored.id])

    async def _find(self, tenant_id: int, name: str) -> StoredChannel:
        if not _is_name(name):
            raise NotFound("channel", name)
        return await self._store.get(tenant_id, name)


class _TestLimit:
    """Keeps a tenant from sending mails to strangers by test after test: they pass by the rate of the channel."""

    def __init__(self) -> None:
        self._counted_until = 0.0
        self._counts: Counter[int] = Counter()

    def count(self, tenant_id: int) -> None:
        """Raises Conflict if there were too many."""
        now = monotonic()
        if now >= self._counted_until:
            self._counted_until = now + _TEST_PERIOD
            self._counts.clear()
        self._counts[tenant_id] += 1
        if self._counts[tenant_id] > _MOST_TESTS:
            raise Conflict(f"{_MOST_TESTS} tests were sent within a minute: wait a little")


def _is_name(name: str) -> bool:
    try:
        msgspec.convert(name, ChannelName)
    except msgspec.ValidationError:
        return False
    return name.isprintable()  # a pattern lets a line feed at the end pass


def _view(stored: StoredChannel, deliveries: ChannelDeliveries) -> ChannelView:
    channel = redacted(stored.channel)
    fields = {name: getattr(channel, name) for name in channel.__struct_fields__ if name not in RULES}
    if smtp := fields.pop("smtp", None):
        fields["smtp"] = SmtpServerView(**msgspec.structs.asdict(smtp))
    return ChannelView(
        name=stored.name,
        kind=kind_of(channel),
        **fields,
        **{name: getattr(channel, name) for name in RULES if name != "window"},
        window=parse_duration(channel.window).total_seconds(),
        deliveries=deliveries,
        created_at=stored.created_at,
        changed_at=stored.changed_at,
    )
