"""Run a process until a signal stops it; restart it; exit from it."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Coroutine
from threading import Timer
from typing import Any, NoReturn

_EXIT_AFTER = 5.0  # seconds


class StopRequest:
    """Set by Ctrl-C and SIGTERM: the first one means to finish running work, the second one to stop immediately."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self.immediate = asyncio.Event()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._on_signal)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._on_signal))

    def _on_signal(self) -> None:
        (self.immediate if self.received.is_set() else self.received).set()


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    _collect_garbage_rarely()
    if sys.platform == "win32":
        asyncio.run(main)
    else:
        import uvloop

        uvloop.run(main)


def replace_process() -> NoReturn:
    """Restart with the same command line, process id, environment and standard streams."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (the same command again)


def exit_soon() -> None:
    """Exit soon, even if user code has left threads or coroutines that never end."""
    timer = Timer(_EXIT_AFTER, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _collect_garbage_rarely() -> None:
    """A busy process creates many short-lived objects and hardly any cycles. With the default thresholds, the search
    for cycles takes half of the time when a hundred thousand executions run at once."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
