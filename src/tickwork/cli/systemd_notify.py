"""Tells systemd how this process fares (`Type=notify`, `WatchdogSec=`). Without systemd nothing is told.

systemd kills and restarts a process whose watchdog stays silent. So it is told only what a restart can mend: the event
loop turns, and no loop of the node hangs. A database that is away is no reason: a new process would find it away, too.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

_MICROSECONDS = 1_000_000


class SystemdNotifier:
    def __init__(self, env: Mapping[str, str] = os.environ, pid: int | None = None) -> None:
        address = env.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_interval = _watchdog_interval(env, os.getpid() if pid is None else pid)

    def tell(self, *states: str) -> None:
        """A supervisor that does not listen is no reason to fail."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto("\n".join(states).encode(), self._address)

    def starting(self, status: str) -> None:
        self.tell(f"STATUS={status}")

    def stopping(self, status: str = "stopping") -> None:
        self.tell("STOPPING=1", f"STATUS={status}")

    @asynccontextmanager
    async def ready(self, status: str, is_well: Callable[[], bool]) -> AsyncIterator[None]:
        """Tell that the process is ready, and then again and again that it is well, for the time of this block."""
        self.tell("READY=1", f"STATUS={status}", f"MAINPID={os.getpid()}")
        watchdog = asyncio.create_task(self._keep_telling(is_well))
        try:
            yield
        finally:
            watchdog.cancel()

    async def _keep_telling(self, is_well: Callable[[], bool]) -> None:
        while self.watchdog_interval:
            if is_well():
                self.tell("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_interval)


def _watchdog_interval(env: Mapping[str, str], pid: int) -> float:
    """Seconds between two signs of life: half of what systemd allows. 0: it expects none of this process."""
    meant_for = env.get("WATCHDOG_PID", "")
    if meant_for and meant_for != str(pid):
        return 0.0
    allowed = env.get("WATCHDOG_USEC", "")
    return int(allowed) / _MICROSECONDS / 2 if allowed.isdigit() else 0.0
