"""Rules of tenants about what is told to whom, and what applies to a job."""

import builtins
from collections.abc import Iterator
from typing import cast

import msgspec

from tickwork.model.errors import Invalid, NotFound
from tickwork.model.job import JobView
from tickwork.model.notification_rule import (
    JOB_NEWS,
    AppliedNotification,
    JobNews,
    NotificationRuleRequest,
    NotificationRuleView,
    RuleName,
    is_below,
    rule_errors,
    unknown_channels,
)
from tickwork.record.notify.match_rules import Match, matches
from tickwork.store.port.notify import Entry, NotificationRuleStore, ToldChannel, ToldRule

_NAME_HINT = "up to 100 letters, digits, dots, dashes and underscores; a letter or digit first"


class NotificationRules:
    def __init__(self, store: NotificationRuleStore) -> None:
        self._store = store

    async def list(self, tenant_id: int) -> builtins.list[NotificationRuleView]:
        return await self._store.rules(tenant_id)

    async def get(self, tenant_id: int, name: str) -> NotificationRuleView:
        if not _is_name(name):
            raise NotFound("notification rule", name[:100])
        return await self._store.rule(tenant_id, name)

    async def set(self, tenant_id: int, name: str, rule: NotificationRuleRequest) -> NotificationRuleView:
        if not _is_name(name):
            raise Invalid.field("name", f"{name[:80]!r} is not the name of a rule", _NAME_HINT)
        known = [channel.name for channel in await self._store.channels(tenant_id)]
        errors = [*rule_errors(rule), *unknown_channels("to", rule.to, known)]
        if errors:
            raise Invalid(errors)
        return await self._store.set(tenant_id, name, rule)

    async def delete(self, tenant_id: int, name: str) -> NotificationRuleView:
        rule = await self.get(tenant_id, name)
        await self._store.delete(tenant_id, name)
        return rule

    async def applied_to(self, tenant_id: int, job: JobView) -> builtins.list[AppliedNotification]:
        """What is told about a job, to whom and why; also what is not told although a rule or the job asks for it."""
        channels = {channel.name: channel for channel in await self._store.channels(tenant_id)}
        rules = [_told_rule(tenant_id, rule) for rule in await self._store.rules(tenant_id)]
        own = [Entry(entry.on, entry.to) for entry in job.notify]
        return [
            _applied(cast("JobNews", word), match, channels.get(match.channel), job)
            for word in JOB_NEWS
            for match in _once_for_each_channel(matches(word, own, rules, job.tags, job.queue))
        ]


def _is_name(name: str) -> bool:
    try:
        msgspec.convert(name, RuleName)
    except msgspec.ValidationError:
        return False
    return True


def _told_rule(tenant_id: int, rule: NotificationRuleView) -> ToldRule:
    return ToldRule(tenant_id, rule.name, rule.tag, rule.queue, frozenset(rule.on), rule.to)


def _once_for_each_channel(found: Iterator[Match]) -> Iterator[Match]:
    """As a channel is told: the first match decides, unless it is silenced and another is not."""
    chosen: dict[str, Match] = {}
    for match in found:
        before = chosen.get(match.channel)
        if before is None or (before.is_silenced and not match.is_silenced):
            chosen[match.channel] = match
    yield from chosen.values()


def _applied(word: JobNews, match: Match, channel: ToldChannel | None, job: JobView) -> AppliedNotification:
    rule = match.rule
    why = _scope(rule, job) if rule else "the job's own notify says so"
    obstacle = _obstacle(word, match, channel)
    return AppliedNotification(
        on=word,
        channel=match.channel,
        told=obstacle is None,
        by="rule" if rule else "job",
        rule=rule.name if rule else None,
        why=f"{why}, but {obstacle}" if obstacle else why,
    )


def _scope(rule: ToldRule, job: JobView) -> str:
    if rule.tag is not None:
        return f"the rule {rule.name} is for the tag {rule.tag}"
    if rule.queue is not None:
        return f"the rule {rule.name} is for the queue {job.queue}"
    return f"the rule {rule.name} is for all jobs"


def _obstacle(word: JobNews, match: Match, channel: ToldChannel | None) -> str | None:
    if match.is_silenced:
        return "the job silences it"
    if channel is None:
        return f"there is no channel named {match.channel}"
    if channel.paused:
        return "the channel is paused: it is told afterwards"
    if is_below(word, channel.severity):
        return f"the channel is told only what is {channel.severity} or worse"
    return None
