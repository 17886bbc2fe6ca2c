"""What really happened, as written down by the tasks and the HTTP target themselves: one JSON line when an attempt
begins, one when it ends. Tickwork has no part in it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from tickwork import Cancel, Snooze
from tickwork.model.public_ids import parse_execution_id, to_micros

LEDGER_VARIABLE = "LEDGER"
_SET_WRONG = 100_000  # microseconds: a wall clock that is off by more was set by a test


Event = Literal["begun", "ended", "stopped"]


class Line(msgspec.Struct, frozen=True):
    event: Event
    task: str
    execution: str
    attempt: int
    pid: int
    at: int  # microseconds by the wall clock, which the database uses too
    monotonic: int  # microseconds by the clock that nobody can set, the same for all processes of a machine
    outcome: str | None = None  # as its code says


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
    outcome: str | None = None

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
        ahead = _wall() - _monotonic()
        for line in self.lines():
            attempt, at = Attempt(line.execution, line.attempt), _true_time(line, ahead)
            if line.event == "begun":
                latest[attempt, line.pid] = len(runs)
                runs.append(Run(line.task, attempt, line.pid, at))
            else:
                place = latest[attempt, line.pid]
                ended: dict[str, Any] = {f"{line.event}_at": at, "outcome": line.outcome}
                runs[place] = runs[place]._replace(**ended)
        return runs

    def completed(self) -> int:
        return self.file.read_bytes().count(b'"outcome":"completed"')

    def lines(self) -> Iterator[Line]:
        whole = self.file.read_bytes().rpartition(b"\n")[0]
        return (msgspec.json.decode(line, type=Line) for line in whole.splitlines())


class Attempted(Protocol):
    """Whatever knows which attempt it belongs to, such as a Context."""

    @property
    def execution_id(self) -> str: ...

    @property
    def attempt(self) -> int: ...


class Origin(NamedTuple):
    execution_id: str
    attempt: int


@contextmanager
def written_down(task: str, origin: Attempted) -> Iterator[None]:
    """Around the body of a task."""
    _write("begun", task, origin)
    try:
        yield
    except Snooze:
        _write("ended", task, origin, "snoozed")
        raise
    except Cancel:
        _write("ended", task, origin, "cancelled")
        raise
    except Exception:
        _write("ended", task, origin, "failed")
        raise
    except BaseException:
        _write("stopped", task, origin)
        raise
    _write("ended", task, origin, "completed")


def _write(event: Event, task: str, origin: Attempted, outcome: str | None = None) -> None:
    """With one write to a file opened for appending, so that lines of many processes never mix."""
    line = Line(event, task, origin.execution_id, origin.attempt, os.getpid(), _wall(), _monotonic(), outcome)
    file = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, msgspec.json.encode(line) + b"\n")
    finally:
        os.close(file)


def _true_time(line: Line, ahead: int) -> int:
    """By the wall clock, or by the other one where a test has set that wrong."""
    true = line.monotonic + ahead
    return line.at if abs(line.at - true) < _SET_WRONG else true


def _wall() -> int:
    return time.time_ns() // 1000


def _monotonic() -> int:
    return time.monotonic_ns() // 1000
