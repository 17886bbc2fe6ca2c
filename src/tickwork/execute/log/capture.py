"""Copies what tasks print, and log with the standard library, into the logs of their attempts."""

import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, TextIO

from tickwork.model.task_context import Listener, log_text

OWN_LOGS = "tickwork"  # our own log lines are not a task's, and those of ctx.log reach the sink directly


class LogSink(Listener, Protocol):
    """Receives the log of the attempt that runs."""

    def print(self, stream: str, text: str) -> None: ...


FindSink = Callable[[], LogSink | None]

# The sink of the running attempt. asyncio tasks that a task starts inherit it; threads that it starts do not.
current_log_sink: ContextVar[LogSink | None] = ContextVar("tickwork_log_sink", default=None)


class Capture:
    """While open, wraps stdout and stderr and adds a handler to the root logger."""

    def __init__(self, find_sink: FindSink = current_log_sink.get) -> None:
        self._find_sink = find_sink
        self._handler = _Handler(find_sink)
        self._replaced: dict[str, _CapturedStream] = {}

    def open(self) -> None:
        if isinstance(sys.stdout, _CapturedStream):
            return  # another worker of this process captures for all
        for name in ("stdout", "stderr"):
            self._replaced[name] = _CapturedStream(getattr(sys, name), name, self._find_sink)
            setattr(sys, name, self._replaced[name])
        logging.getLogger().addHandler(self._handler)

    def close(self) -> None:
        for name, replaced in self._replaced.items():
            if getattr(sys, name) is replaced:
                setattr(sys, name, replaced.stream)
        logging.getLogger().removeHandler(self._handler)


class _CapturedStream:
    """A text stream that writes to the wrapped one and copies to the sink."""

    def __init__(self, stream: TextIO, name: str, find_sink: FindSink) -> None:
        self.stream = stream
        self._name = name
        self._find_sink = find_sink

    def write(self, text: str) -> int:
        written = self.stream.write(text)
        if sink := self._find_sink():
            sink.print(self._name, text)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Handler(logging.Handler):
    def __init__(self, find_sink: FindSink) -> None:
        super().__init__()
        self._find_sink = find_sink

    def emit(self, record: logging.LogRecord) -> None:
        sink = self._find_sink()
        if sink and record.name.partition(".")[0] != OWN_LOGS:
            sink.log(record.levelname.lower(), _text_of_record(record))


def _text_of_record(record: logging.LogRecord) -> str:
    if isinstance(record.msg, dict) and "event" in record.msg:
        return log_text(record.msg)  # a structlog event
    return log_text({"event": _message(record), "exc_info": record.exc_info, "stack": record.stack_info})


def _message(record: logging.LogRecord) -> object:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 (wrong arguments: logging itself reports them)
        return record.msg
