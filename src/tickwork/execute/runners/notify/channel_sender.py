"""Sends a message to a channel, whatever its kind, and says what the receiver answered."""

import asyncio
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from random import uniform
from traceback import format_exception
from typing import NamedTuple

import msgspec
import structlog
from yarl import URL

from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.destination_limit import DestinationFull, DestinationLimits
from tickwork.execute.runners.http.guarded_session import GuardedSession, HttpLimits, address_denied
from tickwork.execute.runners.http.http_runner import SecretsOf
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy
from tickwork.execute.runners.notify.apprise_sender import AppriseSender
from tickwork.execute.runners.notify.channel_http_request_type import ChannelRequest
from tickwork.execute.runners.notify.channel_metrics import measured_message
from tickwork.execute.runners.notify.email_message import email_message
from tickwork.execute.runners.notify.opsgenie_request import opsgenie_request
from tickwork.execute.runners.notify.pagerduty_request import pagerduty_request
from tickwork.execute.runners.notify.render_message import Rendered, render
from tickwork.execute.runners.notify.slack_request import slack_request
from tickwork.execute.runners.notify.smtp_sender import SmtpSender
from tickwork.execute.runners.notify.teams_request import teams_request
from tickwork.execute.runners.notify.webhook_request import webhook_request
from tickwork.model.channel import (
    AppriseChannel,
    EmailChannel,
    OpsgenieChannel,
    PagerDutyChannel,
    SlackChannel,
    StoredChannel,
    TeamsChannel,
    WebhookChannel,
    kind_of,
)
from tickwork.model.channel_secrets import destination_of_channel, secrets_to_mask
from tickwork.model.errors import TIMEOUT
from tickwork.model.http_secrets import mask_secrets, texts_to_mask
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.smtp_server import SmtpServer
from tickwork.model.worker_protocol import Failure

LONGEST_SEND = 30.0  # seconds
_PER_DESTINATION = 20  # messages at once; many channels share the servers of Slack
_LIMITS = HttpLimits(body_bytes=64 * 1024, connections=100, connections_per_host=_PER_DESTINATION)
_TEMPORARY = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT.value, HTTPStatus.TOO_EARLY.value, HTTPStatus.TOO_MANY_REQUESTS.value}
)
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class MailRelay(NamedTuple):
    """The operator's mail server, and who mails come from."""

    server: SmtpServer
    sender: str


