"""A command on a terminal, as somebody sits before it."""

import os
import pty
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import ioctl
from select import select
from termios import TIOCSWINSZ
from time import monotonic

import pytest

_WITHIN = 60.0


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self._process = process
        self._side = side
        self.shown = ""

    def until(self, text: str) -> None:
        """Until this has been shown."""
        deadline = monotonic() + _WITHIN
        while text not in self.shown:
            if monotonic() > deadline or not self._read():
                pytest.fail(f"{text!r} was never shown, but: {self.shown}")

    def press(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Its exit code; what it still shows is read on the way."""
        deadline = monotonic() + _WITHIN
        while self._read():
            if monotonic() > deadline:
                pytest.fail(f"it does not end, but shows: {self.shown}")
        return self._process.wait(_WITHIN)

    def _read(self) -> bool:
        ready, _, _ = select([self._side], [], [], _WITHIN)
        if not ready:
            return False
        try:
            seen = os.read(self._side, 65536)
        except OSError:  # it has ended
            return False
        self.shown += seen.decode(errors="replace")
        return bool(seen)


@contextmanager
def on_terminal(
    *words: str, env: Mapping[str, str], columns: int = 120, lines: int = 40
) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "tickwork.cli", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 (calls nothing but the system)
        env={**os.environ, "TERM": "xterm-256color", **env},
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _heed_ctrl_c() -> None:
    """A run of tests in the background ignores SIGINT, and what it starts would do the same."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
