"""Log lines and progress of all attempts, kept within bounds until the server acknowledges that they are stored.

A task logs from any thread. An attempt gets a buffer only when it logs something.
"""

from collections import deque
from collections.abc import Collection
from itertools import chain
from threading import RLock
from typing import NamedTuple

from tickwork.execute.attempt_state import Attempt, Key
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.log.buffer import LINE_COST, LogBatch, LogBuffer
from tickwork.model.process_limits import Usage
from tickwork.model.worker_protocol import Micros, Note, Notes

COLLECT_INTERVAL = 0.2  # seconds between collections from the buffers of running attempts
_LARGEST_MESSAGE = 256 * 1024  # bytes
_COLLECT_BELOW = (
    1024 * 1024
)  # bytes not yet acknowledged; from here on nothing is collected from running attempts
_MAX_PENDING = 16 * 1024 * 1024  # bytes not yet acknowledged; above this the oldest are dropped


class _Pending(NamedTuple):
    key: Key
    note: Note
    size: int


class LogOutbox:
    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        self._lock = RLock()  # reentrant: a destructor that the garbage collector calls here may print
        self._buffers: dict[Attempt, LogBuffer] = {}
        self._waiting: deque[_Pending] = deque()
        self._sent: dict[int, list[_Pending]] = {}
        self._pending_bytes = 0  # bytes in _waiting and _sent
        self._number = 0
        self._next_collect = 0.0

    @property
    def has_unsent(self) -> bool:
        return bool(self._buffers or self._waiting)

    # Called by tasks, from any thread

    def log(self, attempt: Attempt, level: str, text: str) -> None:
        with self._lock:
            if buffer := self._buffer_of(attempt):
                buffer.log(self._clock.now(), level, text)

    def print(self, attempt: Attempt, stream: str, text: str) -> None:
        with self._lock:
            if buffer := self._buffer_of(attempt):
                buffer.print(self._clock.now(), stream, text)

    def progress(self, attempt: Attempt, fraction: float, message: str | None) -> None:
        with self._lock:
            if buffer := self._buffer_of(attempt):
                buffer.progress(fraction, message)

    def add_batch(self, attempt: Attempt, now: Micros, batch: LogBatch) -> None:
        """Add what a child process logged. Its clock showed `now` when it sent the batch."""
        with self._lock:
            if buffer := self._buffer_of(attempt):
                buffer.add_batch(batch, clock_offset=self._clock.now() - now)

    def report_usage(self, attempt: Attempt, usage: Usage) -> None:
        """Queue what the attempt's process has used, so that it is sent before the outcome."""
        with self._lock:
            if not attempt.done:
                self._queue_note(attempt, Note(*attempt.key, started=attempt.started, usage=usage), LINE_COST)

    def close(self, attempt: Attempt) -> None:
        """Queue the rest of an attempt that has ended, so that it is sent before the outcome."""
        with self._lock:
            attempt.has_log = False
            buffer = self._buffers.pop(attempt, None)
            if buffer and (batch := buffer.take_rest(self._clock.now())):
                self._queue(attempt, batch)

    # Sent to the server

    def next_messages(self) -> list[Notes]:
        """What to send now. Running attempts are collected from once per COLLECT_INTERVAL."""
        with self._lock:
            now = self._clock.elapsed()
            if self._buffers and now >= self._next_collect and self._pending_bytes < _COLLECT_BELOW:
                self._next_collect = now + COLLECT_INTERVAL
                self._collect(now)
            return self._messages()

    def acknowledge(self, number: int) -> None:
        with self._lock:
            self._pending_bytes -= sum(pending.size for pending in self._sent.pop(number, []))

    def resend(self) -> None:
        with self._lock:
            self._waiting = deque(chain(*self._sent.values(), self._waiting))
            self._sent.clear()

    def forget(self, attempts: Collection[Attempt]) -> None:
        with self._lock:
            for attempt in attempts:
                self._buffers.pop(attempt, None)
            keys = {attempt.key for attempt in attempts}
            self._waiting = deque(pending for pending in self._waiting if pending.key not in keys)
            for number, sent in self._sent.items():
                self._sent[number] = [pending for pending in sent if pending.key not in keys]
            self._pending_bytes = sum(pending.size for pending in chain(self._waiting, *self._sent.values()))

    def clear(self) -> None:
        with self._lock:
            self._buffers.clear()
            self._waiting.clear()
            self._sent.clear()
            self._pending_bytes = 0

    def _buffer_of(self, attempt: Attempt) -> LogBuffer | None:
        if attempt.done:
            return None  # its code still runs, but its outcome is already queued
        if attempt not in self._buffers:
            attempt.has_log = True
            self._buffers[attempt] = LogBuffer()
        return self._buffers[attempt]

    def _collect(self, now: float) -> None:
        for attempt, buffer in list(self._buffers.items()):
            if attempt.done:
                self.close(attempt)  # a thread logged its first line at the moment of the end
            elif batch := buffer.take_batch(now):
                self._queue(attempt, batch)

    def _queue(self, attempt: Attempt, batch: LogBatch) -> None:
        fraction, message = batch.progress or (None, None)
        note = Note(*attempt.key, batch.first, batch.lines, fraction, message, attempt.started)
        self._queue_note(attempt, note, batch.size)

    def _queue_note(self, attempt: Attempt, note: Note, size: int) -> None:
        self._waiting.append(_Pending(attempt.key, note, size))
        self._pending_bytes += size
        while self._pending_bytes > _MAX_PENDING:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        if self._sent:
            self.acknowledge(next(iter(self._sent)))
        else:
            self._pending_bytes -= self._waiting.popleft().size

    def _messages(self) -> list[Notes]:
        messages = []
        while self._waiting:
            self._number += 1
            batch = self._sent[self._number] = self._next_batch()
            messages.append(Notes(self._number, [pending.note for pending in batch]))
        return messages

    def _next_batch(self) -> list[_Pending]:
        batch = [self._waiting.popleft()]
        size = batch[0].size
        while self._waiting and size + self._waiting[0].size <= _LARGEST_MESSAGE:
            size += self._waiting[0].size
            batch.append(self._waiting.popleft())
        return batch
