"""Whom the shop tells of what: its channels, notification rules, and pings of what runs elsewhere.

Nothing leaves the machine: a ping of the demo plays the services that channels would call.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from tickwork.model.channel import Channel
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.model.ping import PingRequest, Signal

RECEIVER = "chat-and-pager"
WAREHOUSE = "warehouse-screen"
_DAY = timedelta(days=1)
_BERLIN = "Europe/Berlin"
_BACKUP, _PRICES = "offsite-backup", "supplier-price-file"
_NIGHT_WITHOUT_BACKUP, _NIGHT_OF_FAILURE = 2, 4  # since the beginning
_PRICES_STAY_AWAY = timedelta(hours=7)  # before the end


class PingReported(NamedTuple):
    at: datetime
    name: str
    signal: Signal


def channels(receiver_url: str) -> dict[str, Channel]:
    """Those that are there from the beginning. `receiver_url`: of the ping that plays the services."""
    documents: dict[str, dict[str, Any]] = {
        "team-ops": {
            "kind": "slack",
            "url": receiver_url,
            "quiet": {"from": "22:00", "to": "07:00", "timezone": _BERLIN, "except": "error"},
            "window": "15m",
        },
        "on-call": {
            "kind": "pagerduty",
            "routing_key": "of-the-demo",
            "url": receiver_url,
            "severity": "error",
        },
        "finance": {
            "kind": "teams",
            "url": receiver_url,
            "digest": "daily",
            "quiet": {"from": "18:00", "to": "08:00", "timezone": _BERLIN},
            "template": {
                "title": "[{severity}] {job.name}",
                "body": "{title}\nFirst at {at}, {count} in all.\n{execution.error_message}",
            },
        },
    }
    return {name: _channel(document) for name, document in documents.items()}


def warehouse_channel() -> Channel:
    """Nobody listens there."""
    return _channel({"kind": "webhook", "url": "http://127.0.0.1:9/screens/packing", "rate": 6})


def rules() -> dict[str, NotificationRuleRequest]:
    return {
        "failures": NotificationRuleRequest(on=["failed", "recovered", "missed"], to=["team-ops"]),
        "payments": NotificationRuleRequest(tag="payments", on=["failed", "recovered"], to=["on-call"]),
        "money": NotificationRuleRequest(tag="money", on=["failed", "skipped"], to=["finance"]),
        "machines": NotificationRuleRequest(
            on=["breaker_opened", "worker_lost", "queue_stuck", "dead_letters", "missing"],
            to=["team-ops"],
            dead_letters_above=25,
            stuck_after="30m",
        ),
    }


def warehouse_rule() -> NotificationRuleRequest:
    return NotificationRuleRequest(tag="shipping", on=["failed", "retrying"], to=[WAREHOUSE])


def pings() -> dict[str, PingRequest]:
    documents: dict[str, dict[str, Any]] = {
        RECEIVER: {
            "schedule": "0 0 1 1 *",
            "grace": "1d",
            "description": "Plays the chat and the pager of the shop: its channels call this URL.",
        },
        _BACKUP: {
            "schedule": "0 3 * * *",
            "timezone": "UTC",
            "grace": "45m",
            "description": "Copies the orders to another town, by the cron of the database server.",
            "notify": [{"on": ["missing", "failed", "recovered"], "to": ["team-ops"]}],
        },
        _PRICES: {
            "schedule": "every 3h",
            "grace": "30m",
            "description": "A supplier puts its prices here.",
            "notify": [{"on": ["missing", "recovered"], "to": ["team-ops"]}],
        },
    }
    return {name: msgspec.convert(document, PingRequest) for name, document in documents.items()}


def reports(begin: datetime, end: datetime) -> Iterator[PingReported]:
    """What the pings were told in that week."""
    night = begin.replace(hour=3, minute=0, second=0, microsecond=0)
    for number in range((end - begin).days + 2):
        at = night + number * _DAY
        if not begin < at + timedelta(minutes=20) < end or number == _NIGHT_WITHOUT_BACKUP:
            continue
        yield PingReported(at + timedelta(seconds=4), _BACKUP, Signal("start"))
        yield PingReported(at + timedelta(minutes=9 + number), _BACKUP, _backup_ended(number))
    at = begin + timedelta(hours=1)
    while at < end - _PRICES_STAY_AWAY:
        yield PingReported(at, _PRICES, Signal("success", log="prices.csv: 18,204 articles\n"))
        at += timedelta(hours=3)


def _backup_ended(number: int) -> Signal:
    if number == _NIGHT_OF_FAILURE:
        return Signal("fail", log="copying orders\nno space left on device\n", exit_code=28)
    return Signal("success", log=f"copying orders\ncopied {41 + number}.{number} GB\n", exit_code=0)


def _channel(document: dict[str, Any]) -> Channel:
    channel: Channel = msgspec.convert(document, Channel)
    return channel
