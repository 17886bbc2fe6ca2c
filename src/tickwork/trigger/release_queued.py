"""Executions that wait for an earlier one of the same job (`overlap: queue`) go on once that one has ended."""

from tickwork.store.port.trigger import TriggerStore
from tickwork.wake import Wake

_TOGETHER = 1000  # in one transaction


async def release_queued(store: TriggerStore, wake: Wake) -> bool:
    """Release some whose turn has come; whether there may be more."""
    released = await store.release_queued(_TOGETHER)
    if released:
        wake.claim()
    return released == _TOGETHER
