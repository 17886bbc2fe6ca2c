"""What a node does with channels: define and test them, and look them up for deliveries."""

from collections.abc import Callable

from tickwork.builtin_worker import SecretCache, SecretStore
from tickwork.config import Settings
from tickwork.define.channels import Channels
from tickwork.define.check_channel import ChannelSupport
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.execute.runners.notify.apprise_sender import is_apprise_installed
from tickwork.execute.runners.notify.channel_sender import ChannelSender, MailRelay
from tickwork.execute.runners.notify.channel_test_and_preview import ChannelTests
from tickwork.execute.runners.notify.notification_runner import NotificationRunner
from tickwork.model.public_ids import from_micros
from tickwork.model.smtp_server import parse_smtp_url
from tickwork.store.channel_store import PostgresChannelStore
from tickwork.store.pool import Database


class NodeChannels:
    """`now`: microseconds by the database's clock."""

    def __init__(
        self, settings: Settings, database: Database, secrets: SecretStore, now: Callable[[], int]
    ) -> None:
        store = PostgresChannelStore(database)
        relay = _mail_relay(settings)
        self._find = store.find
        self._sender = ChannelSender(
            AddressPolicy.of(settings.http_allow, loopback=settings.http_allow_loopback),
            SecretCache(secrets).of,
            relay,
            settings.public_url,
        )
        tests = ChannelTests(self._sender, lambda: from_micros(now()))
        self.service = Channels(
            store,
            ChannelSupport(mail_relay=relay is not None, apprise=is_apprise_installed()),
            tests.send if settings.http else None,
            tests.preview,
        )

    def runner(self, breakers: Breakers) -> NotificationRunner:
        """Runs deliveries."""
        return NotificationRunner(self._find, self._sender, breakers.admit, breakers.report_call)

    async def close(self) -> None:
        await self._sender.close()


def _mail_relay(settings: Settings) -> MailRelay | None:
    if settings.smtp_url is None or settings.smtp_from is None:
        return None
    return MailRelay(parse_smtp_url(settings.smtp_url), settings.smtp_from)
