"""How things stand, in one answer: from statistics and from what is out of the ordinary.

Nothing here looks at jobs or executions one by one, so that it is as quick with ten million jobs as with ten.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from tickwork.define.jobs import Jobs
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.list_and_drain_workers import Workers
from tickwork.dispatch.list_set_and_pause_queues import Queues
from tickwork.model.circuit_breaker import BreakerState
from tickwork.model.job import HTTP_TASK, JobView
from tickwork.model.job_filter import JobFilter
from tickwork.model.overview import (
    Backlog,
    Capacity,
    FailingJob,
    NextRun,
    OverviewView,
    RecentCounts,
    SilentWorker,
)
from tickwork.model.queue import QueueView
from tickwork.model.statistics import Counts, percentiles
from tickwork.model.worker import BEAT, WorkerView
from tickwork.record.list_and_redrive_error_groups import ErrorGroups
from tickwork.record.read_statistics_series import Statistics
from tickwork.store.overview_store import PostgresOverviewStore

_WINDOW = timedelta(hours=24)
_MOST_COUNTED = 10_000
_MOST_LISTED = 500  # queues and workers
_MOST_SHOWN = 20
_NEXT = 8
_STUCK_AFTER = 60.0  # seconds
_SILENT_AFTER = 3 * BEAT


class Overview:
    def __init__(
        self,
        store: PostgresOverviewStore,
        statistics: Statistics,
        jobs: Jobs,
        queues: Queues,
        workers: Workers,
        breakers: Breakers,
        error_groups: ErrorGroups,
        is_paused: Callable[[], bool],
    ) -> None:
        self._store = store
        self._statistics = statistics
        self._jobs = jobs
        self._queues = queues
        self._workers = workers
        self._breakers = breakers
        self._error_groups = error_groups
        self._is_paused = is_paused

    async def view(self, tenant_id: int) -> OverviewView:
        now = await self._statistics.now()
        total = await self._statistics.total(tenant_id, now - _WINDOW, now)
        exceptions = await self._store.count_exceptions(tenant_id, _MOST_COUNTED)
        breakers = [
            each for each in await self._breakers.list(tenant_id) if each.state is not BreakerState.CLOSED
        ]
        workers = (await self._workers.list(tenant_id, _MOST_LISTED)).items
        queues = (await self._queues.list(tenant_id, _MOST_LISTED)).items
        used = _used(queues)
        causes = await self._error_groups.list(tenant_id, None, None, _MOST_SHOWN, None)
        next_runs = await self._jobs.list(tenant_id, JobFilter(sort="next_run_at", due_after=now), _NEXT)
        return OverviewView(
            at=now,
            paused=self._is_paused(),
            last_24_hours=_recent(total),
            failing_jobs=exceptions.failing_jobs,
            failing_jobs_exact=exceptions.failing_jobs < _MOST_COUNTED,
            worst=await self.failing_jobs(tenant_id),
            dead_letters=exceptions.dead_letters,
            dead_letters_exact=exceptions.dead_letters < _MOST_COUNTED,
            causes=[each for each in causes.items if each.dead_letters or each.last_hour],
            open_breakers=len(breakers),
            breakers=breakers[:_MOST_SHOWN],
            failing_pings=exceptions.failing_pings,
            backlog=_backlog(queues),
            queues=used,
            unserved_queues=await self._unserved(tenant_id, used, workers),
            capacity=_capacity(workers, now),
            silent=[_silent(each) for each in workers if _is_silent(each, now)][:_MOST_SHOWN],
            next_runs=[*map(_next_run, next_runs.items)],
        )

    async def _unserved(
        self, tenant_id: int, queues: Sequence[QueueView], workers: Sequence[WorkerView]
    ) -> list[str]:
        """The built-in workers serve every queue, but only HTTP jobs."""
        of_users = [each for each in workers if each.tasks != [HTTP_TASK]]
        unserved = [each.name for each in queues if not _is_served(each.name, of_users)]
        return await self._store.queues_with_tasks(tenant_id, unserved) if unserved else []

    async def failing_jobs(self, tenant_id: int) -> list[FailingJob]:
        """Those that failed last."""
        return await self._store.failing_jobs(tenant_id, _MOST_COUNTED, _MOST_SHOWN)

    async def capacity(self, tenant_id: int) -> Capacity:
        workers = (await self._workers.list(tenant_id, _MOST_LISTED)).items
        return _capacity(workers, await self._statistics.now())


def _recent(total: Counts) -> RecentCounts:
    ended = total.completed + total.failed
    return RecentCounts(
        fired=total.fired,
        started=total.started,
        completed=total.completed,
        failed=total.failed,
        retried=total.retried,
        skipped=sum(total.skipped_by_reason.values()),
        missed=total.missed,
        lost=total.lost,
        cancelled=total.cancelled,
        success_share=total.completed / ended if ended else None,
        start_delay=percentiles(total.start_delays),
        run_time=percentiles(total.run_times),
    )


def _backlog(queues: Sequence[QueueView]) -> Backlog:
    oldest = max(queues, key=lambda queue: queue.oldest_age or -1.0, default=None)
    has_waiting = oldest is not None and oldest.oldest_age is not None
    return Backlog(
        waiting=sum(queue.depth for queue in queues),
        exact=all(queue.depth_is_exact for queue in queues),
        running=sum(queue.running for queue in queues),
        oldest_age=oldest.oldest_age if oldest else None,
        oldest_queue=oldest.name if oldest and has_waiting else None,
        stuck_queues=[
            queue.name for queue in queues if not queue.paused and (queue.oldest_age or 0.0) > _STUCK_AFTER
        ],
        paused_queues=sum(queue.paused for queue in queues),
    )


def _capacity(workers: Sequence[WorkerView], now: datetime) -> Capacity:
    alive = [worker for worker in workers if worker.status != "offline"]
    built_in = [worker for worker in alive if worker.tasks == [HTTP_TASK]]
    of_users = [worker for worker in alive if worker.tasks != [HTTP_TASK]]
    return Capacity(
        workers=len(of_users),
        slots=sum(worker.slots for worker in of_users),
        slots_busy=sum(worker.holding for worker in of_users),
        http_slots=sum(worker.slots for worker in built_in),
        http_slots_busy=sum(worker.holding for worker in built_in),
        silent_workers=sum(_is_silent(worker, now) for worker in of_users),
    )


def _used(queues: Sequence[QueueView]) -> list[QueueView]:
    used = [each for each in queues if each.paused or each.depth or each.running]
    return sorted(used, key=lambda each: each.depth + each.running, reverse=True)[:_MOST_SHOWN]


def _is_served(queue: str, workers: Sequence[WorkerView]) -> bool:
    return any(each.status == "online" and (not each.queues or queue in each.queues) for each in workers)


def _is_silent(worker: WorkerView, now: datetime) -> bool:
    return worker.status != "offline" and now - worker.heartbeat_at > _SILENT_AFTER


def _silent(worker: WorkerView) -> SilentWorker:
    return SilentWorker(
        id=worker.id, name=worker.name, heartbeat_at=worker.heartbeat_at, holding=worker.holding
    )


def _next_run(job: JobView) -> NextRun:
    assert job.next_run_at is not None  # noqa: S101 (the list is of those that run again)
    return NextRun(
        at=job.next_run_at, job_id=job.id, name=job.name, key=job.key, task=job.task, queue=job.queue
    )
