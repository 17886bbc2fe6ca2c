"""The pulse: starts and ends of executions, passed on to the nodes on which somebody follows them.

While nobody follows, a batch of outcomes costs one look at an empty set. Above a rate the pulse is a sample: of each
tenant a node passes on a limited number of executions, and says how many it left out.
"""

from collections.abc import Sequence
from time import monotonic

from tickwork.model.event_after_commit import AttemptsEnded
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Outcome
from tickwork.store.port.record import EventStore

PULSE_INTERVAL = 0.25  # seconds between two flushes
PULSE_MOST = 250  # executions of a tenant that a node passes on in one flush: 1,000 a second
_LOOK = 1.0  # seconds between two looks at who follows


class PulseWriter:
    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._wanted: frozenset[int] = frozenset()
        self._looked_at = 0.0
        self._ended: dict[int, list[Outcome]] = {}
        self._left_out: dict[int, int] = {}

    def after_end(self, ended: AttemptsEnded) -> None:
        if self._wanted:
            for outcomes in ended.outcomes:
                self._take(outcomes)

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.tenant not in self._wanted or outcome.kind is not AttemptOutcome.COMPLETED:
                continue
            taken = self._ended.setdefault(outcome.tenant, [])
            if len(taken) < PULSE_MOST:
                taken.append(outcome)
            else:
                self._left_out[outcome.tenant] = self._left_out.get(outcome.tenant, 0) + 1

    async def flush(self) -> bool:
        """Pass on what ended since the last flush."""
        if monotonic() - self._looked_at > _LOOK:
            self._looked_at = monotonic()
            self._wanted = await self._store.wanted_pulse()
        ended, self._ended = self._ended, {}
        left_out, self._left_out = self._left_out, {}
        for tenant_id, outcomes in ended.items():
            await self._store.write_pulse(tenant_id, outcomes, left_out.get(tenant_id, 0))
        return False
