"""Run until a signal asks to stop; replace or leave the process."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Coroutine
from threading import Timer
from typing import Any, NoReturn

_LEAVE = 5.0  # seconds


class Stop:
    """Ctrl-C and SIGTERM: the first asks to finish, the second to stop at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.ask)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.ask))

    def ask(self) -> None:
        (self.at_once if self.asked.is_set() else self.asked).set()


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    _collect_garbage_seldom()
    if sys.platform == "win32":
        asyncio.run(main)
    else:
        import uvloop

        uvloop.run(main)


def replace_process() -> NoReturn:
    """Restart with the same command line, process id, environment and standard streams."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (what was started before)


def leave_soon() -> None:
    """End this process soon, even if user code has left threads or coroutines that never end."""
    timer = Timer(_LEAVE, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _collect_garbage_seldom() -> None:
    """A busy process creates many short-lived objects and hardly any cycles. With the default thresholds, looking for
    cycles takes half of the time when a hundred thousand executions run at once."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
