"""Putting executions into workers' hands: shared by firing and claiming."""

from collections.abc import Sequence

from tickwork.store.column import shortened
from tickwork.store.pool import Connection
from tickwork.store.port import Seat, Works
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

    async def lease(self, worker_id: int, works: Works) -> int:
        lease: int = await self._connection.fetchval(
            self._dispatch["write_lease"],
            worker_id,
            shortened(works.tenants),
            shortened(works.times),
            works.jobs,
        )
        return lease
