"""A Tickwork server inside a test, for synchronous and for async tests: a real node, database and API, with a clock
that only the test moves."""

import asyncio
from collections.abc import Coroutine, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.job import JobView
from tickwork.sdk.submit_task import Task
from tickwork.testing.clock import to_timedelta
from tickwork.testing.server_thread import Server

WITHIN_DEFAULT = 30.0  # seconds of real time


Duration = timedelta | str | float
AnyTask = Task[..., Any] | str
Payload = Mapping[str, Any]
Answer = TypeVar("Answer")


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


class AsyncManualServer(Server):
    """A ManualServer for async tests: every method is awaited, so that the event loop of the test keeps running.

    Its worker runs async tasks on its own loop, as a worker in another process would."""

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.async_client.close()
        await asyncio.to_thread(self.stop)

    async def _do(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return await asyncio.wrap_future(self.thread.submit(work))

    async def now(self) -> datetime:
        """The time of the server."""
        return await self._do(self.served.node.now())

    async def advance(self, by: Duration, *, within: float = WITHIN_DEFAULT) -> None:
        """Let time pass: "1 day", "90s", seconds or a timedelta. What becomes due in between runs at its due time."""
        await self.advance_to(await self.now() + to_timedelta(by), within=within)

    async def advance_to(self, when: datetime, *, within: float = WITHIN_DEFAULT) -> None:
        """Let time pass until `when`."""
        await self._do(self.served.node.advance_to(when, within))

    async def run_until_idle(self, *, within: float = WITHIN_DEFAULT) -> None:
        """Run everything that is due, and what becomes due by that. Raises StillBusy after `within` real seconds."""
        await self._do(self.served.node.run_until_idle(within))

    async def jobs(self, task: AnyTask | None = None, payload: Payload | None = None) -> list[JobView]:
        """The jobs, oldest first; `payload` has the arguments that they must have."""
        return await self._do(self.served.assertions.jobs(task, payload))

    async def executions(
        self,
        task: AnyTask | None = None,
        payload: Payload | None = None,
        *,
        status: ExecutionStatus | str | None = None,
    ) -> list[ExecutionView]:
        """The executions, oldest first."""
        return await self._do(self.served.assertions.executions(task, payload, status))

    async def assert_scheduled(
        self, task: AnyTask, payload: Payload | None = None, *, at: datetime | None = None
    ) -> JobView:
        """A job of this task has a next run, with these arguments and at this time if they are given."""
        return await self._do(self.served.assertions.assert_scheduled(task, payload, at))

    async def assert_not_scheduled(self, task: AnyTask, payload: Payload | None = None) -> None:
        """No job of this task with these arguments has a next run."""
        await self._do(self.served.assertions.assert_not_scheduled(task, payload))

    async def assert_ran(
        self, task: AnyTask, payload: Payload | None = None, *, times: int | None = None
    ) -> list[ExecutionView]:
        """The task completed or failed: at least once, or exactly `times` times."""
        return await self._do(self.served.assertions.assert_ran(task, payload, times))

    async def assert_completed(
        self, task: AnyTask, payload: Payload | None = None, *, times: int | None = None
    ) -> list[ExecutionView]:
        """The task completed: at least once, or exactly `times` times."""
        return await self._do(self.served.assertions.assert_completed(task, payload, times))

    async def assert_failed(
        self, task: AnyTask, payload: Payload | None = None, *, error: str | None = None
    ) -> list[ExecutionView]:
        """The task failed for good; `error` is a part of the message, or the name of the error's type."""
        return await self._do(self.served.assertions.assert_failed(task, payload, error))

    async def assert_retried(
        self, task: AnyTask, payload: Payload | None = None, *, attempts: int | None = None
    ) -> list[ExecutionView]:
        """The task was attempted more than once, or exactly `attempts` times."""
        return await self._do(self.served.assertions.assert_retried(task, payload, attempts))
