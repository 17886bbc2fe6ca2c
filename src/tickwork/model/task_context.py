"""The context that a task's code gets: its attempt, logger, progress and checkpoints, and the outcomes of the jobs it
depends on.

Each event of the logger goes to the process's own log, and as a line of text to a listener. The logger does not depend
on how the user configures structlog.
"""

import logging
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import msgspec
import structlog

from tickwork.model.current_span_and_job_origin import SPAN_FIELDS, add_span_ids
from tickwork.model.execution import ExecutionStatus, Progress
from tickwork.model.task_checkpoints import TaskCheckpoints

TASK_LOGGER = "tickwork.task"

Keep = Callable[[str, str], None]  # level, text
_Event = MutableMapping[str, Any]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_making = Lock()  # of checkpoints: a task may have threads of its own

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


class ParentOutcome(msgspec.Struct, array_like=True, frozen=True):
    job_id: str
    name: str | None
    key: str | None
    task: str
    status: ExecutionStatus | None  # None: no longer stored
    result: Any  # JSON


_decode = msgspec.json.Decoder(list[ParentOutcome] | int | str).decode


def read_outcomes(sent: bytes | None) -> list[ParentOutcome]:
    if sent is None:
        return []
    match _decode(sent):
        case int(size):
            raise ValueError(
                f"the results of the jobs it depends on have {size:,} bytes, too many to send: "
                "return references instead, or get the results with a client"
            )
        case str(why):
            raise ValueError(why)
        case list(outcomes):
            return outcomes
    return []


class Listener(Protocol):
    """Receives the log and the progress of a running task, from any thread."""

    def log(self, level: str, text: str) -> None: ...

    def progress(self, fraction: float, message: str | None) -> None: ...


class Context:
    """The argument for a task's parameter `ctx: Context`: describes the attempt, and takes its log and its progress."""

    def __init__(
        self,
        *,
        attempt: int = 1,
        execution_id: str = "e0-0",
        job_id: str = "j0",
        scheduled_for: datetime | None = None,
        listener: Listener | None = None,
        parents: bytes | None = None,
        checkpoints: Callable[[], TaskCheckpoints] | None = None,
    ) -> None:
        """`checkpoints`: makes those of the attempt when they are first used."""
        self.attempt = attempt
        self.execution_id = execution_id
        self.job_id = job_id
        self.scheduled_for = scheduled_for or datetime.now(UTC)
        self.latest_progress: Progress | None = None
        self._listener = listener
        self._parents = parents
        self._cancelled = False
        self._make_checkpoints = checkpoints
        self._made_checkpoints: TaskCheckpoints | None = None

    def __repr__(self) -> str:
        return f"<Context of execution {self.execution_id}, attempt {self.attempt}>"

    @cached_property
    def log(self) -> structlog.stdlib.BoundLogger:
        """A structlog logger, whose lines become the log of the attempt."""
        return task_logger(self._keep, execution=self.execution_id, attempt=self.attempt)

    @cached_property
    def parents(self) -> list[ParentOutcome]:
        """How the jobs that this one depends on have ended, in the order in which they were created."""
        return read_outcomes(self._parents)

    def result_of(self, parent: str) -> Any:
        """The result of one of these parents, by its id, key, name or task."""
        found = [each for each in self.parents if parent in (each.job_id, each.key, each.name, each.task)]
        if len(found) != 1:
            known = ", ".join(each.key or each.name or each.task for each in self.parents) or "none"
            raise LookupError(
                f"{parent!r} names {'several' if found else 'none'} of the jobs that this one depends on: {known}"
            )
        return found[0].result

    @property
    def cancelled(self) -> bool:
        """True once this attempt was cancelled or timed out. A task in a thread cannot be stopped from outside: a
        long one should check this regularly."""
        return self._cancelled

    def cancel(self) -> None:
        """Tell the task to stop. Its worker calls this; tests may."""
        with _making:
            self._cancelled = True
        if self._made_checkpoints:
            self._made_checkpoints.stop()

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Report how far the attempt has come, from 0 to 1."""
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is a fraction between 0 and 1, not {fraction}")
        self.latest_progress = Progress(fraction, message)
        if self._listener:
            self._listener.progress(fraction, message)

    @property
    def state(self) -> Any:
        """The latest state that this execution has stored with `checkpoint`, in this or an earlier attempt; None if it
        has stored none."""
        return self._checkpoints.state

    def checkpoint(self, state: object) -> Awaitable[None]:
        """Store how far the task has come, as JSON, for a later attempt. In an async task it must be awaited; elsewhere
        it returns when the state is stored."""
        return self._checkpoints.store_state(state)

    @overload
    def step(
        self,
        name: str,
        function: Callable[_P, Coroutine[Any, Any, _R]],
        /,
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> Coroutine[Any, Any, _R]: ...
    @overload
    def step(self, name: str, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call the function and store its result, once for all attempts of this execution: if an earlier one has done
        this step, return the stored result instead. In an async task it must be awaited, and takes async functions;
        `asyncio.to_thread` is one."""
        return self._checkpoints.step(name, function, args, kwargs)

    @property
    def _checkpoints(self) -> TaskCheckpoints:
        with _making:
            if self._made_checkpoints is None:
                made = self._make_checkpoints() if self._make_checkpoints else TaskCheckpoints(None)
                if self._cancelled:
                    made.stop()
                self._made_checkpoints = made
            return self._made_checkpoints

    def _keep(self, level: str, text: str) -> None:
        if self._listener:
            self._listener.log(level, text)


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
