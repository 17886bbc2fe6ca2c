"""Who is told of what: the entries of a job or a ping, and the rules of a tenant, a tag or a queue."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from tickwork.model.channel import ChannelName
from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration, Instant, QueueName
from tickwork.model.notification_message import Severity
from tickwork.model.quantities import parse_duration
from tickwork.model.stream_event import EventKind

RuleName = ChannelName
Tag = Annotated[str, Meta(min_length=1, max_length=100)]
JobNews = Literal[
    "completed",
    "failed",
    "retrying",
    "recovered",
    "skipped",
    "missed",
    "late",
    "slow",
    "deadline",
    "blocked",
    "cancelled",
    "backfill_done",
    "workflow_done",
]
RuleNews = Literal[
    JobNews,
    "missing",
    "dead_letters",
    "breaker_opened",
    "breaker_closed",
    "worker_lost",
    "node_silent",
    "commits_lost",
    "queue_stuck",
]
JOB_NEWS: tuple[str, ...] = get_args(JobNews)
RULE_NEWS: tuple[str, ...] = get_args(RuleNews)
_OF_TENANT = (
    "missing",
    "dead_letters",
    "breaker_opened",
    "breaker_closed",
    "worker_lost",
    "node_silent",
    "commits_lost",
)
_NEED_COMPLETION = frozenset({"completed", "workflow_done"})
STUCK_AFTER = "10m"
_LEAST_STUCK_AFTER, _MOST_STUCK_AFTER = timedelta(seconds=10), timedelta(days=7)

Channels = Annotated[list[ChannelName], Meta(max_length=20)]


class NotifyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a job: what is told to which channels. Without channels, what rules would tell of the job is not told."""

    on: Annotated[list[JobNews], Meta(min_length=1, max_length=len(JOB_NEWS))]
    to: Channels


Notify = Annotated[list[NotifyEntry], Meta(max_length=20)]


class NotificationRuleRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of PUT /notification-rules/{name}."""

    on: Annotated[list[RuleNews], Meta(min_length=1, max_length=len(RULE_NEWS))]
    to: Annotated[Channels, Meta(min_length=1)]
    tag: Annotated[Tag, Meta(description="only of jobs with this tag")] | None = None
    queue: Annotated[QueueName, Meta(description="only of this queue")] | None = None
    dead_letters_above: (
        Annotated[int, Meta(ge=0, le=100_000, description="with dead_letters: how many are not told of")]
        | None
    ) = None
    stuck_after: (
        Annotated[Duration, Meta(description="with queue_stuck: for how long nothing must have started")]
        | None
    ) = None


class NotificationRuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as shown to users."""

    name: str
    on: list[RuleNews]
    to: list[str]
    tag: str | None
    queue: str | None
    dead_letters_above: int | None
    stuck_after: float | None
    created_at: Instant
    changed_at: Instant


class AppliedNotification(msgspec.Struct, frozen=True, kw_only=True):
    """That something about a job is told to a channel, or is not, and why."""

    on: JobNews
    channel: str
    told: bool
    by: Literal["job", "rule"]
    rule: str | None = None  # its name
    why: str  # in words


def asks_for_completion(notify: Sequence[NotifyEntry]) -> bool:
    """Whether executions of a job with these entries must be events when they complete."""
    return any(entry.to and not _NEED_COMPLETION.isdisjoint(entry.on) for entry in notify)


def asks_for_workflow_end(notify: Sequence[NotifyEntry]) -> bool:
    return any(entry.to and "workflow_done" in entry.on for entry in notify)


def unknown_channels(path: str, names: Sequence[str], known: Sequence[str]) -> Iterator[FieldError]:
    for place, name in enumerate(names):
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"create it first: PUT /v1/channels/{name}"
            yield FieldError(f"{path}[{place}]", f"there is no channel named {name!r}", hint)


def rule_errors(rule: NotificationRuleRequest) -> Iterator[FieldError]:
    """What the types cannot say."""
    if rule.tag is not None and rule.queue is not None:
        yield FieldError("queue", "goes without tag", "make one rule for the tag and another for the queue")
    if rule.tag is not None or rule.queue is not None:
        of_tenant = (*_OF_TENANT, "queue_stuck") if rule.tag is not None else _OF_TENANT
        for place, word in enumerate(rule.on):
            if word in of_tenant:
                hint = "make a rule without tag and queue for it"
                yield FieldError(f"on[{place}]", f"{word} is about the whole tenant", hint)
    if ("dead_letters" in rule.on) != (rule.dead_letters_above is not None):
        yield FieldError(
            "dead_letters_above", "goes with dead_letters in on", "above how many dead letters to tell"
        )
    if rule.stuck_after is not None:
        yield from _stuck_after_errors(rule)


