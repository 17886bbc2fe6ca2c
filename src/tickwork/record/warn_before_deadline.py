"""Tells of executions that are going to miss their deadlines, while something can still be done about it."""

from datetime import datetime, timedelta

import msgspec

from tickwork.model.execution import ExecutionKey
from tickwork.store.port.record import DeadlineStore, EndangeredExecution, UnendedExecution

_MOST = 2000  # executions looked at in one step, of those that wait and of those that run
_UNKNOWN = timedelta(0)  # how long a job usually takes that has not run yet


class Deadlines:
    def __init__(self, store: DeadlineStore) -> None:
        self._store = store
        self._told = set[ExecutionKey]()  # by this node, as long as they have not ended

    async def tell_endangered(self) -> bool:
        """An execution that starts now, or has started, is expected to take as long as usual."""
        unended = await self._store.unended(_MOST)
        self._told.intersection_update(each.key for each in unended)
        near = [each for each in unended if each.key not in self._told and _is_near(each)]
        if not near:
            return False
        usual = await self._store.usual_run_times({(each.key.tenant_id, each.key.job_id) for each in near})
        endangered = [
            found
            for each in near
            if (found := endangered_execution(each, usual.get(each.key.job_id, _UNKNOWN)))
        ]
        if endangered:
            self._told.update(await self._store.tell_endangered(endangered))
        return False


def _is_near(execution: UnendedExecution) -> bool:
    """Nothing takes longer than its timeout."""
    return execution.deadline - execution.now <= execution.timeout


def endangered_execution(execution: UnendedExecution, usual: timedelta) -> EndangeredExecution | None:
    end = max(execution.now, (execution.started_at or execution.now) + usual)
    if end < execution.deadline:
        return None
    detail = {
        "deadline": _written(execution.deadline),
        "expected_end": _written(end),
        "usual_run_time": usual.total_seconds() or None,
        "is_running": execution.started_at is not None,
    }
    return EndangeredExecution(execution.key, execution.lane_id, msgspec.json.encode(detail).decode())


def _written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
