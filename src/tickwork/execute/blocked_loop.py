"""Detects from its own thread that a task blocks the event loop, and logs where.

Such a task cannot be stopped, and nothing renews the lease until it returns, so the log must name the code even if it
never returns.
"""

import asyncio
import sys
import traceback
from threading import Event, Thread, get_ident

import structlog

_INTERVAL = 1.0  # seconds between heartbeats of the event loop, and between checks
_BLOCKED = 5  # checks without a heartbeat; counting checks, not seconds, ignores time in which the process was frozen
_SHOWN = 3  # innermost calls in the log line

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
