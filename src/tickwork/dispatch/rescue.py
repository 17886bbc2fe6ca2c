"""What dead workers held goes on: with another worker, or to its end."""

from collections import Counter as Tally
from time import monotonic
from typing import NamedTuple

import msgspec
import structlog
from prometheus_client import Counter

from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.bad_row_isolation import error_text, is_row_error
from tickwork.model.event import Publish, WorkerLost
from tickwork.model.execution import AttemptOutcome
from tickwork.model.execution_lifecycle import LockedExecution, Transition, after_loss, after_unreadable_job
from tickwork.model.ids import execution_id, job_id, worker_id
from tickwork.model.job import JobRequest
from tickwork.store.port.dispatch import DispatchStore, Rescuing
from tickwork.store.port.record import AttemptNote

_GRACE = 5.0  # after a database or node was away, living workers get this long to say so
_WORKERS = 20
_LEASES = 20
_RESCUED = Counter("tickwork_executions_rescued_total", "Executions taken out of the hands of dead workers.")
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.rescue")


class Rescuer:
    def __init__(self, store: DispatchStore, publish: Publish) -> None:
        self._store = store
        self._publish = publish
        self._reachable_since: float | None = None
        self._taken: Tally[int] = Tally()  # from each worker that is being cleared away, by this node
        self._limit = LogRateLimit(_log.warning, "execution rescued")

    async def rescue(self) -> bool:
        """Take some of what dead workers hold; whether there may be more."""
        if self._reachable_since is None:
            self._reachable_since = monotonic()
        try:
            async with self._store.rescuing() as rescuing:
                if monotonic() - self._reachable_since < _GRACE:
                    return False
                taken = await _take(rescuing)
        except Exception as error:
            if is_row_error(error):
                await self._take_each()
                return False
            self._reachable_since = None
            raise
        return self._tell(taken)

    async def _take_each(self) -> None:
        """What one of them holds cannot be taken: that of the others is. It stays as it is, and the loop shows it."""
        async with self._store.rescuing() as rescuing:
            dead = await rescuing.take_dead(_WORKERS)
        failed: list[Exception] = []
        for worker in dead:
            try:
                async with self._store.rescuing() as rescuing:
                    taken = await _take(rescuing, worker)
            except Exception as error:
                if not is_row_error(error):
                    raise
                failed.append(error)
            else:
                self._tell(taken)
        if failed:
            raise failed[0]

    def _tell(self, taken: "_Taken | None") -> bool:
        """Whether there was anything."""
        if taken is None:
            return False
        rescued, ended = taken
        _RESCUED.inc(len(rescued))
        for held, verdict in rescued:
            self._taken[held.worker_id] += 1
            if self._limit.admits(held.worker_id):
                _log.warning(_event(verdict), **_about(held, verdict))
        for worker, name in ended.items():
            count = self._taken.pop(worker, 0)
            _log.warning("worker lost", worker=worker_id(worker), name=name, executions_rescued=count)
            self._publish(WorkerLost(worker, name, count))
        return True


class _Taken(NamedTuple):
    rescued: list[tuple[LockedExecution, Transition]]
    ended: dict[int, str]  # the names of the workers of which nothing is left to take


async def _take(rescuing: Rescuing, only: int | None = None) -> _Taken | None:
    dead = await rescuing.take_dead(_WORKERS, only)
    if not dead:
        return None
    held = await rescuing.lock(await rescuing.take_leases(dead, _LEASES))
    verdicts = [_verdict(each) for each in held]
    await rescuing.settle(verdicts, [_note(each) for each in held])
    return _Taken(list(zip(held, verdicts, strict=True)), await rescuing.end(dead))


def _verdict(held: LockedExecution) -> Transition:
    try:
        job = msgspec.json.decode(held.definition, type=JobRequest)
    except (TypeError, ValueError) as error:
        return after_unreadable_job(held, error_text(error))
    return after_loss(held, may_retry=job.on_worker_lost == "retry")


def _note(held: LockedExecution) -> AttemptNote:
    return AttemptNote(held.key, held.attempt, AttemptOutcome.LOST, held.worker_id, held.started_at, held.now)


def _event(verdict: Transition) -> str:
    then = "dead letter" if verdict.ready_at is None else "it is handed to another worker"
    return f"execution rescued from a lost worker; {then}"


def _about(held: LockedExecution, verdict: Transition) -> dict[str, object]:
    about: dict[str, object] = {
        "execution": execution_id(held.key.job_id, held.key.scheduled_for),
        "job": job_id(held.key.job_id),
        "attempt": held.attempt,
        "worker": worker_id(held.worker_id),
    }
    return {**about, "reason": verdict.reason} if verdict.reason else about
