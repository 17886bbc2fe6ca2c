"""What keeping and following logs and progress asks of the store."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey, ExecutionStatus, Progress
from tickwork.model.log import LogEntry, Position
from tickwork.model.page import Page
from tickwork.model.protocol import LogLine
from tickwork.store.port.settling import Claimed


class Logged(NamedTuple):
    """Lines that an attempt logged, numbered from `first` on."""

    key: ExecutionKey
    attempt: int
    first: int
    lines: Sequence[LogLine]


class ProgressNote(NamedTuple):
    claimed: Claimed
    progress: Progress
    started_at: datetime | None  # when it began, if that was said


class Standing(NamedTuple):
    """How an execution stands, for those who follow its log."""

    status: ExecutionStatus
    attempt: int
    progress: Progress | None
    end: Position  # of its log
    ended_for: timedelta | None  # None while it has not ended


class LogStore(Protocol):
    async def keep(self, logged: Sequence[Logged]) -> None:
        """Those lines that are not kept already; of each attempt only the newest are."""

    async def set_progress(self, notes: Sequence[ProgressNote]) -> list[ProgressNote]:
        """Of attempts that still run; gives those that have to be said again because somebody was in the way."""

    async def lines(self, key: ExecutionKey, begin: Position, limit: int) -> list[LogEntry]: ...

    async def page(
        self, key: ExecutionKey, attempt: int | None, limit: int, cursor: str | None
    ) -> Page[LogEntry]: ...

    async def last_lines(self, key: ExecutionKey, attempt: int | None, count: int) -> list[LogEntry]: ...

    async def standing(self, key: ExecutionKey) -> Standing | None: ...
