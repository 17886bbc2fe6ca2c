"""The log and the progress of an attempt: what users see of them, and the logger that a task writes to.

Each event goes to the process's own log, and as a line of text to a listener. The logger does not depend on how the
user configures structlog.
"""

import logging
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import msgspec
import structlog

from tickwork.model.current_trace import SPAN_FIELDS, add_span_ids
from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Instant

TASK_LOGGER = "tickwork.task"

Keep = Callable[[str, str], None]  # level, text
_Event = MutableMapping[str, Any]

_NOT_SHOWN = {
    "event", "level", "logger", "exc_info", "exception", "stack", "execution", "attempt", *SPAN_FIELDS,
}  # fmt: skip
_BEFORE: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.StackInfoRenderer(),
    add_span_ids,
]


class _Readable(dict[str, Any]):
    """An event that prints as text, for formatters that do not know structlog."""

    def __str__(self) -> str:
        return log_text(self)


def task_logger(keep: Keep, **bound: Any) -> structlog.stdlib.BoundLogger:
    """`keep` gets every line, also those below the level of the process's own log."""

    def keep_line(_: Any, __: str, event: _Event) -> _Event:
        keep(event["level"], log_text(event))
        return event

    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(TASK_LOGGER),
        processors=[*_BEFORE, keep_line, structlog.stdlib.filter_by_level, _hand_over],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        **bound,
    )
    return logger.bind()


def _hand_over(logger: Any, name: str, event: _Event) -> Any:
    return structlog.stdlib.ProcessorFormatter.wrap_for_formatter(logger, name, _Readable(event))


def log_text(event: Mapping[str, Any]) -> str:
    """The event, its values as key=value, and the traceback on the lines after it."""
    pairs = (f"{key}={_shown(value)}" for key, value in event.items() if key not in _NOT_SHOWN)
    first = " ".join((_plain(event.get("event", "")), *pairs))
    below = (event.get("stack"), event.get("exception") or _trace(event.get("exc_info")))
    return "\n".join((first, *(text for text in below if text)))


def _shown(value: Any) -> str:
    is_word = isinstance(value, str) and value.isprintable() and " " not in value
    return value if is_word else _plain(value, repr)


def _plain(value: Any, write: Callable[[Any], str] = str) -> str:
    try:
        return write(value)
    except Exception as unprintable:  # noqa: BLE001 (whatever a user's class raises)
        return f"<cannot be shown: {type(unprintable).__name__}>"


def _trace(exc_info: Any) -> str:
    error = _error_in(exc_info)
    return "".join(traceback.format_exception(error)).rstrip() if error else ""


def _error_in(exc_info: Any) -> BaseException | None:
    """`exc_info` may be an exception, a tuple from sys.exc_info(), or True to use the current exception."""
    match exc_info:
        case BaseException() | None:
            return exc_info
        case (_, error, _):
            return error if isinstance(error, BaseException) else None
        case _:
            return sys.exc_info()[1] if exc_info else None


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
