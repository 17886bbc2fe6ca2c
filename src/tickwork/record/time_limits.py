"""Ends attempts past their timeout whose workers do not, and tells of those that have become slow."""

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

from tickwork.model.overdue_attempt import OverdueAttempt
from tickwork.store.port.record import TimeLimitStore

_GRACE = 10.0  # seconds for workers to report what ended while the database or this node was away
_MOST_LEASES = 100  # in one transaction


class TimeLimits:
    def __init__(
        self, store: TimeLimitStore, time_out: Callable[[Sequence[OverdueAttempt]], Awaitable[None]]
    ) -> None:
        self._store = store
        self._time_out = time_out
        self._reachable_since: float | None = None

    async def enforce(self) -> bool:
        """Look at some leases that have lasted; whether there may be more.

        An attempt that is found here but not ended, because this node dies or the database is away, is found again."""
        if self._reachable_since is None:
            self._reachable_since = monotonic()
        try:
            checked = await self._store.check_leases(_MOST_LEASES)
            if checked.overdue and monotonic() - self._reachable_since >= _GRACE:
                await self._time_out(checked.overdue)
        except Exception:
            self._reachable_since = None
            raise
        return checked.looked_at == _MOST_LEASES
