"""One-time jobs that are due later than the last partition get their executions when their day comes near."""

from collections.abc import Callable
from datetime import datetime

from tickwork.store.port.trigger import MakeDays, TriggerStore

_TOGETHER = 1000  # in one transaction


async def promote_far_jobs(
    store: TriggerStore, horizon: Callable[[], datetime], make_days_for: MakeDays
) -> bool:
    """Promote some that are due before the horizon; whether there may be more."""
    return await store.promote_held(horizon(), _TOGETHER, make_days_for) == _TOGETHER
