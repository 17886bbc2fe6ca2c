"""Sees, from a thread of its own, that a task blocks the event loop, and says where.

Such a task cannot be stopped, and while it goes on nothing renews the lease: whoever reads the log should learn which
code it is, even if it never returns.
"""

import asyncio
import sys
import traceback
from threading import Event, Thread, get_ident

import structlog

_INTERVAL = 1.0  # seconds between looks
_BLOCKED = 5  # looks without a sign of life; a frozen process makes no looks either
_SHOWN = 3  # innermost calls

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


class BlockedLoopWatch:
    def __init__(self) -> None:
        self._heartbeats = 0
        self._closed = Event()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._heartbeat()
        Thread(target=self._watch, args=(get_ident(),), name="tickwork watch", daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        if self._timer:
            self._timer.cancel()

    def _heartbeat(self) -> None:
        self._heartbeats += 1
        self._timer = asyncio.get_running_loop().call_later(_INTERVAL, self._heartbeat)

    def _watch(self, loop_thread: int) -> None:
        last_seen, missed = 0, 0
        while not self._closed.wait(_INTERVAL):
            missed = missed + 1 if self._heartbeats == last_seen else 0
            last_seen = self._heartbeats
            if missed == _BLOCKED:
                _log.warning(
                    "a task blocks the worker: nothing else runs until it returns, and the lease may run out",
                    where=_innermost_calls(loop_thread),
                )


def _innermost_calls(thread: int) -> str:
    calls = traceback.extract_stack(sys._current_frames()[thread])[-_SHOWN:]  # noqa: SLF001 (the way to see another thread)
    return " < ".join(f"{call.filename}:{call.lineno} {call.name}" for call in reversed(calls))
