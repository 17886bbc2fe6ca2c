"""What notifying asks of the store: facts to tell, what was gathered of them, and messages on their way."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol

from tickwork.model.channel import Digest, QuietHours
from tickwork.model.field_types import Page
from tickwork.model.notification_message import Incident, NotificationItem, NotificationMessage, Severity
from tickwork.model.notification_rule import NotificationRuleRequest, NotificationRuleView
from tickwork.model.notification_view import NotificationFilter, NotificationView, StoredMessage
from tickwork.model.worker_protocol import Outcome

_INCIDENT_KINDS = ("pagerduty", "opsgenie")


class ToldChannel(NamedTuple):
    """A channel, as far as it decides what is told and when."""

    id: int
    tenant_id: int
    name: str
    kind: str
    severity: Severity  # the least that it is told
    quiet: QuietHours | None
    digest: Digest
    window: timedelta  # zero: each fact is told by itself
    rate: int  # messages a minute
    paused: bool

    @property
    def keeps_incidents(self) -> bool:
        return self.kind in _INCIDENT_KINDS


class Entry(NamedTuple):
    """Of a job or a ping: what it tells to whom. To nobody: it silences rules."""

    on: Collection[str]
    to: Collection[str]


class ToldRule(NamedTuple):
    tenant_id: int
    name: str
    tag: str | None
    queue: str | None
    kinds: frozenset[str]
    channels: Sequence[str]

    def covers(self, tags: Collection[str], queue: str | None) -> bool:
        return (self.tag is None or self.tag in tags) and self.queue in (None, queue)


class Fact(NamedTuple):
    """An event that somebody may be told of, with the job that it is about."""

    number: int
    tenant_id: int
    at: datetime
    kind: str
    job_id: int | None = None
    scheduled_for: datetime | None = None
    attempt: int | None = None
    error_type: str | None = None
    fingerprint: int | None = None
    detail: Mapping[str, Any] = {}
    queue: str | None = None
    task: str | None = None
    job_name: str | None = None
    job_key: str | None = None
    tags: Sequence[str] = ()
    own: Sequence[Entry] = ()  # of its job, ping or workflow
    is_recurring: bool = False  # its job
    depends: bool = False  # its job, on others
    tells_completion: bool = False  # its lane


class Gathered(NamedTuple):
    """Facts of one cause for one channel, from the same look at the events."""

    channel: ToldChannel
    cause: str
    severity: Severity
    number: int  # of facts
    first: NotificationItem
    last: NotificationItem | None
    due_at: datetime  # if the channel was not told of the cause lately
    incident: Incident | None = None


class Subject(NamedTuple):
    """What is in trouble, as a channel that keeps incidents knows it."""

    channel_id: int
    name: str


class IncidentName(NamedTuple):
    channel_id: int
    cause: str


class Flap(NamedTuple):
    """How a recurring job fails and recovers in turn, as a channel sees it."""

    channel_id: int
    job_id: int
    recoveries: int  # one soon after the other
    changed_at: datetime
    is_failing: bool
    is_told: bool  # as flapping
    example: NotificationItem


class DeliveryEnd(NamedTuple):
    """What an event says about a delivery."""

    job_id: int
    status: Literal["sending", "sent", "failed"]
    attempts: int
    error: str | None
    at: datetime


class WorkflowEnd(NamedTuple):
    """An end of an execution after which its workflow may be done."""

    tenant_id: int
    job_id: int
    scheduled_for: datetime


class Gathering(Protocol):
    """One transaction that handles the next events. Only one node has it at a time."""

    now: datetime
    installation: str

    async def channels(self) -> Sequence[ToldChannel]: ...

    async def facts(self, tenants: Collection[int], kinds: Collection[str], limit: int) -> list[Fact]:
        """The next ones in their order. The place moves behind them, with the commit."""

    has_more: bool  # facts

    async def rules(self, tenants: Collection[int]) -> list[ToldRule]: ...

    async def entries_of_pings(
        self, pings: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], list[Entry]]:
        """By tenant and name."""

    async def entries_of_workflows(self, jobs: Collection[int]) -> Mapping[int, list[Entry]]:
        """Of all jobs of the workflows that these belong to."""

    async def gather(self, gathered: Sequence[Gathered]) -> None:
        """Add to what waits to be told. What its channel was told of lately waits until the window ends."""

    async def flaps(self, jobs: Collection[int]) -> list[Flap]: ...

    async def settled_flaps(self, since: datetime) -> list[Flap]:
        """Those that have not changed since. They are forgotten."""

    async def keep_flaps(self, flaps: Sequence[Flap]) -> None: ...

    async def note_trouble(self, troubled: Collection[tuple[Subject, str]]) -> None:
        """`troubled`: each with the cause of its incident."""

    async def end_trouble(self, over: Collection[Subject]) -> list[tuple[Subject, str]]:
        """Forget these subjects. Returns those that were in trouble, each with the cause."""

    async def over_incidents(self, named: Collection[IncidentName]) -> list[IncidentName]:
        """Those of the incidents under which nothing is in trouble. Their causes are told of at once from now on."""

    async def end_deliveries(self, ends: Sequence[DeliveryEnd]) -> None: ...

    async def write_workflow_ends(self, ends: Sequence[WorkflowEnd]) -> None:
        """Write the events of workflows of which nothing is left to run, once for each round."""


class DueChannel(NamedTuple):
    """A channel that is to be told something, and nothing is on its way to it."""

    channel: ToldChannel
    sent_lately: int  # messages within the last minute


class DueNotification(NamedTuple):
    id: int
    cause: str
    severity: Severity
    number: int  # of facts
    first: NotificationItem
    last: NotificationItem | None
    incident: Incident | None


class Sending(Protocol):
    """One transaction that makes messages. Only one node has it at a time."""

    now: datetime

    async def due_channels(self) -> list[DueChannel]: ...

    async def due(self, channel: ToldChannel, least: Severity, limit: int) -> list[DueNotification]:
        """What is due, the oldest first, if it is at least as severe."""

    async def send(
        self, channel: ToldChannel, message: NotificationMessage, told: Sequence[DueNotification]
    ) -> None:
        """Create the delivery. What is told opens a window for its cause, or a longer one."""

    async def give_up(self, channel: ToldChannel, reason: str) -> None:
        """Mark as failed what is due, because it cannot be sent."""


class NotifierStore(Protocol):
    async def has_events(self, settled_after: timedelta) -> bool:
        """Whether there are events that were not handled, or jobs that have not changed for so long."""

    async def has_due(self) -> bool: ...

    def gathering(self) -> AbstractAsyncContextManager[Gathering | None]:
        """None while another node notifies."""

    def sending(self) -> AbstractAsyncContextManager[Sending | None]: ...

    async def delete_old(self, older_than: timedelta) -> bool:
        """Delete some of what was told long ago. Returns whether there may be more."""


class NotificationLogStore(Protocol):
    async def page(
        self, tenant_id: int, wanted: NotificationFilter, limit: int, cursor: str | None
    ) -> Page[NotificationView]:
        """Latest first."""

    async def notification(self, tenant_id: int, notification: int) -> NotificationView: ...

    async def message(self, tenant_id: int, notification: int) -> StoredMessage | None:
        """None if it has none yet."""

    async def resend(self, tenant_id: int, notification: int) -> None:
        """Deliver its message again. Conflict while it waits or is on its way, or when the channel is gone."""


class NotificationRuleStore(Protocol):
    async def rules(self, tenant_id: int) -> list[NotificationRuleView]: ...

    async def rule(self, tenant_id: int, name: str) -> NotificationRuleView: ...

    async def set(self, tenant_id: int, name: str, rule: NotificationRuleRequest) -> NotificationRuleView: ...

    async def delete(self, tenant_id: int, name: str) -> None: ...

    async def channels(self, tenant_id: int) -> list[ToldChannel]: ...


class CompletionRules(NamedTuple):
    """Of which completed executions a tenant's rules tell."""

    everything: bool
    queues: frozenset[str]
    of_some_jobs: bool  # with a tag, or at the end of a workflow: only the database knows which


class TellingLane(NamedTuple):
    id: int
    queue: str
    tells_completion: bool


class ToldCompletion(NamedTuple):
    """A completed execution that may have to be an event."""

    outcome: Outcome
    is_certain: bool  # else if a rule tells of its job


class CompletionStore(Protocol):
    async def completion_rules(self) -> Mapping[int, CompletionRules]:
        """By tenant."""

    async def telling_lanes(self, lanes: Collection[int]) -> list[TellingLane]: ...
