"""What the attempt in a child process says, told to the worker while it runs.

A thread does the telling: neither a slow worker nor a full pipe holds the task up.
"""

import time
from threading import Event, Lock, RLock, Thread
from typing import BinaryIO

import msgspec

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.clock import elapsed
from tickwork.execute.log.buffer import LogBuffer
from tickwork.execute.runners.child_messages import Ended, FromChild, Said
from tickwork.execute.runners.process_runner import LENGTH_BYTES
from tickwork.model.worker_protocol import Micros

_BETWEEN_PAGES = 0.1  # seconds

_encode = msgspec.msgpack.Encoder().encode


class ChildLog:
    def __init__(self, worker: BinaryIO) -> None:
        self._worker = worker
        self._telling = Lock()  # taken before the other one: pages go out in order
        self._writing = RLock()  # what is collected as garbage meanwhile may print, too
        self._book = LogBuffer()
        self._speaks = False
        self._news = Event()
        Thread(target=self._tell, name="tickwork voice", daemon=True).start()

    def begin(self) -> None:
        self._book = LogBuffer()
        self._speaks = True

    def end(self, ending: Ending) -> None:
        with self._telling:
            with self._writing:
                self._speaks = False
                page = self._book.last_page(_now())
            if page:
                self._send(Said(_now(), page))
            self._send(Ended(ending))

    def log(self, level: str, text: str) -> None:
        with self._writing:
            self._book.log(_now(), level, text)
        self._tell_soon()

    def print(self, stream: str, text: str) -> None:
        with self._writing:
            self._book.print(_now(), stream, text)
        self._tell_soon()

    def progress(self, fraction: float, message: str | None) -> None:
        with self._writing:
            self._book.progress(fraction, message)
        self._tell_soon()

    def _tell_soon(self) -> None:
        if not self._news.is_set():
            self._news.set()

    def _tell(self) -> None:
        while self._news.wait():
            self._news.clear()
            with self._telling:
                self._tell_page()
            time.sleep(_BETWEEN_PAGES)

    def _tell_page(self) -> None:
        with self._writing:
            page = self._book.tear_off(elapsed()) if self._speaks else None
            if self._speaks and self._book.has_more:
                self._news.set()
        if page:
            self._send(Said(_now(), page))

    def _send(self, message: FromChild) -> None:
        content = _encode(message)
        self._worker.write(len(content).to_bytes(LENGTH_BYTES) + content)
        self._worker.flush()


def _now() -> Micros:
    return int(elapsed() * 1_000_000)
