"""Recurring jobs that fail and recover in turn. That a job is flapping is told once, and then how it has settled.

failed ─ recovered ─ failed ─ recovered ─ failed      told: it is flapping
  ↑ told   ↑ told     ↑ told    ↑ told       │
                                             └─ what follows is not told, until nothing has changed for an hour
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import Enum

import msgspec

from tickwork.model.notification_message import NotificationItem
from tickwork.model.stream_event import EventKind
from tickwork.record.notify.describe_fact import item_of, title_of
from tickwork.store.port.notify import Fact, Flap, ToldChannel

SETTLED_AFTER = timedelta(hours=1)
_RECOVERIES = 2  # soon after one another: the next failure is flapping
_FAILED, _RECOVERED = EventKind.EXECUTION_FAILED, EventKind.EXECUTION_RECOVERED


class Verdict(Enum):
    TELL = 1
    TELL_FLAPPING = 2
    TELL_NOTHING = 3


class Flaps:
    """What is known of the jobs of a batch of facts, as each channel sees them."""

    def __init__(self, known: Iterable[Flap]) -> None:
        self._flaps = {(flap.channel_id, flap.job_id): flap for flap in known}
        self._changed: set[tuple[int, int]] = set()

    def changed(self) -> list[Flap]:
        return [self._flaps[key] for key in self._changed]

    def see(self, channel: ToldChannel, fact: Fact) -> Verdict:
        """Take note of a fact, and say what the channel is told of it."""
        if not fact.is_recurring or fact.job_id is None or fact.kind not in (_FAILED, _RECOVERED):
            return Verdict.TELL
        key = channel.id, fact.job_id
        flap = self._flaps.get(key)
        if flap and not flap.is_told and fact.at - flap.changed_at > SETTLED_AFTER:
            flap = None
        if fact.kind == _RECOVERED:
            return self._recovered(key, flap, fact)
        return self._failed(flap, fact) if flap else Verdict.TELL

    def _recovered(self, key: tuple[int, int], flap: Flap | None, fact: Fact) -> Verdict:
        self._keep(
            Flap(
                *key,
                recoveries=flap.recoveries + 1 if flap else 1,
                changed_at=fact.at,
                is_failing=False,
                is_told=bool(flap and flap.is_told),
                example=item_of(fact),
            )
        )
        return Verdict.TELL_NOTHING if flap and flap.is_told else Verdict.TELL

    def _failed(self, flap: Flap, fact: Fact) -> Verdict:
        if flap.is_failing:  # it has not changed
            return Verdict.TELL_NOTHING if flap.is_told else Verdict.TELL
        is_flapping = flap.recoveries >= _RECOVERIES
        changed = flap._replace(
            changed_at=fact.at, is_failing=True, is_told=flap.is_told or is_flapping, example=item_of(fact)
        )
        self._keep(changed)
        if flap.is_told:
            return Verdict.TELL_NOTHING
        return Verdict.TELL_FLAPPING if is_flapping else Verdict.TELL

    def _keep(self, flap: Flap) -> None:
        key = flap.channel_id, flap.job_id
        self._flaps[key] = flap
        self._changed.add(key)

    def recoveries(self, channel: ToldChannel, fact: Fact) -> int:
        return self._flaps[channel.id, fact.job_id or 0].recoveries


def flapping_item(fact: Fact, recoveries: int) -> NotificationItem:
    title = f"{title_of(fact)}. It is flapping: it has recovered {recoveries} times and failed again"
    item = item_of(fact)
    return msgspec.structs.replace(item, title=title, detail={**item.detail, "flapping": True})


def settled_item(flap: Flap) -> NotificationItem:
    """What is told of a job that was flapping and has not changed for a while."""
    name = "It"
    if flap.example.job:
        name = flap.example.job.name or flap.example.job.key or flap.example.job.task or name
    ended = "is failing" if flap.is_failing else "works"
    title = f"{name} is flapping no more: it {ended} since {flap.changed_at:%Y-%m-%d %H:%M} UTC"
    return msgspec.structs.replace(
        flap.example, title=title, at=flap.changed_at, detail={**flap.example.detail, "flapping": False}
    )
