"""Which completed executions are events, because somebody is told of them. While nobody is, a batch of outcomes costs
one look at a set of lanes.

Whether a job itself asks for it is a part of its lane, which never changes and goes with every outcome: so an execution
that completes at once is not missed. Rules are read every second.
"""

from collections.abc import Mapping, Sequence

from tickwork.store.port.notify import CompletionRules, CompletionStore, ToldCompletion
from tickwork.store.port.record import CompletedColumns


class WantedCompletions:
    def __init__(self, store: CompletionStore) -> None:
        self._store = store
        self._queues: dict[int, str] = {}  # of the lanes that this node knows
        self._telling: set[int] = set()  # lanes
        self._rules: Mapping[int, CompletionRules] = {}

    async def read_rules(self) -> bool:
        self._rules = await self._store.completion_rules()
        return False

    async def among(self, completed: CompletedColumns) -> Sequence[ToldCompletion]:
        if not self._queues.keys() >= (lanes := {*completed.lanes}):
            await self._learn(lanes - self._queues.keys())
        if not self._rules and self._telling.isdisjoint(lanes):
            return ()
        return [
            ToldCompletion(outcome, is_certain)
            for outcome, lane in zip(completed.outcomes, completed.lanes, strict=True)
            if (is_certain := self._is_told(outcome.tenant, lane)) is not None
        ]

    def _is_told(self, tenant_id: int, lane: int) -> bool | None:
        """None: nobody is told of it. False: only the database knows."""
        if lane in self._telling:
            return True
        rules = self._rules.get(tenant_id)
        if rules is None:
            return None
        if rules.everything or self._queues.get(lane) in rules.queues:
            return True
        return False if rules.of_some_jobs else None

    async def _learn(self, unknown: set[int]) -> None:
        for lane in await self._store.telling_lanes(unknown):
            self._queues[lane.id] = lane.queue
            if lane.tells_completion:
                self._telling.add(lane.id)
