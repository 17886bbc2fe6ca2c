"""What dead workers held goes on: with another worker, or to its end."""

from time import monotonic

import msgspec
from prometheus_client import Counter

from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.lifecycle import Held, lost
from tickwork.store.port.dispatch import DispatchStore, Rescuing
from tickwork.store.port.settling import AttemptNote

_GRACE = 5.0  # after a database or node was away, living workers get this long to say so
_WORKERS = 20
_LEASES = 20
_RESCUED = Counter("tickwork_executions_rescued_total", "Executions taken out of the hands of dead workers.")


class Rescuer:
    def __init__(self, store: DispatchStore) -> None:
        self._store = store
        self._reachable_since: float | None = None

    async def rescue(self) -> bool:
        """Take some of what dead workers hold; whether there may be more."""
        if self._reachable_since is None:
            self._reachable_since = monotonic()
        try:
            async with self._store.rescuing() as rescuing:
                if monotonic() - self._reachable_since < _GRACE:
                    return False
                return await self._take(rescuing)
        except BaseException:
            self._reachable_since = None
            raise

    async def _take(self, rescuing: Rescuing) -> bool:
        dead = await rescuing.take_dead(_WORKERS)
        if not dead:
            return False
        held = await rescuing.lock(await rescuing.take_leases(dead, _LEASES))
        verdicts = [lost(each, may_retry=_may_retry(each)) for each in held]
        await rescuing.settle(verdicts, [_note(each) for each in held])
        await rescuing.end(dead)
        _RESCUED.inc(len(held))
        return True


def _may_retry(held: Held) -> bool:
    return msgspec.json.decode(held.definition, type=JobRequest).on_worker_lost == "retry"


def _note(held: Held) -> AttemptNote:
    return AttemptNote(held.key, held.attempt, AttemptOutcome.LOST, held.worker_id, held.started_at, held.now)
