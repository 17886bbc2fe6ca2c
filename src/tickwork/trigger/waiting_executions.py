"""Steps for executions that wait: for their day, for an earlier execution of their job, or for parents.

Each step handles one batch in one transaction and returns whether there may be more.
"""

from collections.abc import Callable
from datetime import datetime

from tickwork.loop import Wake
from tickwork.store.port.trigger import DependencyStore, MakeDays, TriggerStore

_BATCH = 1000


async def create_deferred_executions(
    store: TriggerStore, horizon: Callable[[], datetime], make_days_for: MakeDays
) -> bool:
    """Create the executions of deferred jobs that are due before the horizon."""
    return await store.promote_deferred(horizon(), _BATCH, make_days_for) == _BATCH


async def release_queued_executions(store: TriggerStore, wake: Wake) -> bool:
    """Release executions (`overlap: queue`) for which the earlier execution has ended."""
    released = await store.release_queued(_BATCH)
    if released:
        wake.claim()
    return released == _BATCH


async def skip_rounds_without_parents(store: DependencyStore) -> bool:
    """Skip executions of child jobs in rounds in which their parents are not due."""
    return await store.skip_rounds_without_parents(_BATCH) == _BATCH
