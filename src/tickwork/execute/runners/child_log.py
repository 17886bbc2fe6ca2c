"""Sends what the attempt in a child process logs to the worker while it runs.

A thread sends it, so that neither a slow worker nor a full pipe delays the task.
"""

import time
from threading import Event, Lock, RLock, Thread
from typing import BinaryIO

import msgspec

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.clock import elapsed
from tickwork.execute.log.buffer import LogBuffer
from tickwork.execute.runners.child_protocol import LENGTH_BYTES, Ended, FromChild, Logged
from tickwork.model.worker_protocol import Micros

_SEND_INTERVAL = 0.1  # seconds

_encode = msgspec.msgpack.Encoder().encode


class ChildLog:
    def __init__(self, worker: BinaryIO) -> None:
        self._worker = worker
        self._send_lock = Lock()  # acquired before _buffer_lock, so that batches are sent in order
        self._buffer_lock = RLock()  # reentrant: a destructor that the garbage collector calls here may print
        self._buffer = LogBuffer()
        self._running = False
        self._unsent = Event()
        Thread(target=self._send_loop, name="tickwork child log", daemon=True).start()

    def begin(self) -> None:
        self._buffer = LogBuffer()
        self._running = True

    def end(self, ending: Ending) -> None:
        with self._send_lock:
            with self._buffer_lock:
                self._running = False
                batch = self._buffer.take_rest(_now())
            if batch:
                self._send(Logged(_now(), batch))
            self._send(Ended(ending))

    def log(self, level: str, text: str) -> None:
        with self._buffer_lock:
            self._buffer.log(_now(), level, text)
        self._send_soon()

    def print(self, stream: str, text: str) -> None:
        with self._buffer_lock:
            self._buffer.print(_now(), stream, text)
        self._send_soon()

    def progress(self, fraction: float, message: str | None) -> None:
        with self._buffer_lock:
            self._buffer.progress(fraction, message)
        self._send_soon()

    def _send_soon(self) -> None:
        if not self._unsent.is_set():
            self._unsent.set()

    def _send_loop(self) -> None:
        while self._unsent.wait():
            self._unsent.clear()
            with self._send_lock:
                self._send_batch()
            time.sleep(_SEND_INTERVAL)

    def _send_batch(self) -> None:
        with self._buffer_lock:
            batch = self._buffer.take_batch(elapsed()) if self._running else None
            if self._running and self._buffer.has_more:
                self._unsent.set()
        if batch:
            self._send(Logged(_now(), batch))

    def _send(self, message: FromChild) -> None:
        content = _encode(message)
        self._worker.write(len(content).to_bytes(LENGTH_BYTES) + content)
        self._worker.flush()


def _now() -> Micros:
    return int(elapsed() * 1_000_000)
