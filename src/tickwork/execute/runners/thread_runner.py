"""Runs `def` tasks in threads, one for each attempt that runs at the same time.

The threads are daemons: a task that never ends must not keep the worker's process alive.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

from tickwork.execute.attempt_ending import Ending, ending_of_call, unchanged
from tickwork.execute.attempt_state import Attempt, Handler, arguments_of
from tickwork.model.task import TaskDefinition


class _Call(NamedTuple):
    run: Callable[[], Ending]
    ended: asyncio.Future[Ending]


class ThreadRunner:
    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = 0
        self._busy = 0

    def handler(self, task: TaskDefinition) -> Handler:
        return Handler(partial(self._run, task), unchanged, task.context_parameter is not None)

    def close(self) -> None:
        for _ in range(self._threads):
            self._calls.put(None)

    async def _run(self, task: TaskDefinition, attempt: Attempt) -> Ending:
        call = partial(task.function, **arguments_of(task, attempt.run, attempt.make_context))
        ended = self._start(partial(copy_context().run, ending_of_call, call))
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            await asyncio.wait({ended})  # a thread cannot be stopped: its slot stays taken until it ends
            raise

    def _start(self, run: Callable[[], Ending]) -> asyncio.Future[Ending]:
        ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._busy += 1
        self._calls.put(_Call(run, ended))
        if self._threads < self._busy:
            self._threads += 1
            Thread(target=self._serve, name=f"tickwork task {self._threads}", daemon=True).start()
        return ended

    def _serve(self) -> None:
        while call := self._calls.get():
            ending = call.run()
            with suppress(RuntimeError):  # the loop is closed
                call.ended.get_loop().call_soon_threadsafe(self._deliver, call.ended, ending)

    def _deliver(self, ended: asyncio.Future[Ending], ending: Ending) -> None:
        self._busy -= 1
        if not ended.done():
            ended.set_result(ending)
