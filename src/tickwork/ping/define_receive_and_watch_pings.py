"""Pings as users define and see them, what is heard of them, and what is noticed when they stay away."""

import hashlib
import secrets
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import structlog
from prometheus_client import Counter

from tickwork.fixed_window_limit import FixedWindowLimit
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.field_types import Page
from tickwork.model.ping import PingFilter, PingRequest, PingRunView, PingView, Signal
from tickwork.ping.compile_ping import checked_name, compile_ping, is_name
from tickwork.ping.expectation import Expectation
from tickwork.ping.transitions import heard, look, new_ping, rescheduled, retimed
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.ping import LockedPing, PingChange, PingStore, Token

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_SIGNALS = Counter("tickwork_ping_signals_total", "Signals of pings that were recorded, by name.", ["signal"])
_MISSING = Counter("tickwork_pings_missing_total", "How often a ping was found to be missing.")
_PREFIX = "twp_"
_SHOWN = 8  # characters of a token
LONGEST_TOKEN = 100
_LOOKED_AT_TOGETHER = 500
MOST_SIGNALS = 60  # with one token
SIGNAL_PERIOD = 60.0  # seconds
_MOST_TOKENS = 10_000

for _name in ("start", "success", "fail", "log"):
    _SIGNALS.labels(_name)  # from 0 on, or Prometheus would not see the first as growth


class SetPing(NamedTuple):
    view: PingView
    token: str | None  # of a new ping


class Pings:
    def __init__(self, store: PingStore) -> None:
        self._store = store
        self.limit = FixedWindowLimit(MOST_SIGNALS, SIGNAL_PERIOD, _MOST_TOKENS)

    async def list(
        self, tenant_id: int, wanted: PingFilter, limit: int, cursor: str | None
    ) -> Page[PingView]:
        return await self._store.page(tenant_id, wanted, limit, cursor)

    async def get(self, tenant_id: int, name: str) -> PingView:
        return await self._store.get(tenant_id, _known_name(name))

    async def history(self, tenant_id: int, name: str, limit: int, cursor: str | None) -> Page[PingRunView]:
        return await self._store.history(tenant_id, _known_name(name), limit, cursor)

    async def set(self, tenant_id: int, name: str, request: PingRequest) -> SetPing:
        """Create a ping, or change one. What is expected changes only with its schedule or its grace."""
        now = await self._store.now()
        spec = compile_ping(checked_name(name), request, now)
        if await self._store.change(tenant_id, name, spec, rescheduled):
            return SetPing(await self.get(tenant_id, name), None)
        token = _new_token()
        new = new_ping(Expectation(timing_from_text(spec.timing), spec.grace), now)
        if not await self._store.create(tenant_id, name, spec, _stored(token), new):
            raise Conflict(
                f"the ping {name} was created by another request just now; repeat yours to change it"
            )
        return SetPing(await self.get(tenant_id, name), token)

    async def new_token(self, tenant_id: int, name: str) -> SetPing:
        """Give it another token. The one before stops working."""
        token = _new_token()
        if not await self._store.set_token(tenant_id, _known_name(name), _stored(token)):
            raise NotFound("ping", name)
        return SetPing(await self.get(tenant_id, name), token)

    async def delete(self, tenant_id: int, name: str) -> None:
        if not await self._store.delete(tenant_id, _known_name(name)):
            raise NotFound("ping", name)

    async def hear(self, tenant_id: int, name: str, signal: Signal) -> PingView:
        if not await self._store.hear(tenant_id, _known_name(name), partial(heard, signal)):
            raise NotFound("ping", name)
        _SIGNALS.labels(signal.name).inc()
        return await self.get(tenant_id, name)

    async def hear_by_token(self, token: str, signal: Signal) -> bool:
        """False when no ping has this token."""
        if len(token) > LONGEST_TOKEN:
            return False
        known = await self._store.hear_by_token(_digest(token), partial(heard, signal))
        if known:
            _SIGNALS.labels(signal.name).inc()
        return known

    async def watch(self) -> bool:
        """Tell of pings that stay away; whether there may be more."""
        missing: dict[int, LockedPing] = {}
        count = await self._store.look(_LOOKED_AT_TOGETHER, partial(_look, missing))
        for ping in missing.values():
            _MISSING.inc()
            _log.warning("ping is missing", ping=ping.name, tenant_id=ping.tenant_id)
        return count == _LOOKED_AT_TOGETHER

    async def retime(self) -> None:
        """Compute what is expected again, after an update of the time zone data."""
        after: int | None = 0
        while after is not None:
            after = await self._store.change_all(after, _LOOKED_AT_TOGETHER, retimed)

    async def delete_old_runs(self, history: timedelta) -> bool:
        return await self._store.delete_old_runs(history)


def _look(missing: dict[int, LockedPing], ping: LockedPing) -> PingChange:
    """`missing`: gets those that are, by their numbers."""
    change = look(ping)
    if change.runs:
        missing[ping.id] = ping
    return change


def _known_name(name: str) -> str:
    """What cannot be the name of a ping is not one."""
    if not is_name(name):
        raise NotFound("ping", name[:100])
    return name


def _new_token() -> str:
    return _PREFIX + secrets.token_urlsafe(24)


def _stored(token: str) -> Token:
    return Token(_digest(token), token[:_SHOWN])


def _digest(token: str) -> bytes:
    """What is stored and looked up: how long that takes says nothing about the token."""
    return hashlib.sha256(token.encode()).digest()
