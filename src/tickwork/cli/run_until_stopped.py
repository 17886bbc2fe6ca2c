"""Running until told to stop."""

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
    """What Ctrl-C and SIGTERM ask for: the first time to finish, the second time to break off."""

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
    """Begin anew with the same command line, process id, environment and standard streams."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (what was started before)


def leave_soon() -> None:
    """Users' code may have left threads and coroutines that never end; this process ends all the same."""
    timer = Timer(_LEAVE, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _collect_garbage_seldom() -> None:
    """A busy process makes many objects that live for a moment and hardly any cycles: by default, looking for those
    takes half of its time when a hundred thousand executions run at once."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
