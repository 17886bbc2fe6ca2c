"""What one attempt has said and the server has not been told yet.

Bounded: when more is said than can be told, the oldest is left out, and a line says how much. Lines keep their
numbers, so the gap can be seen. The mark has the number of the last line that it stands for.
"""

from collections import deque
from math import inf
from typing import NamedTuple

from tickwork.model.worker_protocol import LogLine, Micros

UNTOLD = 64 * 1024  # bytes of lines that may wait
RATE = 256 * 1024  # bytes of lines told in a second, while the attempt runs
LINE_COST = 64  # bytes: of a line beside its text
BETWEEN_PROGRESS = 0.5  # seconds
LONGEST_LINE = 8 * 1024  # characters
LONGEST_MESSAGE = 500  # characters
_HALF = LONGEST_LINE // 2

Progress = tuple[float, str | None]  # fraction, message


class LogPage(NamedTuple):
    """Torn off a notebook."""

    first: int
    lines: list[LogLine]
    progress: Progress | None
    size: int
    left_out: int = 0  # if any were, the first line says so


class _Entry(NamedTuple):
    line: LogLine
    size: int
    stands_for: int  # lines


class LogBuffer:
    def __init__(self) -> None:
        self._lines: deque[_Entry] = deque()
        self._size = 0
        self._next = 0  # number of the next line
        self._left_out = 0
        self._copied_at = 0
        self._unfinished: dict[str, _Unfinished] = {}  # by stream
        self._allowance = float(UNTOLD)
        self._allowed_at = inf
        self._progress: Progress | None = None
        self._progress_told_at = -inf

    @property
    def has_more(self) -> bool:
        return bool(self._lines or self._progress)

    def log(self, at: Micros, level: str, text: str) -> None:
        self.add(LogLine(at, level, _harmless(_cut(text))))

    def print(self, at: Micros, stream: str, text: str) -> None:
        """Text as it is printed, in pieces: what is not yet a whole line waits for its end."""
        unfinished = self._unfinished.get(stream) or self._unfinished.setdefault(stream, _Unfinished())
        *ends, rest = text.split("\n")
        for end in ends:
            unfinished.extend(end)
            self.add(LogLine(at, stream, unfinished.finish()))
        if rest:
            unfinished.extend(rest)

    def copy(self, page: LogPage, ahead: Micros) -> None:
        """From another notebook, by a clock that is behind. By how much is only as exact as pages are quick, so time
        is kept from going back."""
        stands_for = page.left_out or 1
        for line in page.lines:
            self._copied_at = max(self._copied_at, line.at + ahead)
            self.add(LogLine(self._copied_at, line.level, line.text), stands_for)
            stands_for = 1
        if page.progress:
            self.progress(*page.progress)

    def add(self, line: LogLine, stands_for: int = 1) -> None:
        size = len(line.text.encode()) + LINE_COST
        self._lines.append(_Entry(line, size, stands_for))
        self._size += size
        self._next += 1
        while self._size > UNTOLD:
            oldest = self._lines.popleft()
            self._size -= oldest.size
            self._left_out += oldest.stands_for

    def progress(self, fraction: float, message: str | None) -> None:
        self._progress = float(fraction), None if message is None else _short(_harmless(str(message)))

    def tear_off(self, now: float) -> LogPage | None:
        """What may be told now, while the attempt runs."""
        self._allow(now)
        return self._page(self._allowance, self._due_progress(now))

    def last_page(self, at: Micros) -> LogPage | None:
        for stream, unfinished in self._unfinished.items():
            if text := unfinished.finish():
                self.add(LogLine(at, stream, text))
        return self._page(UNTOLD, self._progress)

    def _allow(self, now: float) -> None:
        passed = max(now - self._allowed_at, 0.0)
        self._allowance = min(self._allowance + passed * RATE, UNTOLD)
        self._allowed_at = now

    def _due_progress(self, now: float) -> Progress | None:
        if not self._progress or now < self._progress_told_at + BETWEEN_PROGRESS:
            return None
        progress, self._progress = self._progress, None
        self._progress_told_at = now
        return progress

    def _page(self, limit: float, progress: Progress | None) -> LogPage | None:
        first = self._next - len(self._lines)
        lines, size = self._take_lines(limit)
        left_out = self._left_out if lines else 0
        if left_out:
            first -= 1
            lines.insert(0, LogLine(lines[0].at, "warning", _mark(left_out)))
            self._left_out = 0
        return LogPage(first, lines, progress, size + LINE_COST, left_out) if lines or progress else None

    def _take_lines(self, limit: float) -> tuple[list[LogLine], int]:
        lines, size = [], 0
        while self._lines and size + self._lines[0].size <= limit:
            entry = self._lines.popleft()
            lines.append(entry.line)
            size += entry.size
        self._size -= size
        self._allowance -= size
        return lines, size


class _Unfinished:
    """A line that is being printed. Of a very long one the beginning and the end are kept."""

    def __init__(self) -> None:
        self._text = ""
        self._left_out = 0

    def extend(self, piece: str) -> None:
        self._text += piece
        if len(self._text) > 2 * LONGEST_LINE:
            self._go_back()
            self._left_out += max(len(self._text) - LONGEST_LINE, 0)
            self._text = self._text[:_HALF] + self._text[_HALF:][-_HALF:]

    def finish(self) -> str:
        self._go_back()
        line = _harmless(_cut(self._text.rstrip("\r"), self._left_out))
        self._text, self._left_out = "", 0
        return line

    def _go_back(self) -> None:
        """To the line's beginning: a bar that grows counts as it was left."""
        start = self._text.rstrip("\r").rfind("\r") + 1
        if start:
            self._text, self._left_out = self._text[start:], 0


def _cut(text: str, left_out: int = 0) -> str:
    """Its middle is the least of it: an error begins with what happened and ends with where."""
    left_out += max(len(text) - LONGEST_LINE, 0)
    return f"{text[:_HALF]} … {left_out:,} characters left out … {text[-_HALF:]}" if left_out else text


def _short(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


def _mark(left_out: int) -> str:
    lines = "1 line" if left_out == 1 else f"{left_out:,} lines"
    return f"… {lines} left out: more than could be sent, which is {RATE // 1024} KiB a second"


def _harmless(text: str) -> str:
    """Without NUL and halves of characters, which cannot be sent or stored."""
    if text.isprintable():
        return text
    return text.replace("\0", "\\x00").encode(errors="backslashreplace").decode()
