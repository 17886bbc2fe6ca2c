"""Logs to stderr: readable on a terminal, else JSON lines. Tracebacks have no local variables, which may be secret."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

from tickwork.model.current_span_and_job_origin import add_span_ids
from tickwork.model.errors import printable

LogFormat = Literal["auto", "json", "console"]

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.StackInfoRenderer(),
    add_span_ids,
]
_in_use: tuple[LogFormat, str] = ("auto", "info")
_FALSE_ALARM = "ASGI callable returned without completing handshake."  # uvicorn, for refused workers
_QUIET = ("asyncio", "httpx2", "httpcore2", "uvicorn", "websockets")


def configure_logs(log_format: LogFormat, level: str) -> None:
    """Format our own logs and those of libraries in the same way."""
    global _in_use  # noqa: PLW0603 (logging is global, too)
    _in_use = (log_format, level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: record.msg != _FALSE_ALARM)
    handler.setFormatter(_formatter(console=_wants_console(log_format)))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def logs_in_use() -> tuple[LogFormat, str]:
    """The format and level, for processes that this one starts."""
    return _in_use


def _wants_console(log_format: LogFormat) -> bool:
    return sys.stderr.isatty() if log_format == "auto" else log_format == "console"


def _formatter(*, console: bool) -> logging.Formatter:
    render = _console_renderer() if console else _json_renderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
    )


def _console_renderer() -> list[Any]:
    return [
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
        _escape_control_characters,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            pad_event_to=0,
            sort_keys=False,
            exception_formatter=structlog.dev.plain_traceback,
        ),
    ]


def _escape_control_characters(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Escape control characters: errors and names come from others and must not control the terminal."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in event.items()}


def _json_renderer() -> list[Any]:
    return [
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
