"""Incidents at channels that keep them. One is opened for each cause, and closed when all that was in trouble under it
is well again: every recurring job that failed, or the destination, ping or queue that it was about."""

from hashlib import sha256
from typing import NamedTuple

from tickwork.model.notification_message import Incident, NotificationItem
from tickwork.model.notification_rule import OVER
from tickwork.model.stream_event import EventKind
from tickwork.store.port.notify import Fact, Gathering, IncidentName, Subject, ToldChannel

_OPENING = frozenset(
    {
        EventKind.EXECUTION_FAILED,
        EventKind.BREAKER_OPENED,
        EventKind.QUEUE_STUCK,
        EventKind.DEAD_LETTERS_EXCEEDED,
        "ping.missing",
        "ping.failed",
        "node.silent",
    }
)


def opens_incident(fact: Fact) -> bool:
    return fact.kind in _OPENING


def ends_trouble(fact: Fact) -> bool:
    return fact.kind in OVER


def opening(installation: str, channel: ToldChannel, cause: str) -> Incident:
    return Incident(key=_key(installation, channel, cause), action="open")


def closing(installation: str, channel: ToldChannel, cause: str) -> Incident:
    return Incident(key=_key(installation, channel, cause), action="close")


def _key(installation: str, channel: ToldChannel, cause: str) -> str:
    """The same whenever the cause comes again: a receiver that has closed the incident opens another one."""
    return f"tickwork-{sha256(f'{installation} {channel.id} {cause}'.encode()).hexdigest()[:32]}"


class Closed(NamedTuple):
    channel: ToldChannel
    cause: str
    item: NotificationItem  # what ended the last trouble


class _Step(NamedTuple):
    troubled: dict[Subject, set[str]]  # with their causes
    over: dict[Subject, tuple[ToldChannel, NotificationItem]]


class IncidentChanges:
    """What the facts of a batch change, in their order. In one step nothing is in trouble after it was over."""

    def __init__(self) -> None:
        self._steps = [_Step({}, {})]

    def open(self, channel: ToldChannel, cause: str, subject: str) -> None:
        key = Subject(channel.id, subject)
        if key in self._steps[-1].over:
            self._steps.append(_Step({}, {}))
        self._steps[-1].troubled.setdefault(key, set()).add(cause)

    def close(self, channel: ToldChannel, subject: str, item: NotificationItem) -> None:
        self._steps[-1].over[Subject(channel.id, subject)] = channel, item

    async def apply(self, gathering: Gathering) -> list[Closed]:
        """The incidents that are over when all is applied."""
        ended: dict[IncidentName, tuple[ToldChannel, NotificationItem]] = {}
        for troubled, over in self._steps:
            if troubled:
                await gathering.note_trouble(
                    [(subject, cause) for subject, causes in troubled.items() for cause in causes]
                )
            if over:
                for subject, cause in await gathering.end_trouble(list(over)):
                    ended[IncidentName(subject.channel_id, cause)] = over[subject]
        closed = await gathering.over_incidents(list(ended)) if ended else []
        return [Closed(ended[name][0], name.cause, ended[name][1]) for name in closed]
