"""The log and the progress of an attempt, as users see them."""

from typing import NamedTuple

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Instant


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
    """A position in the log of an execution: the next line to read."""

    attempt: int
    line: int


BEGINNING = Position(0, 0)
LogNews = LogEntry | AttemptProgress | ExecutionStatus | None  # the status it ended with; None: nothing new


def position_after(entry: LogEntry) -> Position:
    return Position(entry.attempt, entry.line + 1)
