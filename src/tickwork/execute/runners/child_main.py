"""The child process of tasks with process=True: reads what to begin, writes its Ending, again and again.

Started as `python -m tickwork.execute.runners.child_main module:app LOG_FORMAT LOG_LEVEL [traced]`.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from queue import SimpleQueue
from threading import Event, Lock, RLock, Thread
from typing import Any, BinaryIO

import msgspec

from tickwork.execute.attempt_ending import Ending, ending_of_call
from tickwork.execute.attempt_state import arguments_of, context_of
from tickwork.execute.clock import elapsed
from tickwork.execute.load_app import load_app
from tickwork.execute.log.buffer import LogBuffer
from tickwork.execute.log.capture import Capture
from tickwork.execute.runners.child_checkpoints import ChildCheckpoints
from tickwork.execute.runners.child_protocol import (
    CANCEL,
    LENGTH_BYTES,
    Begin,
    Ended,
    FromChild,
    Keep,
    Kept,
    Logged,
    ToChild,
)
from tickwork.execute.runners.measure_own_usage import OwnUsage
from tickwork.log_setup import LogFormat, configure_logs
from tickwork.model.process_limits import Usage
from tickwork.model.task import TaskDefinition
from tickwork.model.task_checkpoints import TaskCheckpoints
from tickwork.model.task_context import Context
from tickwork.model.worker_protocol import Micros, Run
from tickwork.tracing.opentelemetry_setup import open_global_pipeline
from tickwork.tracing.span_from_traceparent import within_span

_SEND_INTERVAL = 0.1  # seconds


_encode = msgspec.msgpack.Encoder().encode


class ChildLog:
    """Sends what the attempt logs to the worker while it runs. A thread sends it, so that neither a slow worker nor a
    full pipe delays the task."""

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

    def end(self, ending: Ending, usage: Usage) -> None:
        with self._send_lock:
            with self._buffer_lock:
                self._running = False
                batch = self._buffer.take_rest(_now())
            if batch:
                self._send(Logged(_now(), batch))
            self._send(Ended(ending, usage))

    def send(self, message: Keep) -> None:
        with self._send_lock:
            self._send(message)

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


_decode: Callable[[bytes], ToChild] = msgspec.msgpack.Decoder(ToChild).decode


class Running:
    """The attempt that the child runs: what the worker says about it. The worker ends the child after it has cancelled
    an attempt, so that is never reset."""

    def __init__(self) -> None:
        self.checkpoints: ChildCheckpoints | None = None
        self._cancelled = False
        self._stop: Callable[[], object] | None = None

    def answer(self, kept: Kept) -> None:
        if self.checkpoints:
            self.checkpoints.answer(kept)

    def cancel(self) -> None:
        self._cancelled = True
        if self._stop:
            self._stop()

    def on_cancel(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        if self._cancelled:
            stop()


def main(app: str, log_format: LogFormat, log_level: str, *options: str) -> None:
    child_log = ChildLog(_take_over_stdout())
    configure_logs(log_format, log_level)
    tasks = load_app(app).definitions
    pipeline = open_global_pipeline() if "traced" in options else None
    begins: SimpleQueue[Begin | None] = SimpleQueue()
    busy = Event()
    running = Running()
    Thread(target=_read, args=(begins, busy, running), daemon=True).start()
    Capture(lambda: child_log).open()
    while begin := begins.get():
        child_log.begin()
        used = OwnUsage()
        running.checkpoints = ChildCheckpoints(begin.stored, child_log.send)
        ending = _run(tasks[begin.run.task], begin.run, running, child_log)
        busy.clear()  # before the answer, because the next run may follow it at once
        child_log.end(ending, used.usage())
    if pipeline:
        pipeline.close()


def _take_over_stdout() -> BinaryIO:
    """Keep the pipe for our messages and redirect what a task prints to stderr."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _read(begins: "SimpleQueue[Begin | None]", busy: Event, running: Running) -> None:
    source = sys.stdin.buffer
    while length := source.read(LENGTH_BYTES):
        message = source.read(int.from_bytes(length))
        if message == CANCEL:
            running.cancel()
            continue
        match _decode(message):
            case Begin() as begin:
                busy.set()
                begins.put(begin)
            case Kept() as kept:
                running.answer(kept)
    if busy.is_set():
        os._exit(1)  # the worker is gone, and with it the lease
    begins.put(None)


def _run(task: TaskDefinition, run: Run, running: Running, child_log: ChildLog) -> Ending:
    return ending_of_call(partial(_call, task, run, running, child_log))


def _call(task: TaskDefinition, run: Run, running: Running, child_log: ChildLog) -> Any:
    context = context_of(run, child_log, partial(TaskCheckpoints, running.checkpoints))
    running.on_cancel(context.cancel)
    with within_span(run.traceparent):
        result = task.function(**arguments_of(task, run, lambda: context))
        return (
            asyncio.run(_cancellable(result, context, running))
            if iscoroutinefunction(task.function)
            else result
        )


async def _cancellable(result: Awaitable[Any], context: Context, running: Running) -> Any:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task  # noqa: S101 (for the type checker)

    def cancel() -> None:
        context.cancel()
        with suppress(RuntimeError):  # the loop is closed: the task has ended
            loop.call_soon_threadsafe(task.cancel)

    running.on_cancel(cancel)
    return await result


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
