"""Requests about queues."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tickwork.client.build_requests import Call, get, post
from tickwork.model.field_types import Page
from tickwork.model.job import Priority
from tickwork.model.queue import QueueSettings, QueueView
from tickwork.model.retention import Retention, RetentionView


def list_queues(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[QueueView]]:
    """The queues, by name."""
    return get("queues", answer=Page[QueueView], query={"limit": limit, "cursor": cursor})


def get_queue(name: str) -> Call[QueueView]:
    """The queue with its limits and its backlog."""
    return get("queues", name, answer=QueueView)


def set_queue(
    name: str,
    *,
    max_running: int | None = None,
    rate: str | None = None,
    max_backlog: int | None = None,
    max_workers: int | None = None,
    priority: Priority = "normal",
    retention: Retention | RetentionView | Mapping[str, Any] | None = None,
) -> Call[QueueView]:
    """Replace the settings of a queue. A limit or a retention that is not given is removed."""
    settings = QueueSettings(
        max_running=max_running,
        rate=rate,
        max_backlog=max_backlog,
        max_workers=max_workers,
        priority=priority,
        retention=msgspec.convert(retention, Retention | None, from_attributes=True),
    )
    body = msgspec.json.encode(settings)
    return Call(method="PUT", path=("queues", name), answer=QueueView, body=body)


def pause_queue(name: str) -> Call[QueueView]:
    """Pause a queue: nothing more of it starts, but what workers already have continues."""
    return post("queues", name, "pause", answer=QueueView)


def resume_queue(name: str) -> Call[QueueView]:
    """Resume a paused queue."""
    return post("queues", name, "resume", answer=QueueView)
