"""Channels: where notifications go and when, as users write them and as users see them.

Each kind has fields of its own. What nobody may read back is shown as ***: see `channel_secrets`.
"""

from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Duration, Instant, Secret, SecretUrl
from tickwork.model.notification_message import Severity
from tickwork.model.smtp_server import EmailAddress, Security, SmtpServer

NOTIFY_TASK = "tickwork.notify"  # the task that delivers a NotificationMessage to its channel
CHANNEL_NAME = "up to 100 letters, digits, dots, dashes and underscores; a letter or digit first"
LONGEST_WINDOW = 86_400.0  # seconds

ChannelName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", description=CHANNEL_NAME)]
ChannelKind = Literal["webhook", "email", "slack", "teams", "pagerduty", "opsgenie", "apprise"]
CHANNEL_KINDS: tuple[ChannelKind, ...] = get_args(ChannelKind)
Digest = Literal["immediately", "hourly", "daily"]
Url = Annotated[str, Meta(min_length=1, max_length=2048)]
TimeOfDay = Annotated[
    str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="a time of day such as 22:00")
]


class QuietHours(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"from_": "from", "except_": "except"},
):
    """From when to when nothing is told, every day, by the clock of a time zone. What gathers is told afterwards."""

    from_: TimeOfDay
    to: TimeOfDay
    timezone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    except_: Severity | None = None  # what is at least so severe is told nevertheless


class MessageTemplate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Texts with fields such as {job.name} in place of the usual ones: see `message_template`."""

    title: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    body: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None


class ChannelFields(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="kind",
):
    """What all kinds have in common."""

    severity: Severity = Severity.INFO  # the least that it tells
    quiet: QuietHours | None = None
    digest: Digest = "immediately"
    window: Duration = "5m"  # facts of one cause within it are told together
    rate: Annotated[int, Meta(ge=1, le=600)] = 30  # messages a minute, at most
    paused: bool = False
    template: MessageTemplate | None = None

    def __repr__(self) -> str:
        return f"<a channel of kind {kind_of(self)}>"  # its fields are secrets


class WebhookChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="webhook"):
    """A signed POST to a URL of yours, in the format of Standard Webhooks."""

    url: Url
    secret: Secret | None = None  # signs its requests; by default the signing secret of the tenant does


class EmailChannel(
    ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="email", rename={"from_": "from"}
):
    """A mail, through the relay in the server's settings or through a mail server of yours."""

    to: Annotated[list[EmailAddress], Meta(min_length=1, max_length=50)]
    smtp: SmtpServer | None = None
    from_: Annotated[str, Meta(min_length=1, max_length=300)] | None = None  # goes with smtp


class SlackChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="slack"):
    """A message by an incoming webhook of Slack."""

    url: SecretUrl


class TeamsChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="teams"):
    """An adaptive card by a workflow of Microsoft Teams."""

    url: SecretUrl


class PagerDutyChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="pagerduty"):
    """An event of PagerDuty's Events API, version 2."""

    routing_key: Secret
    url: Url = "https://events.pagerduty.com/v2/enqueue"


class OpsgenieChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="opsgenie"):
    """An alert of Opsgenie's Alert API, version 2."""

    api_key: Secret
    url: Url = "https://api.opsgenie.com"


class AppriseChannel(ChannelFields, frozen=True, kw_only=True, omit_defaults=True, tag="apprise"):
    """Any of the services that apprise knows, by its apprise URL."""

    url: SecretUrl


Channel = (
    WebhookChannel
    | EmailChannel
    | SlackChannel
    | TeamsChannel
    | PagerDutyChannel
    | OpsgenieChannel
    | AppriseChannel
)
RULES = ChannelFields.__struct_fields__  # when and how often a channel is told something


class StoredChannel(NamedTuple):
    """A channel with its secrets."""

    id: int
    tenant_id: int
    name: str
    channel: Channel
    created_at: Instant
    changed_at: Instant


class SmtpServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A mail server as shown to users."""

    host: str
    port: int
    security: Security
    username: str | None = None
    password: str | None = None  # ***


class ChannelDeliveries(msgspec.Struct, frozen=True, kw_only=True):
    """How the latest messages of a channel fared: 100 of them at most."""

    is_failing: bool = False  # a message could not be delivered, and none was since
    sent: int = 0
    failed: int = 0  # for good
    sending: int = 0  # on their way, or to be tried again
    waiting: int = 0  # notifications that are not told yet; 1,000 are counted at most
    last_sent_at: Instant | None = None
    error: str | None = None  # of the last attempt, while it fails


class ChannelView(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A channel as shown to users: the fields of its kind, secrets as ***; those of other kinds are null."""

    name: str
    kind: ChannelKind
    url: str | None = None
    secret: str | None = None
    routing_key: str | None = None
    api_key: str | None = None
    to: list[str] | None = None
    smtp: SmtpServerView | None = None
    from_: str | None = None
    severity: Severity
    quiet: QuietHours | None
    digest: Digest
    window: float  # seconds
    rate: int
    paused: bool
    template: MessageTemplate | None
    deliveries: ChannelDeliveries
    created_at: Instant
    changed_at: Instant


class ChannelError(msgspec.Struct, frozen=True):
    """Why a message was not delivered."""

    type: str
    message: str


class ChannelTest(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a test message."""

    delivered: bool
    took: float  # seconds
    answer: Any = None  # what the receiver said
    error: ChannelError | None = None


class ChannelPreviewRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to preview: the channel's own template, or this one."""

    template: MessageTemplate | None = None


class ChannelPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the channel sends it."""

    title: str
    body: str
    sent: Any  # the mail, or the JSON of the request


def kind_of(channel: ChannelFields) -> ChannelKind:
    return channel.__struct_config__.tag  # type: ignore[return-value]


def given_fields(channel: Channel) -> dict[str, Any]:
    """The fields of its kind that were given, as JSON has them."""
    rules = {*RULES, "kind"}
    fields: dict[str, Any] = msgspec.to_builtins(channel)
    return {name: value for name, value in fields.items() if name not in rules}
