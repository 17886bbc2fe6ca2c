"""The loops of a server node, the start/stop contract of each, and how each is doing."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Literal, TypeAlias

import structlog
from prometheus_client import Counter, Gauge

from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.errors import Unavailable

_log = structlog.get_logger("tickwork")
_PAUSE_WHEN_UNAVAILABLE = 0.25
_PAUSE_AFTER_ERROR = 1.0
_BETWEEN_COMPLAINTS = 60.0  # seconds, about the same error of the same loop
_TOO_OFTEN = 3  # failures in a row: it is no accident any more
_TOO_LONG = 15.0  # seconds without an answer from a database that answers others
_FAILURES = Counter("tickwork_loop_failures_total", "Steps of a loop that failed.", ["loop"])
_IN_A_ROW = Gauge(
    "tickwork_loop_failures_in_a_row", "Steps of a loop that failed since one went well.", ["loop"]
)
_AGE = Gauge("tickwork_loop_success_age_seconds", "Since when no step of a loop went well.", ["loop"])

Step: TypeAlias = Callable[[], Awaitable[bool]]
LoopName: TypeAlias = Literal[
    # trigger
    "fire",
    "fire beside",
    "backlogs",
    "backfill",
    "release",
    "promote",
    "rounds",
    "zone data",
    # dispatch
    "claim",
    "renew",
    "revoke",
    "reconcile",
    "rescue",
    "slots",
    "breakers",
    # record
    "record",
    "notes",
    "waiting",
    # upkeep
    "clock",
    "storing",
    "partitions",
    "past jobs",
    "key use",
    "answers",
    "postgres",
]


class Outage:
    """The database is away, as some loops have seen. The store tells of it; here it is told when it is back."""

    def __init__(self) -> None:
        self._seen_by: set[str] = set()
        self._began = 0.0

    def begin(self, loop: str) -> None:
        if not self._seen_by:
            self._began = monotonic()
        self._seen_by.add(loop)

    def end(self, loop: str) -> None:
        if loop in self._seen_by:
            self._seen_by.discard(loop)
            if not self._seen_by:
                _log.info("database available again", after=f"{monotonic() - self._began:.1f} s")


class LoopCondition:
    """How a loop is doing."""

    def __init__(self, loop: str, outage: Outage) -> None:
        self._loop = loop
        self._outage = outage
        self._errors = LogRateLimit(
            _log.error, f"step failed ({loop})", per_kind=1, period=_BETWEEN_COMPLAINTS
        )
        self._went_well_at = monotonic()
        self._in_a_row = 0
        self._error = ""  # its kind alone: what it says may hold what users stored
        self._unavailable = False
        _FAILURES.labels(loop)
        _IN_A_ROW.labels(loop).set(0)
        _AGE.labels(loop).set_function(lambda: monotonic() - self._went_well_at)

    def well(self) -> None:
        self._went_well_at = monotonic()
        self._outage.end(self._loop)
        if self._in_a_row:
            self._in_a_row = 0
            _IN_A_ROW.labels(self._loop).set(0)

    def failed(self, error: Exception) -> None:
        self._in_a_row += 1
        self._unavailable = isinstance(error, Unavailable)
        self._error = _kind(error)
        _FAILURES.labels(self._loop).inc()
        _IN_A_ROW.labels(self._loop).set(self._in_a_row)
        if self._unavailable:
            self._outage.begin(self._loop)  # the store tells of it, once for all loops
        elif self._errors.admits(repr(error)):
            _log.error("step failed", exc_info=error, loop=self._loop, in_a_row=self._in_a_row)

    def trouble(self) -> str | None:
        """What is wrong, once it is no accident any more."""
        long_ago = monotonic() - self._went_well_at > _TOO_LONG
        if self._in_a_row < _TOO_OFTEN or (self._unavailable and not long_ago):
            return None
        return f"failed {self._in_a_row} times in a row, last with {self._error}"


def _kind(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    return f"{type(error).__name__} ({state})" if state else type(error).__name__


class Loop:
    """Does a step again and again: at once while a step says there is more, else after a pause or when woken.

    Nothing ends it but `stop`: a database that is away is waited for, and an error is logged and survived.
    """

    def __init__(self, name: LoopName, step: Step, *, every: float, outage: Outage) -> None:
        self.name = name
        self.step = step
        self._every = every
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self.condition = LoopCondition(name, outage)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self.name)

    def wake(self) -> None:
        self._woken.set()

    async def stop(self) -> None:
        """Let the step that is under way finish, then end."""
        self._stopping = True
        self._woken.set()
        if self._task:
            await self._task

    async def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            pause = await self._one_step()
            if pause:
                await self._wait(pause)

    async def _one_step(self) -> float:
        try:
            more = await self.step()
        except Exception as error:  # noqa: BLE001 (a loop that ends is a node that only looks alive)
            self.condition.failed(error)
            return _PAUSE_WHEN_UNAVAILABLE if isinstance(error, Unavailable) else _PAUSE_AFTER_ERROR
        self.condition.well()
        return 0 if more else self._every

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()


class Loops:
    """The loops of a node, by name. `wake` may be handed over before `add`, but is called only after it."""

    def __init__(self) -> None:
        self._loops: dict[LoopName, Loop] = {}
        self._outage = Outage()

    def add(self, name: LoopName, step: Step, *, every: float) -> None:
        self._loops[name] = Loop(name, step, every=every, outage=self._outage)

    def names(self) -> list[LoopName]:
        return list(self._loops)

    def troubles(self) -> Iterator[tuple[LoopName, str]]:
        """Those that fail again and again, and what is wrong."""
        for name, loop in self._loops.items():
            if trouble := loop.condition.trouble():
                yield name, trouble

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()
        _log.debug("loops started", count=len(self._loops))

    async def stop(self) -> None:
        for loop in self._loops.values():
            await loop.stop()
        _log.debug("loops stopped", count=len(self._loops))

    async def step(self, name: LoopName) -> bool:
        """Do one step by hand; whether there may be more."""
        return await self._loops[name].step()

    def wake(self, name: LoopName) -> None:
        self._loops[name].wake()