class ChannelSender:
    """Create it inside the running event loop. It opens nothing before the first message. `secrets_of` returns the
    signing secrets of a tenant; `public_url` is where users reach the dashboard."""

    def __init__(
        self,
        policy: AddressPolicy,
        secrets_of: SecretsOf,
        relay: MailRelay | None,
        public_url: str | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._policy = policy
        self._secrets_of = secrets_of
        self._relay = relay
        self._relay_secrets = texts_to_mask([relay.server.password or ""]) if relay else ()
        self.public_url = public_url
        self._now = now
        self._session: GuardedSession | None = None
        self._mails: SmtpSender | None = None
        self._apprise = AppriseSender(policy)
        self._destinations = DestinationLimits(_PER_DESTINATION, _LIMITS.slot_wait)

    async def send(self, stored: StoredChannel, message: NotificationMessage, timeout: float) -> bytes:  # noqa: ASYNC109 (of the attempt)
        """What the receiver answered, as JSON without secrets. Raises AttemptFailed or AttemptPostponed."""
        with measured_message(kind_of(stored.channel)):
            return await self._send_in_time(stored, message, min(timeout, LONGEST_SEND))

    async def close(self) -> None:
        if self._session:
            await self._session.close()
        if self._mails:
            await self._mails.close()

    def render(self, stored: StoredChannel, message: NotificationMessage) -> Rendered:
        return render(message, stored.name, stored.channel.template, self.public_url)

    async def _send_in_time(
        self, stored: StoredChannel, message: NotificationMessage, seconds: float
    ) -> bytes:
        destination = destination_of_channel(stored.channel)
        hidden = (*secrets_to_mask(stored.channel), *self._relay_secrets)
        try:
            async with asyncio.timeout(seconds), self._destinations.slot(destination):
                return await self._send(stored, message, hidden)
        except DestinationFull as full:
            reason = f"{_PER_DESTINATION} messages to {destination} are on their way; this one is sent later"
            raise AttemptPostponed(uniform(2, 10), Failure("DestinationBusy", reason)) from full  # noqa: S311 (spread)
        except AddressDenied as denied:
            _log.warning("a channel was denied an address", channel=stored.name, denied=str(denied))
            raise AttemptFailed(address_denied(destination)) from denied
        except TimeoutError as error:
            reason = f"{destination} did not answer within {seconds:g} s"
            raise AttemptFailed(Failure(TIMEOUT, reason)) from error
        except (AttemptFailed, AttemptPostponed):
            raise
        except Exception as error:  # noqa: BLE001 (whatever it says may have secrets in it)
            trace = mask_secrets("".join(format_exception(error)), hidden)
            failure = Failure(type(error).__name__, mask_secrets(str(error), hidden), trace)
            raise AttemptFailed(failure) from None

    async def _send(
        self, stored: StoredChannel, message: NotificationMessage, hidden: Sequence[str]
    ) -> bytes:
        rendered = self.render(stored, message)
        match stored.channel:
            case EmailChannel():
                return await self._mail(stored, stored.channel, message, rendered, hidden)
            case AppriseChannel(url=url):
                return await self._apprise.send(url, rendered, hidden)
            case WebhookChannel() as channel:
                secrets = [channel.secret] if channel.secret else await self._secrets_of(stored.tenant_id)
                request = webhook_request(channel, message, rendered, secrets, int(self._now()))
                return await self._post(request, hidden)
        request = service_request(stored, message, rendered)
        try:
            return await self._post(request, hidden)
        except AttemptFailed as failed:
            raise AttemptFailed(_final_if_refused(failed.failure)) from failed

    async def _mail(
        self,
        stored: StoredChannel,
        channel: EmailChannel,
        message: NotificationMessage,
        rendered: Rendered,
        hidden: Sequence[str],
    ) -> bytes:
        relay = self.mail_server(channel)
        if relay is None:
            reason = "this server has no mail relay: set TICKWORK_SMTP_URL, or give the channel smtp"
            raise AttemptFailed(Failure("NoMailRelay", reason))
        mail = email_message(channel, stored.name, message, rendered, relay.sender, self.public_url)
        self._mails = self._mails or SmtpSender(self._policy)
        return await self._mails.send(relay.server, mail, hidden, guarded=channel.smtp is not None)

    def mail_server(self, channel: EmailChannel) -> MailRelay | None:
        if channel.smtp:
            return MailRelay(channel.smtp, channel.from_ or "")
        return self._relay

    async def _post(self, request: ChannelRequest, hidden: Sequence[str]) -> bytes:
        self._session = self._session or GuardedSession(self._policy, _LIMITS, self._now)
        url = URL(
            request.url, encoded=True
        )  # as the user wrote it: quoting it again would break a signed query
        answer = await self._session.request("POST", url, request.headers, request.body, hidden)
        return answer.result


def service_request(
    stored: StoredChannel, message: NotificationMessage, rendered: Rendered
) -> ChannelRequest:
    """The request to a service that is known by its kind."""
    match stored.channel:
        case SlackChannel() as channel:
            return slack_request(channel, rendered)
        case TeamsChannel() as channel:
            return teams_request(channel, rendered)
        case PagerDutyChannel() as channel:
            return pagerduty_request(channel, message, rendered)
        case OpsgenieChannel() as channel:
            return opsgenie_request(channel, message, rendered)
    raise TypeError(f"{kind_of(stored.channel)} is sent in another way")


def _final_if_refused(failure: Failure) -> Failure:
    """A service that answers 4xx does so again, except when it is busy. A user's own webhook may be deployed later."""
    is_refusal = failure.kinds == ["Http4xx"] and int(failure.type.removeprefix("Http")) not in _TEMPORARY
    return msgspec.structs.replace(failure, retry=False) if is_refusal else failure
