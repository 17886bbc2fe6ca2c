"""Writes the log lines and the progress of attempts.

Like outcomes, they are collected while the last batch is written, and stay in memory until they are committed. Unlike
outcomes, they may be lost: when the database is away for long, the oldest are dropped.
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import groupby

from prometheus_client import Counter

from tickwork.loop import Wake
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.event_after_commit import LogWritten, Publish
from tickwork.model.execution import ExecutionKey, Progress
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import LogLine, Note, execution_key
from tickwork.store.port.record import Claimed, Logged, LogStore, ProgressNote, UsageNote

_MOST = 200  # messages written together
_MOST_BYTES = 32 * 1024 * 1024  # in memory
_OVERHEAD = 200  # bytes of a note or line besides its text, roughly
_LINES = Counter("tickwork_log_lines_total", "Lines that attempts logged, kept or a repeat.")
_DROPPED = Counter(
    "tickwork_log_lines_dropped_total",
    "Lines given up because the database was away for long, or could not take them.",
)


class _Submission:
    __slots__ = ("notes", "size", "worker_id", "written")

    def __init__(self, worker_id: int, notes: Sequence[Note], written: Callable[[], None]) -> None:
        self.worker_id = worker_id
        self.notes = notes
        self.written = written
        self.size = sum(map(_size, notes))


class LogWriter:
    def __init__(
        self,
        store: LogStore,
        wake: Wake,
        publish: Publish,
    ) -> None:
        self._store = store
        self._wake = wake
        self._publish = publish
        self._waiting: deque[_Submission] = deque()
        self._waiting_bytes = 0
        self._batch: list[_Submission] = []
        self._progress: dict[Claimed, ProgressNote] = {}
        self._isolation = BadRowIsolation("write logs")

    def submit(self, worker_id: int, notes: Sequence[Note], written: Callable[[], None]) -> None:
        submission = _Submission(worker_id, notes, written)
        self._waiting.append(submission)
        self._waiting_bytes += submission.size
        while self._waiting_bytes > _MOST_BYTES:
            dropped = self._next()
            _DROPPED.inc(_count([dropped]))
            dropped.written()
        self._wake.write_logs()

    async def write(self) -> bool:
        """Write a batch; whether there was one."""
        if not self._batch:
            self._take_batch()
        await self._isolation.run_batch(self._batch, self._write_lines, self._drop)
        await self._write_progress()
        batch, self._batch = self._batch, []
        _LINES.inc(_count(batch))
        for submission in batch:
            submission.written()
        if batch:
            keys = {execution_key(note) for submission in batch for note in submission.notes}
            self._publish(LogWritten(keys))
        return bool(batch)

    async def _write_lines(self, batch: Sequence[_Submission]) -> None:
        await self._store.keep(_logged(batch))
        if used := _used(batch):
            await self._store.keep_usage(used)

    async def _drop(self, submission: _Submission, _: Exception) -> None:
        _DROPPED.inc(_count([submission]))

    def _take_batch(self) -> None:
        self._batch = [self._next() for _ in range(min(_MOST, len(self._waiting)))]
        for submission in self._batch:
            for note in submission.notes:
                if note.fraction is not None:
                    claimed = Claimed(execution_key(note), submission.worker_id, note.attempt)
                    progress = Progress(note.fraction, note.message)
                    started_at = from_micros(note.started) if note.started else None
                    self._progress[claimed] = ProgressNote(claimed, progress, started_at)

    def _next(self) -> _Submission:
        submission = self._waiting.popleft()
        self._waiting_bytes -= submission.size
        return submission

    async def _write_progress(self) -> None:
        if self._progress:
            to_repeat = await self._store.set_progress([*self._progress.values()])
            self._progress = {progress.claimed: progress for progress in to_repeat}


def _logged(batch: Sequence[_Submission]) -> list[Logged]:
    """The lines of each attempt, in order and without repetitions."""
    lines: dict[tuple[ExecutionKey, int], dict[int, LogLine]] = {}
    for submission in batch:
        for note in submission.notes:
            if note.lines:
                of_attempt = lines.setdefault((execution_key(note), note.attempt), {})
                of_attempt.update(enumerate(note.lines, note.first))
    return [
        Logged(key, attempt, first, consecutive)
        for (key, attempt), numbered in lines.items()
        for first, consecutive in _consecutive(numbered)
    ]


def _used(batch: Sequence[_Submission]) -> list[UsageNote]:
    return [
        UsageNote(execution_key(note), note.attempt, note.usage)
        for submission in batch
        for note in submission.notes
        if note.usage
    ]


def _consecutive(numbered: dict[int, LogLine]) -> list[tuple[int, list[LogLine]]]:
    """Groups of lines with consecutive numbers, each with its first number."""
    in_order = enumerate(sorted(numbered.items()))
    groups = [list(group) for _, group in groupby(in_order, lambda each: each[1][0] - each[0])]
    return [(group[0][1][0], [line for _, (_, line) in group]) for group in groups]


def _size(note: Note) -> int:
    return _OVERHEAD + sum(_OVERHEAD + len(line.text) for line in note.lines)


def _count(batch: Sequence[_Submission]) -> int:
    return sum(len(note.lines) for submission in batch for note in submission.notes)
