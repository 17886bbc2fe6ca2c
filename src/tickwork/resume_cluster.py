"""Says what a paused cluster would do, and resumes it as the operator chooses.

What was chosen is done while the cluster is still paused, in small transactions, and the pause is lifted at the end. So
a request that is cut off can simply be repeated.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from time import monotonic

from tickwork.dispatch.rescue import Rescuer
from tickwork.model.bad_row_isolation import is_row_error
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionKey
from tickwork.model.public_ids import job_id
from tickwork.model.resume_cluster import MissedJob, Resumed, ResumeReport, ResumeRequest
from tickwork.pause_cluster import ClusterPause
from tickwork.store.pool import Database
from tickwork.store.port.trigger import DueRule, TriggerStore
from tickwork.store.resume_report_store import JobOfRule, PostgresResumeReportStore
from tickwork.trigger.missed_due_times_on_resume import MissedDueTimes, outlook

_REASON = "cancelled when the cluster was resumed"
_BATCH = 100
_SECONDS = 10.0  # for one request


class ClusterResumption:
    def __init__(
        self,
        pause: ClusterPause,
        database: Database,
        triggers: TriggerStore,
        rescuer: Rescuer,
        cancel: Callable[[ExecutionKey, str], Awaitable[None]],
        create_overdue: Callable[[datetime], Awaitable[bool]],
    ) -> None:
        self._pause = pause
        self._store = PostgresResumeReportStore(database)
        self._missed = MissedDueTimes(triggers)
        self._rescuer = rescuer
        self._cancel = cancel
        self._create_overdue = create_overdue

    async def report(self, limit: int) -> ResumeReport:
        counts = await self._store.count()
        return ResumeReport(
            at=await self._store.now(),
            paused=self._pause.state.paused,
            restored=self._pause.state.restored,
            missed_jobs=counts.missed_jobs,
            missed=await self._missed_jobs(limit),
            interrupted_executions=counts.interrupted,
            interrupted=[each for _, each in await self._store.interrupted(limit)],
            overdue_executions=counts.overdue,
            overdue=[each for _, each in await self._store.overdue(limit)],
        )

    async def _missed_jobs(self, limit: int) -> list[MissedJob]:
        rules = {rule.id: rule for rule in await self._store.rules_past_due(limit)}
        jobs = await self._store.jobs_of_rules([*rules], limit)
        views = [_missed_job(job, rules[job.rule_id]) for job in jobs]
        return [view for view in views if view]

    async def resume(self, request: ResumeRequest, by: str) -> Resumed:
        """Conflict if the cluster is not paused."""
        await self._pause.read()
        if not self._pause.is_on():
            raise Conflict("the cluster is not paused")
        done = _Done(monotonic() + _SECONDS)
        if request.missed == "skip":
            await self._skip_missed(done)
        if request.overdue == "cancel":
            await self._cancel_overdue(done)
        if request.running == "cancel":
            await self._cancel_interrupted(done)
        elif request.running == "retry":
            await self._retry_interrupted(done)
        resumed = not done.out_of_time
        if resumed:
            await self._pause.lift(by)
        return Resumed(
            resumed=resumed, skipped_rules=done.skipped, retried=done.retried, cancelled=done.cancelled
        )

    async def _skip_missed(self, done: "_Done") -> None:
        while done.has_time() and (count := await self._missed.skip()):
            done.skipped += count

    async def _cancel_overdue(self, done: "_Done") -> None:
        now = await self._store.now()
        while done.has_time() and await self._create_overdue(now):
            pass
        while done.has_time() and await self._cancel_all(
            [key for key, _ in await self._store.overdue(_BATCH)], done
        ):
            pass

    async def _cancel_interrupted(self, done: "_Done") -> None:
        while done.has_time() and await self._cancel_all(
            [key for key, _ in await self._store.interrupted(_BATCH)], done
        ):
            pass

    async def _cancel_all(self, keys: list[ExecutionKey], done: "_Done") -> bool:
        """Whether there were any that have not ended meanwhile."""
        before = done.cancelled
        for key in keys:
            with suppress(Conflict, NotFound):
                await self._cancel(key, _REASON)
                done.cancelled += 1
        return done.cancelled > before

    async def _retry_interrupted(self, done: "_Done") -> None:
        while done.has_time() and (count := await self._rescuer.retry_lost()) is not None:
            done.retried += count


class _Done:
    """What one request has done, and until when it may go on."""

    def __init__(self, until: float) -> None:
        self._until = until
        self.out_of_time = False
        self.skipped = 0
        self.retried = 0
        self.cancelled = 0

    def has_time(self) -> bool:
        self.out_of_time = self.out_of_time or monotonic() > self._until
        return not self.out_of_time


def _missed_job(job: JobOfRule, rule: DueRule) -> MissedJob | None:
    """None if the schedule cannot be read: firing says so."""
    try:
        seen = outlook(rule)
    except Exception as error:
        if not is_row_error(error):
            raise
        return None
    return MissedJob(
        tenant=job.tenant,
        job_id=job_id(job.id),
        name=job.name,
        key=job.key,
        task=job.task,
        first_at=rule.next_at,
        last_at=seen.last_at,
        due=seen.due,
        due_is_exact=seen.is_exact,
        runs=seen.runs,
        catch_up=seen.policy,
    )
