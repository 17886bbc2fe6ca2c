"""Progress of a scenario, on stderr."""

import sys
from collections.abc import Callable
from time import monotonic

_BETWEEN = 0.5  # seconds between updates


class Show:
    """One line that is written over and over on a terminal, and now and then elsewhere."""

    def __init__(self) -> None:
        self._begun = monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        self._end_line()
        sys.stderr.write(self._timed(text) + "\n")
        sys.stderr.flush()

    def update(self, text: str) -> None:
        now = monotonic()
        if now - self._shown < (_BETWEEN if self._live else 10 * _BETWEEN):
            return
        self._shown = now
        sys.stderr.write(f"\r\x1b[K{self._timed(text)}" if self._live else self._timed(text) + "\n")
        sys.stderr.flush()

    def counter(self, what: str, of: int) -> Callable[[int], None]:
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.update(f"{what}: {done:,} of {of:,}")

        return count

    def _timed(self, text: str) -> str:
        return f"{monotonic() - self._begun:6.1f} s  {text}"

    def _end_line(self) -> None:
        if self._live and self._shown:
            sys.stderr.write("\r\x1b[K")
