"""Putting executions into workers' hands: shared by firing and claiming."""

from collections.abc import Sequence

from tickwork.store.pool import Connection
from tickwork.store.port import Seat, Work
from tickwork.store.query import queries


class PostgresHanding:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dispatch = queries("dispatch")

    async def hold(self, seats: Sequence[Seat]) -> set[int]:
        rows = await self._connection.fetch(
            self._dispatch["hold_workers"],
            [seat.worker_id for seat in seats],
            [seat.connection for seat in seats],
        )
        return {row["id"] for row in rows}

    async def lease(self, works: Sequence[Work], workers: Sequence[int | None]) -> dict[int, int]:
        rows = await self._connection.fetch(self._dispatch["write_leases"], *keys_of(works), list(workers))
        return {row["worker_id"]: row["id"] for row in rows}


def keys_of(works: Sequence[Work]) -> tuple[list[int], list[object], list[int]]:
    """The identities as columns: tenants, times, jobs."""
    return (
        [work.tenant_id for work in works],
        [work.scheduled_for for work in works],
        [work.job_id for work in works],
    )
