"""What a task's code uses: its context, the outcomes of the jobs it depends on, and the exceptions that decide how an
attempt ends."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

import msgspec
import structlog

from tickwork.model.attempt_log import task_logger
from tickwork.model.execution import ExecutionStatus, Progress
from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration


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
    ) -> None:
        self.attempt = attempt
        self.execution_id = execution_id
        self.job_id = job_id
        self.scheduled_for = scheduled_for or datetime.now(UTC)
        self.latest_progress: Progress | None = None
        self._listener = listener
        self._parents = parents
        self._cancelled = False

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
        self._cancelled = True

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Report how far the attempt has come, from 0 to 1."""
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is a fraction between 0 and 1, not {fraction}")
        self.latest_progress = Progress(fraction, message)
        if self._listener:
            self._listener.progress(fraction, message)

    def _keep(self, level: str, text: str) -> None:
        if self._listener:
            self._listener.log(level, text)


class NoRetry(Exception):
    """The attempt failed, and trying again is useless."""


class Snooze(Exception):
    """Run the task again after this long. This uses no attempt."""

    def __init__(self, duration: Duration) -> None:
        super().__init__(duration)
        self.seconds = parse_duration(duration).total_seconds()


class Cancel(Exception):
    """End the execution as cancelled, for this reason."""