def _stuck_after_errors(rule: NotificationRuleRequest) -> Iterator[FieldError]:
    if "queue_stuck" not in rule.on:
        yield FieldError("stuck_after", "goes with queue_stuck in on")
    try:
        duration = parse_duration(rule.stuck_after)
    except ValueError as error:
        yield FieldError("stuck_after", str(error))
        return
    if not _LEAST_STUCK_AFTER <= duration <= _MOST_STUCK_AFTER:
        least, most = _LEAST_STUCK_AFTER.seconds, _MOST_STUCK_AFTER.days
        yield FieldError("stuck_after", f"is between {least} s and {most} days")


class News(NamedTuple):
    """What an event is in the words of rules."""

    word: RuleNews
    severity: Severity


_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

_SEVERE_IF_FAILED = ("backfill_done", "workflow_done")

# What users can be told of.
NEWS: dict[str, News] = {
    EventKind.EXECUTION_COMPLETED: News("completed", _INFO),
    EventKind.EXECUTION_FAILED: News("failed", _ERROR),
    EventKind.EXECUTION_RETRYING: News("retrying", _WARNING),
    EventKind.EXECUTION_LOST: News("retrying", _WARNING),
    EventKind.EXECUTION_RECOVERED: News("recovered", _INFO),
    EventKind.EXECUTION_SKIPPED: News("skipped", _WARNING),
    EventKind.EXECUTION_MISSED: News("missed", _ERROR),
    EventKind.EXECUTION_LATE: News("late", _WARNING),
    EventKind.EXECUTION_SLOW: News("slow", _WARNING),
    EventKind.DEADLINE_ENDANGERED: News("deadline", _WARNING),
    EventKind.EXECUTION_BLOCKED: News("blocked", _WARNING),
    EventKind.EXECUTION_CANCELLED: News("cancelled", _INFO),
    EventKind.BACKFILL_ENDED: News("backfill_done", _INFO),
    EventKind.WORKFLOW_ENDED: News("workflow_done", _INFO),
    EventKind.DEAD_LETTERS_EXCEEDED: News("dead_letters", _ERROR),
    EventKind.DEAD_LETTERS_RECEDED: News("dead_letters", _INFO),
    EventKind.BREAKER_OPENED: News("breaker_opened", _WARNING),
    EventKind.BREAKER_CLOSED: News("breaker_closed", _INFO),
    EventKind.WORKER_LOST: News("worker_lost", _WARNING),
    EventKind.QUEUE_STUCK: News("queue_stuck", _ERROR),
    EventKind.QUEUE_RECOVERED: News("queue_stuck", _INFO),
    "ping.late": News("late", _WARNING),
    "ping.missing": News("missing", _ERROR),
    "ping.failed": News("failed", _ERROR),
    "ping.recovered": News("recovered", _INFO),
    "ping.slow": News("slow", _WARNING),
    "node.silent": News("node_silent", _ERROR),
    "node.back": News("node_silent", _INFO),
    EventKind.COMMITS_LOST: News("commits_lost", _ERROR),
}

# What each of these says is over. It is as severe as that when a channel asks for a least severity.
OVER: dict[str, Severity] = {
    EventKind.EXECUTION_RECOVERED: _ERROR,
    EventKind.DEAD_LETTERS_RECEDED: _ERROR,
    EventKind.BREAKER_CLOSED: _WARNING,
    EventKind.QUEUE_RECOVERED: _ERROR,
    "ping.recovered": _ERROR,
    "node.back": _ERROR,
}
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def is_severe(severity: Severity, least: Severity) -> bool:
    """Whether it is at least as severe."""
    return _RANK[severity] >= _RANK[least]


def is_below(word: JobNews, least: Severity) -> bool:
    """Whether nothing that the word stands for is so severe, as far as jobs are concerned."""
    severities = [
        OVER.get(kind, news.severity)
        for kind, news in NEWS.items()
        if news.word == word and not kind.startswith("ping.")
    ]
    return word not in _SEVERE_IF_FAILED and not any(is_severe(each, least) for each in severities)
