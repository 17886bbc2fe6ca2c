"""The loops of a server node, and the start/stop contract of each."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import structlog

from tickwork.model.errors import Unavailable

_log = structlog.get_logger("tickwork")
_PAUSE_WHEN_UNAVAILABLE = 0.25
_PAUSE_AFTER_ERROR = 1.0

Step: TypeAlias = Callable[[], Awaitable[bool]]


class Loop:
    """Does a step again and again: at once while a step says there is more, else after a pause or when woken.

    Nothing ends it but `stop`: a database that is away is waited for, and an error is logged and survived.
    """

    def __init__(self, name: str, step: Step, *, every: float) -> None:
        self.name = name
        self.step = step
        self._every = every
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._unavailable = False  # said once, not at every try

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
        except Unavailable as error:
            if not self._unavailable:
                _log.warning("database unavailable", loop=self.name, error=str(error))
            self._unavailable = True
            return _PAUSE_WHEN_UNAVAILABLE
        except Exception:  # noqa: BLE001 (a loop that ends is a node that only looks alive)
            _log.exception("step failed", loop=self.name)
            return _PAUSE_AFTER_ERROR
        self._unavailable = False
        return 0 if more else self._every

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()


class Loops:
    """Those of a node, by name. They may be spoken of before they are there."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}

    def add(self, name: str, step: Step, *, every: float) -> None:
        self._loops[name] = Loop(name, step, every=every)

    def names(self) -> list[str]:
        return list(self._loops)

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()

    async def stop(self) -> None:
        for loop in self._loops.values():
            await loop.stop()

    async def step(self, name: str) -> bool:
        """Do one step by hand; whether there may be more."""
        return await self._loops[name].step()

    def wake(self, name: str) -> None:
        self._loops[name].wake()

    def waking(self, name: str) -> Callable[[], None]:
        return partial(self.wake, name)
