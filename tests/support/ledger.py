"""What really happened, as written down by the tasks themselves: one JSON line when an attempt begins, one when it
ends. Tickwork has no part in it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tickwork import Context
from tickwork.model.ids import parse_execution_id, to_micros

LEDGER_VARIABLE = "LEDGER"


class Line(msgspec.Struct, frozen=True):
    event: Literal["begun", "ended", "stopped"]
    task: str
    execution: str
    attempt: int
    pid: int
    at: int  # microseconds by the clock that the database uses too


class Attempt(NamedTuple):
    execution: str
    attempt: int


class Run(NamedTuple):
    """One attempt as its handler saw it."""

    task: str
    attempt: Attempt
    pid: int
    begun_at: int
    ended_at: int | None = None
    stopped_at: int | None = None  # broken off in the middle, by its worker

    @property
    def is_open(self) -> bool:
        return self.ended_at is None and self.stopped_at is None

    @property
    def lateness(self) -> int:
        """Microseconds from its due time to its beginning; negative when it was early."""
        return self.begun_at - to_micros(parse_execution_id(self.attempt.execution)[1])


class Ledger:
    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()

    def runs(self) -> list[Run]:
        """Every attempt that was begun, in that order. One that was begun twice is there twice."""
        runs: list[Run] = []
        latest: dict[tuple[Attempt, int], int] = {}
        for line in self._lines():
            attempt = Attempt(line.execution, line.attempt)
            if line.event == "begun":
                latest[attempt, line.pid] = len(runs)
                runs.append(Run(line.task, attempt, line.pid, line.at))
            else:
                place = latest[attempt, line.pid]
                runs[place] = runs[place]._replace(**{f"{line.event}_at": line.at})
        return runs

    def completed(self) -> int:
        return sum(line.event == "ended" for line in self._lines())

    def _lines(self) -> Iterator[Line]:
        whole = self.file.read_bytes().rpartition(b"\n")[0]
        return (msgspec.json.decode(line, type=Line) for line in whole.splitlines())


@contextmanager
def written_down(task: str, context: Context) -> Iterator[None]:
    """Around the body of a task."""
    _write("begun", task, context)
    try:
        yield
    except BaseException:
        _write("stopped", task, context)
        raise
    _write("ended", task, context)


def _write(event: Literal["begun", "ended", "stopped"], task: str, context: Context) -> None:
    """With one write to a file opened for appending, so that lines of many processes never mix."""
    now = time.time_ns() // 1000
    line = Line(event, task, context.execution_id, context.attempt, os.getpid(), now)
    file = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, msgspec.json.encode(line) + b"\n")
    finally:
        os.close(file)
