"""A Tickwork server inside a test: a real node, database and API, with a clock that only the test moves."""

from collections.abc import Coroutine, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.job import JobView
from tickwork.sdk.task import Task
from tickwork.testing.clock import to_timedelta
from tickwork.testing.server_thread import Server

Duration = timedelta | str | float
AnyTask = Task[..., Any] | str
Payload = Mapping[str, Any]
Answer = TypeVar("Answer")

WITHIN_DEFAULT = 30.0  # seconds of real time


class ManualServer(Server):
    """A server that does nothing until the test calls it. While it runs, the App's `submit` and a `Client()` without
    arguments reach it."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _do(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.thread.submit(work).result()

    @property
    def now(self) -> datetime:
        """The time of the server."""
        return self._do(self.served.node.now())

    def advance(self, by: Duration, *, within: float = WITHIN_DEFAULT) -> None:
        """Let time pass: "1 day", "90s", seconds or a timedelta. What becomes due in between runs at its due time."""
        self.advance_to(self.now + to_timedelta(by), within=within)

    def advance_to(self, when: datetime, *, within: float = WITHIN_DEFAULT) -> None:
        """Let time pass until `when`."""
        self._do(self.served.node.advance_to(when, within))

    def run_until_idle(self, *, within: float = WITHIN_DEFAULT) -> None:
        """Run everything that is due, and what becomes due by that. Raises StillBusy after `within` real seconds."""
        self._do(self.served.node.run_until_idle(within))

    def jobs(self, task: AnyTask | None = None, payload: Payload | None = None) -> list[JobView]:
        """The jobs, oldest first; `payload` has the arguments that they must have."""
        return self._do(self.served.assertions.jobs(task, payload))

    def executions(
        self,
        task: AnyTask | None = None,
        payload: Payload | None = None,
        *,
        status: ExecutionStatus | str | None = None,
    ) -> list[ExecutionView]:
        """The executions, oldest first."""
        return self._do(self.served.assertions.executions(task, payload, status))

    def assert_scheduled(
        self, task: AnyTask, payload: Payload | None = None, *, at: datetime | None = None
    ) -> JobView:
        """A job of this task has a next run, with these arguments and at this time if they are given."""
        return self._do(self.served.assertions.assert_scheduled(task, payload, at))

    def assert_not_scheduled(self, task: AnyTask, payload: Payload | None = None) -> None:
        """No job of this task with these arguments has a next run."""
        self._do(self.served.assertions.assert_not_scheduled(task, payload))

    def assert_ran(
        self, task: AnyTask, payload: Payload | None = None, *, times: int | None = None
    ) -> list[ExecutionView]:
        """The task completed or failed: at least once, or exactly `times` times."""
        return self._do(self.served.assertions.assert_ran(task, payload, times))

    def assert_completed(
        self, task: AnyTask, payload: Payload | None = None, *, times: int | None = None
    ) -> list[ExecutionView]:
        """The task completed: at least once, or exactly `times` times."""
        return self._do(self.served.assertions.assert_completed(task, payload, times))

    def assert_failed(
        self, task: AnyTask, payload: Payload | None = None, *, error: str | None = None
    ) -> list[ExecutionView]:
        """The task failed for good; `error` is a part of the message, or the name of the error's type."""
        return self._do(self.served.assertions.assert_failed(task, payload, error))

    def assert_retried(
        self, task: AnyTask, payload: Payload | None = None, *, attempts: int | None = None
    ) -> list[ExecutionView]:
        """The task was attempted more than once, or exactly `attempts` times."""
        return self._do(self.served.assertions.assert_retried(task, payload, attempts))
