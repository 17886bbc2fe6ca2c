"""Checks jobs that were created before anybody described their task, once it is known.

A job whose payload fits gets the task's defaults and may run. One whose payload does not fit stays as it is: its
executions fail when they are due, with the reason, until the job is edited or the task is described anew. Each step is
one transaction about one job, so that any node may repeat it, and no job delays another.
"""

from time import monotonic

from tickwork.define.jobs import Jobs
from tickwork.loop import Loops
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text
from tickwork.model.errors import Conflict, Invalid, NotFound, Stale
from tickwork.store.port.task import Mismatch, UncheckedJob, UncheckedJobStore

_INTERVAL = 1.0  # seconds
_TOGETHER = 100
_MOST_ERRORS = 3  # that a reason names
_CLEAN_UP_INTERVAL = 60.0


class NewTaskCheck:
    def __init__(self, store: UncheckedJobStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        self._isolation = BadRowIsolation("check jobs of new tasks")
        self._clean_up_at = monotonic() + _CLEAN_UP_INTERVAL

    def add_loops(self, loops: Loops) -> None:
        loops.add("check jobs of new tasks", self.step, every=_INTERVAL, only_with_work=True)

    async def step(self) -> bool:
        """Check jobs, and fail what is due of those that do not fit; whether there may be more."""
        if monotonic() > self._clean_up_at:
            self._clean_up_at = monotonic() + _CLEAN_UP_INTERVAL
            await self._store.forget_moved()
        jobs = await self._store.checkable(_TOGETHER)
        await self._isolation.run_each(jobs, self._check, self._set_aside)
        due = await self._store.due_mismatches(_TOGETHER)
        await self._isolation.run_each(due, self._fail, self._fail_with)
        return _TOGETHER in (len(jobs), len(due))

    async def _check(self, unchecked: UncheckedJob) -> None:
        try:
            await self._jobs.check_again(unchecked.tenant_id, unchecked.job)
        except Invalid as invalid:
            await self._store.note_mismatch(unchecked.job, _in_words(invalid))
            return
        except (Stale, Conflict):
            # Somebody changed it at this moment: check it again in the next step, unless it was cancelled.
            await self._store.forget_if_moved(unchecked.job)
            return
        except NotFound:
            pass
        await self._store.forget(unchecked.job)

    async def _set_aside(self, unchecked: UncheckedJob, error: Exception) -> None:
        await self._store.note_mismatch(unchecked.job, f"cannot be checked: {error_text(error)}")

    async def _fail(self, mismatch: Mismatch) -> None:
        await self._store.fail(mismatch, f"its payload does not fit its task: {mismatch.reason}")

    async def _fail_with(self, mismatch: Mismatch, error: Exception) -> None:
        await self._store.fail(mismatch, f"cannot be checked: {error_text(error)}")


def _in_words(invalid: Invalid) -> str:
    errors = [f"{error.path} {error.message}" for error in invalid.errors]
    more = len(errors) - _MOST_ERRORS
    return "; ".join(errors[:_MOST_ERRORS]) + (f"; and {more} more" if more > 0 else "")
