"""The stream of events: gives each event its number, lists past ones, and lets users follow new ones.

    every quarter of a second ──▶ EventFeed ── asks the database once ──▶ its followers, each at a place of its own

The feed keeps the newest events. A follower that is further behind reads its own pages from the database. The feed asks
only while somebody follows.

The pulse, starts and ends of executions, is passed on to the nodes on which somebody follows it. While nobody does, a
batch of outcomes costs one look at an empty set. Above a rate the pulse is a sample: of each tenant a node passes on a
limited number of executions, and says how many it left out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

import structlog

from tickwork.execution_metrics import ENDED
from tickwork.model.errors import Unavailable
from tickwork.model.event_after_commit import AttemptsEnded
from tickwork.model.execution import AttemptOutcome
from tickwork.model.field_types import Page
from tickwork.model.stream_event import EventFilter, EventKind, NumberedEvent, StreamEvent
from tickwork.model.worker_protocol import Outcome
from tickwork.store.port.record import EventStore

_log = structlog.get_logger("tickwork.events")
_INTERVAL = 0.25  # seconds
_PAGE = 500
_KEPT = 2000  # events in memory
_UNREAD_PULSE = 1000  # events of the pulse that wait for a slow follower
_KEEP_ALIVE = 15.0
_PULSE_WANTED = 10.0  # seconds for which nodes are asked for the pulse

_LATEST = 2**62
_SLICE = 500  # events that are read together
_MOST_SLICES = 20  # for one page: a rare filter gives a short page with a cursor, not a slow one

_TOGETHER = 5000

PULSE_INTERVAL = 0.25  # seconds between two flushes
PULSE_MOST = 250  # executions of a tenant that a node passes on in one flush: 1,000 a second
_LOOK = 1.0  # seconds between two looks at who follows


class Follower:
    """One who follows. `place` is the number of the last event that it was sent."""

    def __init__(self, tenant_id: int, wanted: EventFilter, place: int) -> None:
        self.tenant_id = tenant_id
        self.wanted = wanted
        self.place = place
        self.pulse: deque[NumberedEvent] = deque(maxlen=_UNREAD_PULSE)


class EventFeed:
    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None
        self._followers: set[Follower] = set()
        self._kept: deque[NumberedEvent] = deque(maxlen=_KEPT)
        self._first = self._last = 0  # the kept events are those after _first up to _last
        self._last_pulse = 0
        self._asked_at = 0.0
        self._changed = asyncio.Event()  # another one after each change
        self._is_closed = False

    def close(self) -> None:
        """The node stops: followers reconnect to another one."""
        self._is_closed = True
        self._announce()

    async def last_number(self) -> int:
        return await self._store.last_number()

    async def follow(
        self, tenant_id: int, wanted: EventFilter, after: int
    ) -> AsyncGenerator[NumberedEvent | None, None]:
        """The events after a number; None from time to time while nothing happens."""
        async with self._following(Follower(tenant_id, wanted, after)) as follower:
            sent_at = monotonic()
            while not self._is_closed:
                changed = self._changed
                for event in await self._next(follower):
                    sent_at = monotonic()
                    yield event
                if self._may_wait(follower) and not await _set_within(changed, _KEEP_ALIVE):
                    yield None
                elif monotonic() - sent_at > _KEEP_ALIVE:
                    sent_at = monotonic()
                    yield None

    @asynccontextmanager
    async def _following(self, follower: Follower) -> AsyncIterator[Follower]:
        self._followers.add(follower)
        if self._task is None:
            self._first = self._last = await self._store.last_number()
            self._last_pulse = await self._store.last_pulse()
            self._kept.clear()
            self._task = asyncio.create_task(self._read_on())
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            if not self._followers and self._task:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
                self._task = None

    def _may_wait(self, follower: Follower) -> bool:
        return follower.place >= self._last and not follower.pulse

    async def _next(self, follower: Follower) -> list[NumberedEvent]:
        pulse = [*follower.pulse]
        follower.pulse.clear()
        if follower.place >= self._last:
            return pulse
        if follower.place >= self._first:
            events = [each for each in self._kept if each.number > follower.place]
            follower.place = self._last
        else:
            until = self._last
            events = await self._store.events_of(follower.tenant_id, follower.place, until, _PAGE)
            follower.place = events[-1].number if len(events) == _PAGE else until
        return pulse + [
            each for each in events if each.tenant_id == follower.tenant_id and follower.wanted.admits(each)
        ]

    async def _read_on(self) -> None:
        while not self._is_closed:
            more = False
            try:
                more = await self._read()
            except Unavailable:
                pass
            except Exception:  # noqa: BLE001 (followers wait for what the next look finds)
                _log.exception("reading events failed")
            if not more:
                await asyncio.sleep(_INTERVAL)

    async def _read(self) -> bool:
        """Read what is new; whether there may be more."""
        events = await self._store.events_after(self._last, _PAGE)
        pulse = await self._read_pulse()
        if events:
            if len(self._kept) + len(events) > _KEPT:
                for _ in range(len(self._kept) + len(events) - _KEPT):
                    self._first = self._kept.popleft().number
            self._kept.extend(events)
            self._last = events[-1].number
        if events or pulse:
            self._announce()
        return len(events) == _PAGE

    async def _read_pulse(self) -> bool:
        wanting = [follower for follower in self._followers if follower.wanted.wants_pulse]
        if not wanting:
            return False
        tenants = {follower.tenant_id for follower in wanting}
        if monotonic() - self._asked_at > _PULSE_WANTED / 3:
            self._asked_at = monotonic()
            await self._store.want_pulse(tenants, _PULSE_WANTED)
        self._last_pulse, pulse = await self._store.pulse_after(self._last_pulse, tenants)
        for follower in wanting:
            follower.pulse.extend(
                each
                for each in pulse
                if each.tenant_id == follower.tenant_id and follower.wanted.admits(each)
            )
        return bool(pulse)

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
            return True
    return False


class EventHistory:
    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def page(
        self, tenant_id: int, wanted: EventFilter, limit: int, before: int | None
    ) -> Page[StreamEvent]:
        """Latest first. The cursor is the number of the last event that was looked at."""
        found: list[StreamEvent] = []
        place = _LATEST if before is None else before
        for _ in range(_MOST_SLICES):
            events = await self._store.events_before(tenant_id, place, _SLICE)
            for each in events:
                place = each.number
                if wanted.admits(each):
                    found.append(each.event)
                if len(found) == limit:
                    return Page(found, str(place))
            if len(events) < _SLICE:
                return Page(found)
        return Page(found, str(place))


class EventNumbering:
    """Numbers events that were committed, so that the stream has one order for all readers."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def number(self) -> bool:
        """Number what is new; whether there may be more. Only one node does so at a time. It also counts what was
        cancelled or skipped for the metrics: many statements do that, and each execution gets an event."""
        numbered = await self._store.number(_TOGETHER)
        ENDED.labels("cancelled").inc(numbered[EventKind.EXECUTION_CANCELLED])
        ENDED.labels("skipped").inc(numbered[EventKind.EXECUTION_SKIPPED])
        return numbered.total() == _TOGETHER


class PulseWriter:
    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._wanted: frozenset[int] = frozenset()
        self._looked_at = 0.0
        self._ended: dict[int, list[Outcome]] = {}
        self._left_out: dict[int, int] = {}

    def after_end(self, ended: AttemptsEnded) -> None:
        if self._wanted:
            for outcomes in ended.outcomes:
                self._take(outcomes)

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.tenant not in self._wanted or outcome.kind is not AttemptOutcome.COMPLETED:
                continue
            taken = self._ended.setdefault(outcome.tenant, [])
            if len(taken) < PULSE_MOST:
                taken.append(outcome)
            else:
                self._left_out[outcome.tenant] = self._left_out.get(outcome.tenant, 0) + 1

    async def flush(self) -> bool:
        """Pass on what ended since the last flush."""
        if monotonic() - self._looked_at > _LOOK:
            self._looked_at = monotonic()
            self._wanted = await self._store.wanted_pulse()
        ended, self._ended = self._ended, {}
        left_out, self._left_out = self._left_out, {}
        for tenant_id, outcomes in ended.items():
            await self._store.write_pulse(tenant_id, outcomes, left_out.get(tenant_id, 0))
        return False
