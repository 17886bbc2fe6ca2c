"""What the stages ask of the store about tasks: their states, and the jobs that wait for a task to become known."""

from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.model.task import TaskDeclaration, TaskView


class TaskStore(Protocol):
    async def tasks(self, tenant_id: int) -> list[TaskView]:
        """By name."""

    async def task(self, tenant_id: int, name: str) -> TaskView: ...

    async def declare(self, tenant_id: int, name: str, declaration: TaskDeclaration) -> bool:
        """False when live workers offer the task and describe it otherwise."""

    async def disable(self, tenant_id: int, name: str, by: str, reason: str | None) -> None:
        """NotFound when the task is unknown, here and below."""

    async def enable(self, tenant_id: int, name: str) -> None: ...

    async def retire(
        self, tenant_id: int, name: str, by: str, replacement: str | None, *, cancels_jobs: bool
    ) -> None: ...

    async def take_back(self, tenant_id: int, name: str) -> None:
        """Undo `retire`."""


class RetiredTask(NamedTuple):
    """A retired task whose jobs are being cancelled."""

    tenant_id: int
    name: str
    is_settled: bool  # it was retired so long ago that all of its jobs can be found


class RetiredTaskStore(Protocol):
    async def cancelling(self) -> list[RetiredTask]: ...

    async def end_cancelling(self, task: RetiredTask) -> None: ...


class UncheckedJob(NamedTuple):
    """A job whose task has become known."""

    tenant_id: int
    job: int


class Mismatch(NamedTuple):
    """An execution that is due, of a job whose payload does not fit its task."""

    key: ExecutionKey
    attempt: int
    lane: int
    reason: str


class UncheckedJobStore(Protocol):
    async def checkable(self, limit: int) -> list[UncheckedJob]: ...

    async def forget(self, job: int) -> None: ...

    async def forget_if_moved(self, job: int) -> None:
        """Unless it still awaits its task."""

    async def forget_moved(self) -> None:
        """Those jobs that no longer await their task."""

    async def note_mismatch(self, job: int, mismatch: str) -> None: ...

    async def due_mismatches(self, limit: int) -> list[Mismatch]: ...

    async def fail(self, mismatch: Mismatch, reason: str) -> None:
        """Unless the execution or its job has changed meanwhile."""
