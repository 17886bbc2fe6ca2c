"""Running until told to stop."""

import asyncio
import gc
import signal
import sys
from collections.abc import Coroutine
from typing import Any


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


def _collect_garbage_seldom() -> None:
    """A busy process makes many objects that live for a moment and hardly any cycles: by default, looking for those
    takes half of its time when a hundred thousand executions run at once."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
