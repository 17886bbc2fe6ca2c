"""What attempts say, on its way to the server: kept until it says that it is stored, within bounds.

A task writes from any thread. Nothing is made for an attempt before its first word.
"""

from collections import deque
from collections.abc import Collection
from itertools import chain
from threading import RLock
from typing import NamedTuple

from tickwork.execute.attempt import Attempt, Key
from tickwork.execute.clock import DatabaseClock
from tickwork.execute.log.buffer import LogBuffer, LogPage
from tickwork.model.worker_protocol import Micros, Note, Notes

BETWEEN_LOOKS = 0.2  # seconds in which what running attempts say gathers
_LARGEST_MESSAGE = 256 * 1024  # bytes
_WINDOW = 1024 * 1024  # bytes not yet stored, after which running attempts are not looked at
_KEPT = 16 * 1024 * 1024  # bytes not yet stored, after which the oldest are let go


class _Kept(NamedTuple):
    key: Key
    note: Note
    size: int


class LogOutbox:
    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        self._lock = RLock()  # what is collected as garbage meanwhile may print, too
        self._speaking: dict[Attempt, LogBuffer] = {}
        self._waiting: deque[_Kept] = deque()
        self._sent: dict[int, list[_Kept]] = {}
        self._kept = 0  # bytes in both
        self._number = 0
        self._next_look = 0.0

    @property
    def has_news(self) -> bool:
        return bool(self._speaking or self._waiting)

    # Said by tasks

    def log(self, attempt: Attempt, level: str, text: str) -> None:
        with self._lock:
            if book := self._book_of(attempt):
                book.log(self._clock.now(), level, text)

    def print(self, attempt: Attempt, stream: str, text: str) -> None:
        with self._lock:
            if book := self._book_of(attempt):
                book.print(self._clock.now(), stream, text)

    def progress(self, attempt: Attempt, fraction: float, message: str | None) -> None:
        with self._lock:
            if book := self._book_of(attempt):
                book.progress(fraction, message)

    def copy(self, attempt: Attempt, now: Micros, page: LogPage) -> None:
        """From the notebook of a child process, whose clock showed `now` when it tore the page off."""
        with self._lock:
            if book := self._book_of(attempt):
                book.copy(page, ahead=self._clock.now() - now)

    def close(self, attempt: Attempt) -> None:
        """It has ended: all the rest is told, before its outcome."""
        with self._lock:
            attempt.speaks = False
            book = self._speaking.pop(attempt, None)
            if book and (page := book.last_page(self._clock.now())):
                self._put(attempt, page)

    # Told to the server

    def take(self) -> list[Notes]:
        """All that is to be told now; what running attempts say, only now and then."""
        with self._lock:
            now = self._clock.elapsed()
            if self._speaking and now >= self._next_look and self._kept < _WINDOW:
                self._next_look = now + BETWEEN_LOOKS
                self._look(now)
            return self._messages()

    def acknowledge(self, number: int) -> None:
        with self._lock:
            self._kept -= sum(kept.size for kept in self._sent.pop(number, []))

    def resend(self) -> None:
        with self._lock:
            self._waiting = deque(chain(*self._sent.values(), self._waiting))
            self._sent.clear()

    def forget(self, attempts: Collection[Attempt]) -> None:
        with self._lock:
            for attempt in attempts:
                self._speaking.pop(attempt, None)
            keys = {attempt.key for attempt in attempts}
            self._waiting = deque(kept for kept in self._waiting if kept.key not in keys)
            for number, sent in self._sent.items():
                self._sent[number] = [kept for kept in sent if kept.key not in keys]
            self._kept = sum(kept.size for kept in chain(self._waiting, *self._sent.values()))

    def clear(self) -> None:
        with self._lock:
            self._speaking.clear()
            self._waiting.clear()
            self._sent.clear()
            self._kept = 0

    def _book_of(self, attempt: Attempt) -> LogBuffer | None:
        if attempt.settled:
            return None  # its code goes on, but nobody waits for it any more
        if attempt not in self._speaking:
            attempt.speaks = True
            self._speaking[attempt] = LogBuffer()
        return self._speaking[attempt]

    def _look(self, now: float) -> None:
        for attempt, book in list(self._speaking.items()):
            if attempt.settled:
                self.close(attempt)  # its first word came in the moment in which it ended
            elif page := book.tear_off(now):
                self._put(attempt, page)

    def _put(self, attempt: Attempt, page: LogPage) -> None:
        fraction, message = page.progress or (None, None)
        note = Note(*attempt.key, page.first, page.lines, fraction, message, attempt.started)
        self._waiting.append(_Kept(attempt.key, note, page.size))
        self._kept += page.size
        while self._kept > _KEPT:
            self._let_go_oldest()

    def _let_go_oldest(self) -> None:
        if self._sent:
            self.acknowledge(next(iter(self._sent)))
        else:
            self._kept -= self._waiting.popleft().size

    def _messages(self) -> list[Notes]:
        messages = []
        while self._waiting:
            self._number += 1
            batch = self._sent[self._number] = self._next_batch()
            messages.append(Notes(self._number, [kept.note for kept in batch]))
        return messages

    def _next_batch(self) -> list[_Kept]:
        batch = [self._waiting.popleft()]
        size = batch[0].size
        while self._waiting and size + self._waiting[0].size <= _LARGEST_MESSAGE:
            size += self._waiting[0].size
            batch.append(self._waiting.popleft())
        return batch
