"""Assertions about jobs and executions. Their failures list what there was instead."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tickwork.client.async_client import AsyncClient
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.job import JobStatus, JobView
from tickwork.sdk.submit_task import Task

AnyTask = Task[..., Any] | str
Payload = Mapping[str, Any]

_PAGE = 200
_RAN = (ExecutionStatus.COMPLETED, ExecutionStatus.FAILED)


class Assertions:
    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def jobs(self, task: AnyTask | None, payload: Payload | None) -> list[JobView]:
        found: list[JobView] = []
        cursor = None
        while True:
            page = await self._client.list_jobs(task=_name(task), limit=_PAGE, cursor=cursor)
            found += page.items
            if not (cursor := page.next_cursor):
                return [job for job in reversed(found) if _matches(job.payload, payload)]

    async def executions(
        self, task: AnyTask | None, payload: Payload | None, status: ExecutionStatus | str | None = None
    ) -> list[ExecutionView]:
        found: list[ExecutionView] = []
        wanted, cursor = ExecutionStatus(status) if status else None, None
        while True:
            page = await self._client.list_executions(
                task=_name(task), status=wanted, limit=_PAGE, cursor=cursor
            )
            found += page.items
            if not (cursor := page.next_cursor):
                break
        if payload is not None:
            jobs = {job.id for job in await self.jobs(task, payload)}
            found = [each for each in found if each.job_id in jobs]
        return found[::-1]

    async def assert_scheduled(self, task: AnyTask, payload: Payload | None, at: datetime | None) -> JobView:
        waiting = await self._waiting(task, payload)
        for job in waiting:
            if at is None or job.next_run_at == at:
                return job
        others = waiting or await self.jobs(task, None)
        wanted = _wanted(task, payload) + (f" at {at.isoformat()}" if at else "")
        raise AssertionError(f"no job of {wanted} is scheduled{_listed(others, _job_line)}")

    async def assert_not_scheduled(self, task: AnyTask, payload: Payload | None) -> None:
        if waiting := await self._waiting(task, payload):
            raise AssertionError(f"{_wanted(task, payload)} is scheduled{_listed(waiting, _job_line)}")

    async def assert_ran(
        self, task: AnyTask, payload: Payload | None, times: int | None
    ) -> list[ExecutionView]:
        return await self._expect("ran", task, payload, lambda each: each.status in _RAN, times)

    async def assert_completed(
        self, task: AnyTask, payload: Payload | None, times: int | None
    ) -> list[ExecutionView]:
        return await self._expect(
            "completed", task, payload, lambda each: each.status is ExecutionStatus.COMPLETED, times
        )

    async def assert_failed(
        self, task: AnyTask, payload: Payload | None, error: str | None
    ) -> list[ExecutionView]:
        failed = "failed" if error is None else f"failed with {error!r}"
        return await self._expect(failed, task, payload, lambda each: _failed_with(each, error), None)

    async def assert_retried(
        self, task: AnyTask, payload: Payload | None, attempts: int | None
    ) -> list[ExecutionView]:
        retried = "was retried" if attempts is None else f"was tried {attempts} times"
        return await self._expect(
            retried,
            task,
            payload,
            lambda each: each.attempt > 1 and attempts in (None, each.attempt),
            None,
        )

    async def _waiting(self, task: AnyTask, payload: Payload | None) -> list[JobView]:
        """Active jobs that have a next run."""
        return [
            job
            for job in await self.jobs(task, payload)
            if job.status is JobStatus.ACTIVE and job.next_run_at is not None
        ]

    async def _expect(
        self,
        what: str,
        task: AnyTask,
        payload: Payload | None,
        is_wanted: Callable[[ExecutionView], bool],
        times: int | None,
    ) -> list[ExecutionView]:
        every = await self.executions(task, payload)
        found = [each for each in every if is_wanted(each)]
        if len(found) == times or (times is None and found):
            return found
        message = f"no execution of {_wanted(task, payload)} {what}"
        if times is not None:
            message = f"{_wanted(task, payload)} {what} {_times(len(found))}, not {_times(times)}"
        raise AssertionError(
            f"{message}{_listed(every or await self.executions(None, None), _execution_line)}"
        )


def _name(task: AnyTask | None) -> str | None:
    return task.name if isinstance(task, Task) else task


def _matches(payload: Any, wanted: Payload | None) -> bool:
    """Whether the payload has all wanted arguments, compared as JSON."""
    if wanted is None:
        return True
    plain = msgspec.json.decode(msgspec.json.encode(dict(wanted)))
    return isinstance(payload, dict) and all(
        name in payload and payload[name] == value for name, value in plain.items()
    )


def _failed_with(execution: ExecutionView, error: str | None) -> bool:
    if execution.status is not ExecutionStatus.FAILED:
        return False
    found = execution.error
    return error is None or (found is not None and (error in found.message or error in _names_of(found.type)))


def _names_of(kind: str) -> tuple[str, str]:
    """The name of a type, with and without its module."""
    return kind, kind.rpartition(".")[2]


def _wanted(task: AnyTask, payload: Payload | None) -> str:
    return f"{_name(task)}" + (f" with {dict(payload)}" if payload is not None else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _listed(found: Sequence[Any], line: Callable[[Any], str]) -> str:
    if not found:
        return "; there is none at all. Was it submitted through the App of this server?"
    lines: Iterable[str] = (f"\n  {line(each)}" for each in found[:20])
    return "; there are:" + "".join(lines)


def _job_line(job: JobView) -> str:
    when = f"next at {job.next_run_at.isoformat()}" if job.next_run_at else "not due again"
    return f"{job.task} with {job.payload}: {job.status.value}, {when}, {job.schedule_words}"


def _execution_line(execution: ExecutionView) -> str:
    error = f", {execution.error.type}: {execution.error.message}" if execution.error else ""
    waits = f", waits for {execution.waiting_for}" if execution.waiting_for else ""
    return (
        f"{execution.task} due at {execution.due_at.isoformat()}: {execution.status.value}, "
        f"attempt {execution.attempt}{waits}{error}"
    )
