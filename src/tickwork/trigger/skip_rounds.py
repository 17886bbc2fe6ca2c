"""Rounds of a job that depends on others are skipped when those others are not due in them."""

from tickwork.store.port.trigger import DependencyStore

_TOGETHER = 1000  # in one transaction


async def skip_rounds_without_parents(store: DependencyStore) -> bool:
    """Look at some rounds; whether there may be more."""
    return await store.skip_rounds_without_parents(_TOGETHER) == _TOGETHER
