"""The notifier: reads events, gathers what is to be told, and sends it.

    events ──▶ facts ──▶ notifications by channel and cause ──▶ messages ──▶ deliveries (jobs of the system tenant)
                 └─ one transaction, which moves its place ─┘   └──── one transaction ────┘

How a delivery ends is an event, too, and marks its message. One node notifies at a time; which one, a row lock decides.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from prometheus_client import Counter

from tickwork.model.bad_row_isolation import BadRowIsolation, error_text
from tickwork.model.channel_times import is_quiet
from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.execution import NOT_TAKEN
from tickwork.model.notification_delivery_job import SYSTEM_TENANT
from tickwork.model.notification_message import Severity
from tickwork.model.notification_rule import NEWS
from tickwork.model.stream_event import EventKind
from tickwork.record.notify.combine_notifications_into_one_message import MOST_TOLD, compose, together
from tickwork.record.notify.flapping import SETTLED_AFTER, Flaps
from tickwork.record.notify.group_facts_by_channel_and_cause import (
    FactGathering,
    Recipients,
    jobs_that_may_flap,
)
from tickwork.store.port.notify import (
    DeliveryEnd,
    DueChannel,
    Fact,
    Gathering,
    NotifierStore,
    Sending,
    ToldChannel,
    WorkflowEnd,
)

_TOGETHER = 2000  # facts of one transaction
_MESSAGES = Counter(
    "tickwork_notification_messages_total", "Messages to channels whose delivery ended, by how.", ["outcome"]
)
_FACTS = Counter("tickwork_notified_facts_total", "Events that were looked at for notifications.")
_ENDS = frozenset(
    {
        EventKind.EXECUTION_COMPLETED,
        EventKind.EXECUTION_FAILED,
        EventKind.EXECUTION_CANCELLED,
        EventKind.EXECUTION_SKIPPED,
    }
)
_DELIVERY: dict[str, Literal["sending", "sent", "failed"]] = {
    EventKind.EXECUTION_COMPLETED: "sent",
    EventKind.EXECUTION_RETRYING: "sending",
    EventKind.EXECUTION_LOST: "sending",
    EventKind.EXECUTION_FAILED: "failed",
    EventKind.EXECUTION_CANCELLED: "failed",
    EventKind.EXECUTION_SKIPPED: "failed",
}
_LONGEST_ERROR = 1000  # characters

for _outcome in ("sent", "failed"):
    _MESSAGES.labels(_outcome)  # from 0 on, or Prometheus would not see the first one as growth


class Notifier:
    def __init__(self, store: NotifierStore, publish: Publish) -> None:
        self._store = store
        self._publish = publish
        self._isolation = BadRowIsolation("notify")

    async def notify(self) -> bool:
        """Gather what happened, and send what is due; whether there may be more."""
        more = await self._store.has_events(SETTLED_AFTER) and await self._gather()
        if await self._store.has_due():
            await self._send()
        return more

    async def _gather(self) -> bool:
        async with self._store.gathering() as gathering:
            if gathering is None:
                return False
            channels = await gathering.channels()
            tenants = {channel.tenant_id for channel in channels}
            facts = await gathering.facts({SYSTEM_TENANT, *tenants}, NEWS, _TOGETHER)
            await self._end_deliveries(gathering, [each for each in facts if each.tenant_id == SYSTEM_TENANT])
            if tenants:
                told = [each for each in facts if each.tenant_id != SYSTEM_TENANT]
                await self._gather_facts(gathering, channels, told)
            return gathering.has_more

    async def _end_deliveries(self, gathering: Gathering, facts: Sequence[Fact]) -> None:
        ends = [_delivery_end(fact) for fact in facts if fact.kind in _DELIVERY and fact.job_id is not None]
        if ends:
            await gathering.end_deliveries(ends)
            for end in ends:
                if end.status != "sending":
                    _MESSAGES.labels(end.status).inc()

    async def _gather_facts(
        self, gathering: Gathering, channels: Sequence[ToldChannel], facts: Sequence[Fact]
    ) -> None:
        rules = await gathering.rules({channel.tenant_id for channel in channels})
        await gathering.write_workflow_ends(
            _workflow_ends(facts, {rule.tenant_id for rule in rules if "workflow_done" in rule.kinds})
        )
        facts = await _with_own_entries(gathering, [fact for fact in facts if not _is_branch_not_taken(fact)])
        flaps = Flaps(await gathering.flaps({*jobs_that_may_flap(facts)}))
        gathered = FactGathering(Recipients.of(gathering.installation, channels, rules), flaps, gathering.now)
        await self._isolation.run_each(facts, partial(_take, gathered), _pass_over)
        await self._settle_flaps(gathering, gathered, channels, flaps)
        for closed in await gathered.incidents.apply(gathering):
            gathered.close(closed)
        await gathering.gather(gathered.gathered())
        _FACTS.inc(len(facts))

    async def _settle_flaps(
        self, gathering: Gathering, gathered: FactGathering, channels: Sequence[ToldChannel], flaps: Flaps
    ) -> None:
        await gathering.keep_flaps(flaps.changed())
        by_id = {channel.id: channel for channel in channels}
        for flap in await gathering.settled_flaps(gathering.now - SETTLED_AFTER):
            if flap.is_told and flap.channel_id in by_id:
                gathered.settle(flap, by_id[flap.channel_id])

    async def _send(self) -> None:
        async with self._store.sending() as sending:
            if sending is None:
                return
            await self._isolation.run_each(
                await sending.due_channels(), partial(self._send_to, sending), partial(_give_up, sending)
            )

    async def _send_to(self, sending: Sending, due_channel: DueChannel) -> None:
        channel = due_channel.channel
        if due_channel.sent_lately >= channel.rate:
            return
        least = _least_severity(channel, sending.now)
        due = await sending.due(channel, least, MOST_TOLD) if least else []
        if due:
            told = together(due)
            await sending.send(channel, compose(channel, told, sending.now), told)
            self._publish(WorkArrived(SYSTEM_TENANT))


def _least_severity(channel: ToldChannel, now: datetime) -> Severity | None:
    """What the channel is told at this hour; None: nothing."""
    if channel.quiet and is_quiet(channel.quiet, now):
        return channel.quiet.except_
    return Severity.INFO


def _is_branch_not_taken(fact: Fact) -> bool:
    """Whether an execution was skipped because its branch of a graph was not taken: nothing that anybody is told of."""
    return fact.kind == EventKind.EXECUTION_SKIPPED and str(fact.detail.get("reason")).startswith(NOT_TAKEN)


async def _take(gathered: FactGathering, fact: Fact) -> None:
    gathered.take(fact)


async def _pass_over(_: Fact, __: Exception) -> None:
    """It stays in the stream of events, and the isolation has logged why nobody is told of it."""


async def _give_up(sending: Sending, due_channel: DueChannel, error: Exception) -> None:
    await sending.give_up(due_channel.channel, f"no message can be made of it: {error_text(error)}")


def _delivery_end(fact: Fact) -> DeliveryEnd:
    words = (fact.error_type, fact.detail.get("message") or fact.detail.get("reason"))
    error = ": ".join(str(word) for word in words if word) or None
    is_sent = fact.kind == EventKind.EXECUTION_COMPLETED
    return DeliveryEnd(
        fact.job_id or 0,
        _DELIVERY[fact.kind],
        fact.attempt or 0,
        None if is_sent or error is None else error[:_LONGEST_ERROR],
        fact.at,
    )


def _workflow_ends(facts: Sequence[Fact], tenants: Collection[int]) -> list[WorkflowEnd]:
    """Those after which a workflow may be done that somebody is told of. `tenants`: with a rule for it. A job ends
    before those that depend on it."""
    return [
        WorkflowEnd(fact.tenant_id, fact.job_id, fact.scheduled_for)
        for fact in facts
        if fact.depends
        and fact.kind in _ENDS
        and (fact.tells_completion or fact.tenant_id in tenants)
        and fact.job_id is not None
        and fact.scheduled_for is not None
    ]


async def _with_own_entries(gathering: Gathering, facts: Sequence[Fact]) -> list[Fact]:
    """With what pings say about themselves, and all jobs of a workflow about the workflow."""
    pings = {
        (fact.tenant_id, str(fact.detail.get("ping"))) for fact in facts if fact.kind.startswith("ping.")
    }
    of_pings = await gathering.entries_of_pings(pings) if pings else {}
    done = {fact.job_id for fact in facts if fact.kind == EventKind.WORKFLOW_ENDED and fact.job_id}
    of_workflows = await gathering.entries_of_workflows(done) if done else {}
    if not of_pings and not of_workflows:
        return list(facts)
    return [
        fact._replace(own=of_pings.get((fact.tenant_id, str(fact.detail.get("ping"))), ()))
        if fact.kind.startswith("ping.")
        else fact._replace(own=of_workflows.get(fact.job_id or 0, ()))
        if fact.kind == EventKind.WORKFLOW_ENDED
        else fact
        for fact in facts
    ]
