"""Putting executions into workers' hands: shared by firing and claiming."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import asyncpg

from tickwork.model.placement import placement_from_text
from tickwork.model.quantities import parse_rate
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.pool import Connection
from tickwork.store.port.dispatch import ExecutionColumns, Gate, GateName, Lane, Slot, WorkerConnection
from tickwork.store.query_files import queries


class PostgresHandover:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dispatch = queries("dispatch")
        self._limiter = queries("limiter")

    async def hold(self, seats: Sequence[WorkerConnection]) -> set[int]:
        rows = await self._connection.fetch(
            self._dispatch["lock_workers"],
            [seat.worker_id for seat in seats],
            [seat.connection for seat in seats],
        )
        return {row["id"] for row in rows}

    async def lanes(self, lanes: Collection[int]) -> list[Lane]:
        return lanes_of(await self._connection.fetch(self._dispatch["find_lanes_by_id"], list(lanes)))

    async def lock_gates(self, names: Collection[GateName]) -> list[Gate]:
        columns = [[*column] for column in zip(*names, strict=True)]
        return [_gate(row) for row in await self._connection.fetch(self._limiter["lock_limiters"], *columns)]

    async def running(self, gates: Sequence[int], *, exactly: bool) -> dict[int, int]:
        query = self._limiter["running_by_limiter" if exactly else "handed_over_by_limiter"]
        rows = await self._connection.fetch(query, list(gates))
        return dict.fromkeys(gates, 0) | {row["limiter_id"]: row["running"] for row in rows}

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None:
        await self._connection.execute(
            self._limiter["use_rates"], list(used_until), list(used_until.values())
        )

    async def lease(self, worker_id: int, works: ExecutionColumns, slots: Sequence[Slot] = ()) -> int:
        lease: int = await self._connection.fetchval(
            self._dispatch["write_lease"],
            worker_id,
            shortened(works.tenants),
            shortened(works.times),
            literal(works.jobs),
        )
        if slots:
            await self._connection.execute(
                self._limiter["take_slots"],
                lease,
                [slot.gate_id for slot in slots],
                [slot.places.start + 1 for slot in slots],
                [slot.places.stop for slot in slots],
            )
        return lease


def lanes_of(rows: Iterable[asyncpg.Record]) -> list[Lane]:
    return [
        Lane(row["id"], row["tenant_id"], row["queue"], row["task"], placement_from_text(row["placement"]))
        for row in rows
    ]


def _gate(row: asyncpg.Record) -> Gate:
    return Gate(
        row["id"],
        (row["tenant_id"], row["kind"], row["name"]),
        row["paused"],
        row["max_running"],
        parse_rate(row["rate"]) if row["rate"] else None,
        row["used_until"],
        row["now"],
    )
