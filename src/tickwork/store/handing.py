"""Putting executions into workers' hands: shared by firing and claiming."""

from collections.abc import Sequence

from tickwork.model.ids import from_micros
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
            _shortened(works.tenants),
            [from_micros(at) for at in _shortened(works.times)],
            works.jobs,
        )
        return lease


def _shortened(column: Sequence[int]) -> Sequence[int]:
    """One value stands for all, as it mostly does in a round."""
    return column[:1] if column.count(column[0]) == len(column) else column
