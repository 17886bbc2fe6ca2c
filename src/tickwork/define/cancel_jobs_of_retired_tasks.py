"""Cancels the jobs of tasks that were retired with `"jobs": "cancel"`, some in each step, on any node."""

from contextlib import suppress

from tickwork.define.jobs import Jobs
from tickwork.loop import Loops
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.job import JobStatus
from tickwork.model.job_filter import JobFilter
from tickwork.store.port.read_jobs_executions_workers import JobSearch
from tickwork.store.port.task import RetiredTask, RetiredTaskStore

_INTERVAL = 1.0  # seconds
_TOGETHER = 100


class RetiredTaskJobs:
    def __init__(self, store: RetiredTaskStore, search: JobSearch, jobs: Jobs) -> None:
        self._store = store
        self._search = search
        self._jobs = jobs
        self._isolation = BadRowIsolation("cancel jobs of retired tasks")

    def add_loops(self, loops: Loops) -> None:
        loops.add("cancel jobs of retired tasks", self.step, every=_INTERVAL, only_with_work=True)

    async def step(self) -> bool:
        """Cancel some jobs of each such task; whether there may be more."""
        more = False
        for task in await self._store.cancelling():
            more = await self._cancel_some(task) or more
        return more

    async def _cancel_some(self, task: RetiredTask) -> bool:
        found = [
            (task.tenant_id, job)
            for status in (JobStatus.ACTIVE, JobStatus.PAUSED)
            for job in await self._search.ids(
                task.tenant_id, JobFilter(task=task.name, status=status), _TOGETHER
            )
        ]
        await self._isolation.run_each(found, self._cancel, _leave)
        if not found and task.is_settled:
            await self._store.end_cancelling(task)
        return len(found) >= _TOGETHER

    async def _cancel(self, job: tuple[int, int]) -> None:
        with suppress(NotFound, Conflict):  # it is gone, or has ended
            await self._jobs.cancel(*job)


async def _leave(_job: tuple[int, int], _error: Exception) -> None:
    """It was counted and logged; the others go on."""
