"""The loops of a server node, and the start/stop contract of each."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TypeAlias

import structlog

from tickwork.log_limit import LogLimit
from tickwork.model.errors import Unavailable

_log = structlog.get_logger("tickwork")
_PAUSE_WHEN_UNAVAILABLE = 0.25
_PAUSE_AFTER_ERROR = 1.0
_BETWEEN_COMPLAINTS = 60.0  # seconds, about the same error of the same loop

Step: TypeAlias = Callable[[], Awaitable[bool]]


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


class Loop:
    """Does a step again and again: at once while a step says there is more, else after a pause or when woken.

    Nothing ends it but `stop`: a database that is away is waited for, and an error is logged and survived.
    """

    def __init__(self, name: str, step: Step, *, every: float, outage: Outage) -> None:
        self.name = name
        self.step = step
        self._every = every
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._outage = outage
        self._errors = LogLimit(_log.error, f"step failed ({name})", of_a_kind=1, period=_BETWEEN_COMPLAINTS)

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
        except Unavailable:
            self._outage.begin(self.name)
            return _PAUSE_WHEN_UNAVAILABLE
        except Exception as error:  # noqa: BLE001 (a loop that ends is a node that only looks alive)
            if self._errors.admits(repr(error)):
                _log.exception("step failed", loop=self.name)
            return _PAUSE_AFTER_ERROR
        self._outage.end(self.name)
        return 0 if more else self._every

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()


class Loops:
    """Those of a node, by name. They may be spoken of before they are there."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}
        self._outage = Outage()

    def add(self, name: str, step: Step, *, every: float) -> None:
        self._loops[name] = Loop(name, step, every=every, outage=self._outage)

    def names(self) -> list[str]:
        return list(self._loops)

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()
        _log.debug("loops started", count=len(self._loops))

    async def stop(self) -> None:
        for loop in self._loops.values():
            await loop.stop()
        _log.debug("loops stopped", count=len(self._loops))

    async def step(self, name: str) -> bool:
        """Do one step by hand; whether there may be more."""
        return await self._loops[name].step()

    def wake(self, name: str) -> None:
        self._loops[name].wake()

    def waking(self, name: str) -> Callable[[], None]:
        return partial(self.wake, name)
