"""How things stand, in one answer: from statistics and from what is out of the ordinary.

Nothing here looks at jobs or executions one by one, so that it is as quick with ten million jobs as with ten.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tickwork.define.jobs import Jobs
from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.queues import Queues
from tickwork.dispatch.workers_and_tasks import Workers
from tickwork.model.circuit_breaker import BreakerState
from tickwork.model.job import HTTP_TASK, JobView
from tickwork.model.job_filter import JobFilter
from tickwork.model.overview import Backlog, Capacity, NextRun, OverviewView, RecentCounts
from tickwork.model.queue import QueueView
from tickwork.model.statistics import Counts, percentiles
from tickwork.model.worker import BEAT, WorkerView
from tickwork.record.statistics import Statistics
from tickwork.store.failing_jobs_and_dead_letters import PostgresOverviewStore

_WINDOW = timedelta(hours=24)
_MOST_COUNTED = 10_000
_MOST_LISTED = 500  # queues and workers
_WORST = 20
_NEXT = 5
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
    ) -> None:
        self._store = store
        self._statistics = statistics
        self._jobs = jobs
        self._queues = queues
        self._workers = workers
        self._breakers = breakers

    async def view(self, tenant_id: int) -> OverviewView:
        now = await self._statistics.now()
        total = await self._statistics.total(tenant_id, now - _WINDOW, now)
        exceptions = await self._store.count_exceptions(tenant_id, _MOST_COUNTED)
        breakers = await self._breakers.list(tenant_id)
        workers = (await self._workers.list(tenant_id, _MOST_LISTED)).items
        next_runs = await self._jobs.list(tenant_id, JobFilter(sort="next_run_at", due_after=now), _NEXT)
        return OverviewView(
            at=now,
            last_24_hours=_recent(total),
            failing_jobs=exceptions.failing_jobs,
            failing_jobs_exact=exceptions.failing_jobs < _MOST_COUNTED,
            worst=await self._store.failing_jobs(tenant_id, _MOST_COUNTED, _WORST),
            dead_letters=exceptions.dead_letters,
            dead_letters_exact=exceptions.dead_letters < _MOST_COUNTED,
            open_breakers=sum(breaker.state is not BreakerState.CLOSED for breaker in breakers),
            backlog=_backlog((await self._queues.list(tenant_id, _MOST_LISTED)).items),
            capacity=_capacity(workers, now),
            next_runs=[*map(_next_run, next_runs.items)],
        )


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
        silent_workers=sum(now - worker.heartbeat_at > _SILENT_AFTER for worker in of_users),
    )


def _next_run(job: JobView) -> NextRun:
    assert job.next_run_at is not None  # noqa: S101 (the list is of those that run again)
    return NextRun(at=job.next_run_at, job_id=job.id, name=job.name, key=job.key, task=job.task)
