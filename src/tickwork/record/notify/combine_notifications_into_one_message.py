"""Makes one message of all that a channel is told at once: an item for each cause, and one for the rest of many."""

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from tickwork.model.notification_message import NotificationItem, NotificationMessage, Severity
from tickwork.model.notification_view import item_of_all
from tickwork.store.port.notify import DueNotification, ToldChannel

MOST_TOLD = 1000  # notifications of one message
_MOST_ITEMS = 50
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_REST = "notifications.summed"


def compose(channel: ToldChannel, due: Sequence[DueNotification], now: datetime) -> NotificationMessage:
    """`due`: all that it tells; for an incident, one."""
    return NotificationMessage(
        id=f"msg_{uuid4().hex}",
        tenant_id=channel.tenant_id,
        channel_id=channel.id,
        at=now,
        items=_items(due),
        incident=due[0].incident,
    )


def together(due: Sequence[DueNotification]) -> Sequence[DueNotification]:
    """Of what is due, that which goes into one message: an incident goes alone."""
    if due[0].incident:
        return due[:1]
    return [each for each in due if each.incident is None]


def _items(due: Sequence[DueNotification]) -> list[NotificationItem]:
    if len(due) <= _MOST_ITEMS:
        return [_item(each) for each in due]
    by_weight = sorted(due, key=lambda each: (-_RANK[each.severity], -each.number))
    shown, rest = by_weight[: _MOST_ITEMS - 1], by_weight[_MOST_ITEMS - 1 :]
    return [*map(_item, shown), _summed(rest)]


def _item(each: DueNotification) -> NotificationItem:
    return item_of_all(each.first, each.last, each.number, each.severity)


def _summed(rest: Sequence[DueNotification]) -> NotificationItem:
    count = sum(each.number for each in rest)
    return NotificationItem(
        kind=_REST,
        severity=rest[0].severity,
        title=f"{len(rest):,} more causes with {count:,} facts",
        at=min(each.first.at for each in rest),
        last_at=max((each.last or each.first).at for each in rest),
        count=count,
        path="/notifications",
    )
