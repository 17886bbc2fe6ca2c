"""Gathers facts: each goes to the channels that are told of it, together with others of the same cause."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tickwork.model.channel_times import next_digest
from tickwork.model.notification_message import Incident, NotificationItem
from tickwork.model.notification_rule import NEWS, OVER, is_severe
from tickwork.record.notify.describe_fact import (
    bounded_cause,
    cause_of,
    item_of,
    severity_of,
    subject_of,
)
from tickwork.record.notify.flapping import Flaps, Verdict, flapping_item, settled_item
from tickwork.record.notify.match_rules import matches
from tickwork.record.notify.open_and_close_incidents import (
    Closed,
    IncidentChanges,
    closing,
    ends_trouble,
    opening,
    opens_incident,
)
from tickwork.store.port.notify import Fact, Flap, Gathered, ToldChannel, ToldRule

_GATHER_FOR = timedelta(seconds=2)  # the first facts of a cause, before they are told
_AT_ONCE = timedelta(0)


class _Bundle:
    """Facts of one cause for one channel."""

    __slots__ = ("channel", "count", "due_at", "first", "incident", "last", "severity")

    def __init__(
        self, channel: ToldChannel, first: NotificationItem, due_at: datetime, incident: Incident | None
    ) -> None:
        self.channel = channel
        self.first = first
        self.severity = first.severity
        self.last: Fact | None = None
        self.count = 1
        self.due_at = due_at
        self.incident = incident


class Recipients(NamedTuple):
    """The channels and rules of all tenants that have any."""

    installation: str
    channels: Mapping[tuple[int, str], ToldChannel]  # by tenant and name
    rules: Mapping[int, Sequence[ToldRule]]  # by tenant
    incident_channels: Mapping[int, Sequence[ToldChannel]]  # likewise

    @classmethod
    def of(
        cls, installation: str, channels: Sequence[ToldChannel], rules: Sequence[ToldRule]
    ) -> "Recipients":
        by_tenant: dict[int, list[ToldRule]] = {}
        for rule in rules:
            by_tenant.setdefault(rule.tenant_id, []).append(rule)
        keeping: dict[int, list[ToldChannel]] = {}
        for channel in channels:
            if channel.keeps_incidents:
                keeping.setdefault(channel.tenant_id, []).append(channel)
        named = {(channel.tenant_id, channel.name): channel for channel in channels}
        return cls(installation, named, by_tenant, keeping)


class FactGathering:
    """Gathers the facts of one batch."""

    def __init__(self, recipients: Recipients, flaps: Flaps, now: datetime) -> None:
        self._recipients = recipients
        self._flaps = flaps
        self._now = now
        self._bundles: dict[tuple[int, str], _Bundle] = {}
        self.incidents = IncidentChanges()

    def take(self, fact: Fact) -> None:
        if ends_trouble(fact):
            self._end_trouble(fact)
        for channel, is_own in self._told(fact).items():
            self._tell(channel, fact, is_own)

    def gathered(self) -> list[Gathered]:
        return [
            Gathered(
                bundle.channel,
                cause,
                bundle.severity,
                bundle.count,
                bundle.first,
                item_of(bundle.last) if bundle.last else None,
                bundle.due_at,
                bundle.incident,
            )
            for (_, cause), bundle in self._bundles.items()
        ]

    def settle(self, flap: Flap, channel: ToldChannel) -> None:
        """A job that was flapping has not changed for a while."""
        item = settled_item(flap)
        if channel.keeps_incidents and not flap.is_failing:
            self.incidents.close(channel, f"job {flap.job_id}", item)
        elif not channel.keeps_incidents:
            self._add(channel, bounded_cause(f"settled {flap.job_id}"), item, None)

    def close(self, closed: Closed) -> None:
        """An incident is over."""
        incident = closing(self._recipients.installation, closed.channel, closed.cause)
        self._add(closed.channel, bounded_cause(f"closed {closed.cause}"), closed.item, incident)

    def _told(self, fact: Fact) -> dict[ToldChannel, bool]:
        """The channels that are told of a fact, each once, and whether its job says so itself."""
        rules: Sequence[ToldRule] = self._recipients.rules.get(fact.tenant_id, ())
        if (named := fact.detail.get("rule")) is not None:
            rules = [rule for rule in rules if rule.name == named]
        told: dict[ToldChannel, bool] = {}
        queue = fact.queue or fact.detail.get("queue")
        for match in matches(NEWS[fact.kind].word, fact.own, rules, fact.tags, queue):
            channel = self._recipients.channels.get((fact.tenant_id, match.channel))
            if channel and not match.is_silenced and _is_severe_enough(fact, channel):
                told.setdefault(channel, match.rule is None)
        return told

    def _tell(self, channel: ToldChannel, fact: Fact, is_own: bool) -> None:
        if channel.keeps_incidents and ends_trouble(fact):
            return  # it is told when the whole incident is over
        verdict = self._flaps.see(channel, fact)
        if verdict is Verdict.TELL_NOTHING:
            return
        cause = cause_of(fact, is_own=is_own)
        incident = self._opened(channel, cause, fact)
        if verdict is Verdict.TELL_FLAPPING:
            item = flapping_item(fact, self._flaps.recoveries(channel, fact))
            self._add(channel, bounded_cause(f"flapping {fact.job_id}"), item, incident)
        elif channel.window:
            self._bundle(channel, cause, fact, incident)
        else:
            self._bundle(channel, bounded_cause(f"{cause} {fact.number}"), fact, incident)

    def _bundle(self, channel: ToldChannel, cause: str, fact: Fact, incident: Incident | None) -> None:
        bundle = self._bundles.get((channel.id, cause))
        if bundle is None:
            self._add(channel, cause, item_of(fact), incident)
            return
        bundle.count += 1
        bundle.last = fact
        if is_severe(severity := severity_of(fact), bundle.severity):
            bundle.severity = severity

    def _add(
        self, channel: ToldChannel, cause: str, item: NotificationItem, incident: Incident | None
    ) -> None:
        due_at = self._due_at(channel, item.kind)
        self._bundles[channel.id, cause] = _Bundle(channel, item, due_at, incident)

    def _due_at(self, channel: ToldChannel, kind: str) -> datetime:
        if channel.digest != "immediately":
            return next_digest(channel.digest, channel.quiet, self._now)
        # Pings are told of one by one, and at once.
        is_single = not channel.window or kind.startswith("ping.")
        return self._now + (_AT_ONCE if is_single else _GATHER_FOR)

    def _opened(self, channel: ToldChannel, cause: str, fact: Fact) -> Incident | None:
        if not (channel.keeps_incidents and opens_incident(fact)):
            return None
        subject = subject_of(fact)
        if subject:
            self.incidents.open(channel, cause, subject)
        return opening(self._recipients.installation, channel, cause)

    def _end_trouble(self, fact: Fact) -> None:
        """Incidents are closed whether or not a rule asks to be told of it."""
        subject = subject_of(fact)
        for channel in self._recipients.incident_channels.get(fact.tenant_id, ()):
            if subject and self._flaps.see(channel, fact) is not Verdict.TELL_NOTHING:
                self.incidents.close(channel, subject, item_of(fact))


def _is_severe_enough(fact: Fact, channel: ToldChannel) -> bool:
    return is_severe(OVER.get(fact.kind) or severity_of(fact), channel.severity)


def jobs_that_may_flap(facts: Sequence[Fact]) -> Iterator[int]:
    return (fact.job_id for fact in facts if fact.is_recurring and fact.job_id is not None)
