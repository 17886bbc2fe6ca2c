"""Takes executions away from workers whose lease expired: another worker runs them, or they end as failed."""

from collections import Counter as Tally
from time import monotonic
from typing import NamedTuple

import msgspec
import structlog
from prometheus_client import Counter

from tickwork.execution_metrics import count_after_attempt
from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.bad_row_isolation import error_text, is_row_error
from tickwork.model.dead_letter import WORKER_LOST
from tickwork.model.error_group import error_fingerprint
from tickwork.model.event_after_commit import Publish, WorkerLost
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import execution_id, job_id, worker_id
from tickwork.model.transition_after_attempt import (
    LockedExecution,
    Transition,
    after_loss,
    after_unreadable_job,
)
from tickwork.store.port.dispatch import DispatchStore, Rescuing
from tickwork.store.port.record import AttemptNote

_GRACE = 5.0  # seconds for live workers to send a heartbeat after the database or this node was away
_MOST_WORKERS = 20  # in one transaction
_MOST_LEASES = 20
_RESCUED = Counter("tickwork_executions_rescued_total", "Executions taken away from lost workers.")
_LOST = Counter(
    "tickwork_workers_lost_total", "Workers whose lease expired: they died or cannot reach a server."
)
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.rescue")


class Rescuer:
    def __init__(self, store: DispatchStore, publish: Publish) -> None:
        self._store = store
        self._publish = publish
        self._reachable_since: float | None = None
        self._rescued: Tally[int] = Tally()  # by this node, for each worker that is not ended yet
        self._limit = LogRateLimit(_log.warning, "execution rescued")

    async def rescue(self) -> bool:
        """Rescue some executions of lost workers; whether there may be more."""
        if self._reachable_since is None:
            self._reachable_since = monotonic()
        try:
            async with self._store.rescuing() as rescuing:
                if monotonic() - self._reachable_since < _GRACE:
                    return False
                rescued = await _rescue(rescuing)
        except Exception as error:
            if is_row_error(error):
                await self._rescue_each_worker()
                return False
            self._reachable_since = None
            raise
        return self._report(rescued)

    async def retry_lost(self) -> int | None:
        """Let some executions of lost workers run again, whatever their jobs say and without counting the loss. Returns
        how many; None if no worker is lost."""
        async with self._store.rescuing() as rescuing:
            rescued = await _rescue(rescuing, always_retry=True)
        self._report(rescued)
        return None if rescued is None else len(rescued.executions)

    async def _rescue_each_worker(self) -> None:
        """After a row error: rescue from each worker separately. A worker that causes errors is left for the next step,
        and the error is raised, so that the loop reports it."""
        async with self._store.rescuing() as rescuing:
            lost = await rescuing.take_dead(_MOST_WORKERS)
        errors: list[Exception] = []
        for worker in lost:
            try:
                async with self._store.rescuing() as rescuing:
                    rescued = await _rescue(rescuing, worker)
            except Exception as error:
                if not is_row_error(error):
                    raise
                errors.append(error)
            else:
                self._report(rescued)
        if errors:
            raise errors[0]

    def _report(self, rescued: "_Rescued | None") -> bool:
        """Log and count what was rescued; whether there was anything."""
        if rescued is None:
            return False
        _RESCUED.inc(len(rescued.executions))
        for execution, transition in rescued.executions:
            self._rescued[execution.worker_id] += 1
            count_after_attempt(AttemptOutcome.LOST, transition.status)
            if self._limit.admits(execution.worker_id):
                _log.warning(_event(transition), **_details(execution, transition))
        _LOST.inc(len(rescued.ended_workers))
        for worker, name in rescued.ended_workers.items():
            count = self._rescued.pop(worker, 0)
            _log.warning("worker lost", worker=worker_id(worker), name=name, executions_rescued=count)
            self._publish(WorkerLost(worker, name, count))
        return True


class _Rescued(NamedTuple):
    executions: list[tuple[LockedExecution, Transition]]
    ended_workers: dict[int, str]  # names of the workers that have no execution left


async def _rescue(
    rescuing: Rescuing, only: int | None = None, *, always_retry: bool = False
) -> _Rescued | None:
    lost = await rescuing.take_dead(_MOST_WORKERS, only)
    if not lost:
        return None
    executions = await rescuing.lock(await rescuing.take_leases(lost, _MOST_LEASES))
    transitions = [_transition(execution, always_retry) for execution in executions]
    await rescuing.settle(transitions, [_lost_attempt(execution) for execution in executions])
    return _Rescued(list(zip(executions, transitions, strict=True)), await rescuing.end(lost))


def _transition(execution: LockedExecution, always_retry: bool) -> Transition:
    try:
        job = msgspec.json.decode(execution.definition, type=JobRequest)
    except (TypeError, ValueError) as error:
        return after_unreadable_job(execution, error_text(error))
    may_retry = always_retry or job.on_worker_lost == "retry"
    return after_loss(execution, may_retry=may_retry, counts=not always_retry)


def _lost_attempt(execution: LockedExecution) -> AttemptNote:
    return AttemptNote(
        execution.key,
        execution.attempt,
        AttemptOutcome.LOST,
        execution.worker_id,
        execution.started_at,
        execution.now,
        fingerprint=error_fingerprint(execution.task, WORKER_LOST, "", None),
    )


def _event(transition: Transition) -> str:
    then = "dead letter" if transition.ready_at is None else "it is handed to another worker"
    return f"execution rescued from a lost worker; {then}"


def _details(execution: LockedExecution, transition: Transition) -> dict[str, object]:
    details: dict[str, object] = {
        "execution": execution_id(execution.key.job_id, execution.key.scheduled_for),
        "job": job_id(execution.key.job_id),
        "attempt": execution.attempt,
        "worker": worker_id(execution.worker_id),
    }
    return {**details, "reason": transition.reason} if transition.reason else details
