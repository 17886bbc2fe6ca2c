"""The log lines and progress of one attempt that are not sent yet.

The buffer is bounded: when a task logs faster than lines may be sent, the oldest are dropped, and a notice in their
place says how many. Lines keep their numbers, so the gap is visible; the notice has the number of the last dropped one.
"""

from collections import deque
from math import inf
from typing import NamedTuple

from tickwork.model.worker_protocol import LogLine, Micros

MAX_UNSENT = 64 * 1024  # bytes of lines in the buffer
RATE = 256 * 1024  # bytes of lines sent per second while the attempt runs
LINE_COST = 64  # bytes that a line counts for besides its text
PROGRESS_INTERVAL = 0.5  # seconds
LONGEST_LINE = 8 * 1024  # characters
LONGEST_MESSAGE = 500  # characters
_HALF = LONGEST_LINE // 2

Progress = tuple[float, str | None]  # fraction, message


class LogBatch(NamedTuple):
    first: int
    lines: list[LogLine]
    progress: Progress | None
    size: int
    left_out: int = 0  # lines that were dropped; if any, lines[0] is the notice about them


class _Entry(NamedTuple):
    line: LogLine
    size: int
    represents: int  # 1, or for a notice the number of lines that were dropped


class LogBuffer:
    def __init__(self) -> None:
        self._lines: deque[_Entry] = deque()
        self._size = 0
        self._next = 0  # number of the next line
        self._left_out = 0
        self._last_copied_at = 0
        self._partial: dict[str, _PartialLine] = {}  # by stream
        self._allowance = float(MAX_UNSENT)
        self._refilled_at = inf
        self._progress: Progress | None = None
        self._progress_sent_at = -inf

    @property
    def has_more(self) -> bool:
        return bool(self._lines or self._progress)

    def log(self, at: Micros, level: str, text: str) -> None:
        self.add(LogLine(at, level, _storable(_cut_middle(text))))

    def print(self, at: Micros, stream: str, text: str) -> None:
        """Add printed text, which comes in pieces. An incomplete line waits for its end."""
        partial = self._partial.get(stream) or self._partial.setdefault(stream, _PartialLine())
        *ends, rest = text.split("\n")
        for end in ends:
            partial.extend(end)
            self.add(LogLine(at, stream, partial.finish()))
        if rest:
            partial.extend(rest)

    def add_batch(self, batch: LogBatch, clock_offset: Micros) -> None:
        """Add the batch of a child process, whose clock is behind ours by `clock_offset`. The offset varies with how
        long batches take to arrive, so times are kept from going back."""
        represents = batch.left_out or 1
        for line in batch.lines:
            self._last_copied_at = max(self._last_copied_at, line.at + clock_offset)
            self.add(LogLine(self._last_copied_at, line.level, line.text), represents)
            represents = 1
        if batch.progress:
            self.progress(*batch.progress)

    def add(self, line: LogLine, represents: int = 1) -> None:
        size = len(line.text.encode()) + LINE_COST
        self._lines.append(_Entry(line, size, represents))
        self._size += size
        self._next += 1
        while self._size > MAX_UNSENT:
            oldest = self._lines.popleft()
            self._size -= oldest.size
            self._left_out += oldest.represents

    def progress(self, fraction: float, message: str | None) -> None:
        self._progress = float(fraction), None if message is None else _shorten(_storable(str(message)))

    def take_batch(self, now: float) -> LogBatch | None:
        """What may be sent now, while the attempt runs."""
        self._refill_allowance(now)
        return self._make_batch(self._allowance, self._due_progress(now))

    def take_rest(self, at: Micros) -> LogBatch | None:
        for stream, partial in self._partial.items():
            if text := partial.finish():
                self.add(LogLine(at, stream, text))
        return self._make_batch(MAX_UNSENT, self._progress)

    def _refill_allowance(self, now: float) -> None:
        passed = max(now - self._refilled_at, 0.0)
        self._allowance = min(self._allowance + passed * RATE, MAX_UNSENT)
        self._refilled_at = now

    def _due_progress(self, now: float) -> Progress | None:
        if not self._progress or now < self._progress_sent_at + PROGRESS_INTERVAL:
            return None
        progress, self._progress = self._progress, None
        self._progress_sent_at = now
        return progress

    def _make_batch(self, limit: float, progress: Progress | None) -> LogBatch | None:
        first = self._next - len(self._lines)
        lines, size = self._take_lines(limit)
        left_out = self._left_out if lines else 0
        if left_out:
            first -= 1
            lines.insert(0, LogLine(lines[0].at, "warning", _gap_notice(left_out)))
            self._left_out = 0
        return LogBatch(first, lines, progress, size + LINE_COST, left_out) if lines or progress else None

    def _take_lines(self, limit: float) -> tuple[list[LogLine], int]:
        lines, size = [], 0
        while self._lines and size + self._lines[0].size <= limit:
            entry = self._lines.popleft()
            lines.append(entry.line)
            size += entry.size
        self._size -= size
        self._allowance -= size
        return lines, size


class _PartialLine:
    """A line that is not complete yet. A very long one keeps only its beginning and its end."""

    def __init__(self) -> None:
        self._text = ""
        self._left_out = 0

    def extend(self, piece: str) -> None:
        self._text += piece
        if len(self._text) > 2 * LONGEST_LINE:
            self._drop_overwritten()
            self._left_out += max(len(self._text) - LONGEST_LINE, 0)
            self._text = self._text[:_HALF] + self._text[_HALF:][-_HALF:]

    def finish(self) -> str:
        self._drop_overwritten()
        line = _storable(_cut_middle(self._text.rstrip("\r"), self._left_out))
        self._text, self._left_out = "", 0
        return line

    def _drop_overwritten(self) -> None:
        """Drop what a carriage return overwrites, so that a progress bar is logged in its last state only."""
        start = self._text.rstrip("\r").rfind("\r") + 1
        if start:
            self._text, self._left_out = self._text[start:], 0


def _cut_middle(text: str, left_out: int = 0) -> str:
    """Drop the middle of a long text: an error says at the beginning what happened and at the end where."""
    left_out += max(len(text) - LONGEST_LINE, 0)
    return f"{text[:_HALF]} … {left_out:,} characters left out … {text[-_HALF:]}" if left_out else text


def _shorten(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


def _gap_notice(left_out: int) -> str:
    lines = "1 line" if left_out == 1 else f"{left_out:,} lines"
    return f"… {lines} left out: more than could be sent, which is {RATE // 1024} KiB a second"


def _storable(text: str) -> str:
    """Escape NUL and lone surrogates, which cannot be sent or stored."""
    if text.isprintable():
        return text
    return text.replace("\0", "\\x00").encode(errors="backslashreplace").decode()
