"""The child process of tasks with process=True: reads a Run, writes its Ending, again and again.

Started as `python -m tickwork.execute.runners.child module:app`.
"""

import asyncio
import os
import sys
from functools import partial
from inspect import iscoroutinefunction
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, BinaryIO

import msgspec

from tickwork.execute.application import load_app
from tickwork.execute.argument import arguments_of
from tickwork.execute.attempt import context_of
from tickwork.execute.ending import Ending, ending_of_call
from tickwork.execute.runners.process import LENGTH_BYTES
from tickwork.logs import configure_logs
from tickwork.model.protocol import Run
from tickwork.model.task import TaskDefinition

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Run).decode


def main(app: str) -> None:
    answers = _take_over_stdout()
    configure_logs("auto", "info")
    tasks = load_app(app).definitions
    runs: SimpleQueue[Run | None] = SimpleQueue()
    busy = Lock()
    Thread(target=_read, args=(runs, busy), daemon=True).start()
    while run := runs.get():
        with busy:
            _write(answers, _encode(_run(tasks[run.task], run)))


def _take_over_stdout() -> BinaryIO:
    """So that nothing a task prints can get among the answers; it goes to stderr."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _read(runs: "SimpleQueue[Run | None]", busy: Lock) -> None:
    source = sys.stdin.buffer
    while length := source.read(LENGTH_BYTES):
        runs.put(_decode(source.read(int.from_bytes(length))))
    if busy.acquire(blocking=False):
        runs.put(None)
    else:
        os._exit(1)  # without its worker a task has lost the right to go on


def _run(task: TaskDefinition, run: Run) -> Ending:
    return ending_of_call(partial(_call, task, run))


def _call(task: TaskDefinition, run: Run) -> Any:
    result = task.function(**arguments_of(task, run, partial(context_of, run)))
    return asyncio.run(result) if iscoroutinefunction(task.function) else result


def _write(answers: BinaryIO, message: bytes) -> None:
    answers.write(len(message).to_bytes(LENGTH_BYTES) + message)
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
