"""What attempts print and log, and how far they say they have come, as shown to users."""

from typing import NamedTuple

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.instant import Instant


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line that an attempt printed or logged."""

    attempt: int
    line: int  # within the attempt, from 0
    at: Instant
    level: str  # of ctx.log, or "stdout" and "stderr" for what was printed
    text: str


class AttemptProgress(msgspec.Struct, frozen=True, kw_only=True):
    attempt: int
    fraction: float
    message: str | None = None


class Position(NamedTuple):
    """A place in the log of an execution: the line that comes next."""

    attempt: int
    line: int


BEGINNING = Position(0, 0)
LogNews = LogEntry | AttemptProgress | ExecutionStatus | None  # the status it ended with; None: nothing new


def after(entry: LogEntry) -> Position:
    return Position(entry.attempt, entry.line + 1)
