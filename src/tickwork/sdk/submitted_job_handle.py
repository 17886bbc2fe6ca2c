"""The handle of a submitted job: its status and its result."""

from typing import Any, Generic, TypeVar

from tickwork.model import python_values_to_json as codec
from tickwork.model.errors import TickworkError
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.sdk.lazy_client import LazyClients

Result = TypeVar("Result")


class ExecutionFailed(TickworkError):
    """The execution did not complete."""

    def __init__(self, execution: ExecutionView) -> None:
        self.execution = execution
        self.error = execution.error
        why = f"{execution.error.type}: {execution.error.message}" if execution.error else execution.reason
        super().__init__(
            f"execution {execution.id} ended as {execution.status}" + (f" ({why})" if why else "")
        )


class Handle(Generic[Result]):
    """A submitted job. `id` is the id of the job; `execution_id` is that of its execution if the job is due once."""

    def __init__(
        self, job_id: str, result_type: Any, clients: LazyClients, execution_id: str | None = None
    ) -> None:
        self.id = job_id
        self.execution_id = execution_id
        self._result_type = result_type
        self._clients = clients

    def __repr__(self) -> str:
        return f"<Handle of job {self.id}>"

    def status(self) -> ExecutionStatus:
        """The status of its latest execution; pending while there is none."""
        return _latest(self._clients.client.list_executions(job=self.id, limit=1).items)

    async def status_async(self) -> ExecutionStatus:
        """As `status`, in async code."""
        return _latest((await self._clients.async_client.list_executions(job=self.id, limit=1)).items)

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end and return what the task returned. Raises TimeoutError after `timeout` seconds, and
        ExecutionFailed if the execution did not complete."""
        return self._result_of(
            self._clients.client.wait_for_job(self.id, timeout, execution_id=self.execution_id)
        )

    async def result_async(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 (as `result`)
        """As `result`, in async code."""
        client = self._clients.async_client
        return self._result_of(await client.wait_for_job(self.id, timeout, execution_id=self.execution_id))

    def cancel(self) -> None:
        """Cancel the job: it has no further executions. One that is running continues."""
        self._clients.client.cancel_job(self.id)

    async def cancel_async(self) -> None:
        """As `cancel`, in async code."""
        await self._clients.async_client.cancel_job(self.id)

    def _result_of(self, execution: ExecutionView) -> Result:
        if execution.status is not ExecutionStatus.COMPLETED:
            raise ExecutionFailed(execution)
        if execution.result is None:
            return None  # type: ignore[return-value]  # then Result is None
        return codec.convert(execution.result, self._result_type)  # type: ignore[no-any-return]


def _latest(executions: list[ExecutionView]) -> ExecutionStatus:
    return executions[0].status if executions else ExecutionStatus.PENDING
