"""Builds the requests about pings, as plain values."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from tickwork.client.build_requests import Call, get, given, post
from tickwork.model.field_types import Page
from tickwork.model.ping import (
    DeletedPing,
    OutsidePingView,
    PingNotify,
    PingRunView,
    PingStatus,
    PingStatusName,
    PingView,
    SignalName,
)


def list_pings(
    *,
    status: PingStatus | PingStatusName | None = None,
    q: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[PingView]]:
    """One page of pings by name, each with its latest runs. `q` is a part of the name."""
    return get("pings", answer=Page[PingView], query=locals())


def get_ping(name: str) -> Call[PingView]:
    """The ping with its statistics and the log of the run in progress."""
    return get("pings", name, answer=PingView)


def set_ping(
    name: str,
    *,
    schedule: str | Mapping[str, Any],
    timezone: str | None = None,
    grace: str | float | timedelta | None = None,
    description: str | None = None,
    notify: Sequence[PingNotify] | Sequence[Mapping[str, Any]] | None = None,
) -> Call[PingView]:
    """Create a ping, or replace what is expected of one. Only the answer to its creation has its URL."""
    fields = given(
        {
            "schedule": schedule,
            "timezone": timezone,
            "grace": grace.total_seconds() if isinstance(grace, timedelta) else grace,
            "description": description,
            "notify": notify,
        }
    )
    return Call(method="PUT", path=("pings", name), answer=PingView, body=msgspec.json.encode(fields))


def renew_ping_token(name: str) -> Call[PingView]:
    """Give a ping another URL, which only this answer has. The one before stops working."""
    return post("pings", name, "token", answer=PingView)


def delete_ping(name: str) -> Call[DeletedPing]:
    """Delete a ping with its history."""
    return Call(method="DELETE", path=("pings", name), answer=DeletedPing)


def list_ping_history(
    name: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[PingRunView]]:
    """One page of the runs of a ping, latest first."""
    return get("pings", name, "history", answer=Page[PingRunView], query={"limit": limit, "cursor": cursor})


def signal_ping(
    name: str, signal: SignalName = "success", *, log: str | None = None, exit_code: int | None = None
) -> Call[PingView]:
    """Report that a run of a ping has started, succeeded or failed, or add to its log."""
    return post("pings", name, signal, answer=PingView, body=given({"log": log, "exit_code": exit_code}))


def get_outside_ping() -> Call[OutsidePingView]:
    """Where the cluster reports itself. Needs an admin key of the tenant default."""
    return get("outside-ping", answer=OutsidePingView)


def set_outside_ping(url: str) -> Call[OutsidePingView]:
    """Let the cluster report itself to a URL every minute. Needs an admin key of the tenant default."""
    body = msgspec.json.encode({"url": url})
    return Call(method="PUT", path=("outside-ping",), answer=OutsidePingView, body=body)


def delete_outside_ping() -> Call[OutsidePingView]:
    """Let the cluster report itself nowhere. Needs an admin key of the tenant default."""
    return Call(method="DELETE", path=("outside-ping",), answer=OutsidePingView)
