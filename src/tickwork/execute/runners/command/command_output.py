"""What a command prints, on its way to the log: in lines, without secrets, and only as much as the log can take."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from tickwork.execute.attempt_state import Attempt
from tickwork.model.http_secrets import mask_secrets

STDOUT, STDERR = 1, 2
_NAMES = {STDOUT: "stdout", STDERR: "stderr"}
_FLUSH_INTERVAL = 0.1  # seconds
_MOST_BYTES = 64 * 1024  # of one stream in this time; of what is more, the end is logged
_MOST_LINES = 1000
_TOO_FAST = 4 * 1024 * 1024  # bytes in this time, after which the command must wait
_TAIL_LINES = 10
_TAIL_CHARACTERS = 1000


class _Stream:
    def __init__(self, name: str) -> None:
        self.name = name
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._received = bytearray()
        self._left_out = 0  # bytes

    def add(self, data: bytes) -> None:
        self._received += data[-_MOST_BYTES:]
        self._left_out += max(len(data) - _MOST_BYTES, 0)
        if len(self._received) > 2 * _MOST_BYTES:
            self._drop(len(self._received) - _MOST_BYTES)

    def take_lines(self, *, is_end: bool) -> list[str]:
        """The complete lines; at the end, also the last one."""
        end = len(self._received) if is_end else self._received.rfind(b"\n") + 1
        if not end and len(self._received) > _MOST_BYTES:
            end = len(self._received)  # a very long line is logged in pieces
        data = bytes(self._received[:end])
        del self._received[:end]
        *older, newer = [data] if data.count(b"\n") <= _MOST_LINES else _split(data)
        self._left_out += sum(map(len, older))
        lines = newer.decode(errors="backslashreplace").removesuffix("\n").split("\n") if newer else []
        if self._left_out and lines:
            lines.insert(0, f"… {self._left_out:,} bytes of output left out")
            self._left_out = 0
        return lines

    def _drop(self, size: int) -> None:
        end = self._received.find(b"\n", size) + 1 or size
        del self._received[:end]
        self._left_out += end


def _split(data: bytes) -> tuple[bytes, bytes]:
    """What is too much, and the last lines."""
    newer = b"\n".join(data.rsplit(b"\n", _MOST_LINES)[1:])
    return data[: len(data) - len(newer)], newer


class CommandOutput:
    def __init__(
        self,
        attempt: Attempt,
        secrets: Sequence[str],
        limit: int,
        *,
        exceeded: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        """`limit`: bytes after which `exceeded` is called. `pause`, `resume`: reading what it prints."""
        self._attempt = attempt
        self._secrets = secrets
        self._limit = limit
        self._exceeded = exceeded
        self._pause = pause
        self._resume = resume
        self._streams = {number: _Stream(name) for number, name in _NAMES.items()}
        self._total = 0
        self._since_flush = 0
        self._flush_due: asyncio.TimerHandle | None = None
        self.is_too_much = False

    def add(self, stream: int, data: bytes) -> None:
        self._total += len(data)
        self._since_flush += len(data)
        self._streams[stream].add(data)
        if self._flush_due is None:
            self._flush_due = asyncio.get_running_loop().call_later(_FLUSH_INTERVAL, self._flush)
        if self._total > self._limit and not self.is_too_much:
            self.is_too_much = True
            self._exceeded()
        if self._since_flush > _TOO_FAST:
            self._pause()

    def tail(self) -> str:
        """The last lines: of stderr, where programs say what went wrong, or else of stdout."""
        lines = self._streams[STDERR].tail or self._streams[STDOUT].tail
        return "\n".join(lines)[-_TAIL_CHARACTERS:]

    def close(self) -> None:
        if self._flush_due:
            self._flush_due.cancel()
        self._log(is_end=True)

    def _flush(self) -> None:
        self._flush_due = None
        self._log(is_end=False)
        if self._since_flush > _TOO_FAST:
            self._resume()
        self._since_flush = 0

    def _log(self, *, is_end: bool) -> None:
        for stream in self._streams.values():
            lines = stream.take_lines(is_end=is_end)
            if lines:
                text = mask_secrets("\n".join(lines), self._secrets)
                stream.tail.extend(line for line in text.split("\n") if line.strip())
                self._attempt.print(stream.name, text + "\n")
