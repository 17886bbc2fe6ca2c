"""Hands executions over to workers, in the transactions of firing and claiming."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import asyncpg

from tickwork.model.quantities import parse_rate
from tickwork.model.requires_limits_fair_share import placement_from_text
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.pool import Connection
from tickwork.store.port.dispatch import ExecutionColumns, Lane, Limiter, LimiterName, Slot, WorkerConnection
from tickwork.store.query_files import queries


class PostgresHandover:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._handover = queries("lease_under_limits")

    async def lock_workers(self, connections: Sequence[WorkerConnection]) -> set[int]:
        rows = await self._connection.fetch(
            self._handover["lock_workers"],
            [each.worker_id for each in connections],
            [each.connection for each in connections],
        )
        return {row["id"] for row in rows}

    async def lanes(self, lanes: Collection[int]) -> list[Lane]:
        return lanes_of(await self._connection.fetch(self._handover["find_lanes_by_id"], list(lanes)))

    async def lock_limiters(self, names: Collection[LimiterName]) -> list[Limiter]:
        columns = [[*column] for column in zip(*names, strict=True)]
        return [
            _limiter(row) for row in await self._connection.fetch(self._handover["lock_limiters"], *columns)
        ]

    async def running(self, limiters: Sequence[int], *, exactly: bool) -> dict[int, int]:
        query = self._handover["running_by_limiter" if exactly else "handed_over_by_limiter"]
        rows = await self._connection.fetch(query, list(limiters))
        return dict.fromkeys(limiters, 0) | {row["limiter_id"]: row["running"] for row in rows}

    async def workers_under(self, limiters: Sequence[int]) -> dict[int, set[int]]:
        workers: dict[int, set[int]] = {limiter: set() for limiter in limiters}
        for row in await self._connection.fetch(self._handover["workers_by_limiter"], list(limiters)):
            workers[row["limiter_id"]].add(row["worker_id"])
        return workers

    async def use_rates(self, used_until: Mapping[int, datetime]) -> None:
        await self._connection.execute(
            self._handover["use_rates"], list(used_until), list(used_until.values())
        )

    async def lease(self, worker_id: int, executions: ExecutionColumns, slots: Sequence[Slot] = ()) -> int:
        lease: int = await self._connection.fetchval(
            self._handover["write_lease"],
            worker_id,
            shortened(executions.tenants),
            shortened(executions.times),
            literal(executions.jobs),
        )
        if slots:
            await self._connection.execute(
                self._handover["take_slots"],
                lease,
                [slot.limiter_id for slot in slots],
                [slot.indexes.start + 1 for slot in slots],
                [slot.indexes.stop for slot in slots],
            )
        return lease


def lanes_of(rows: Iterable[asyncpg.Record]) -> list[Lane]:
    return [
        Lane(row["id"], row["tenant_id"], row["queue"], row["task"], placement_from_text(row["placement"]))
        for row in rows
    ]


def _limiter(row: asyncpg.Record) -> Limiter:
    return Limiter(
        row["id"],
        (row["tenant_id"], row["kind"], row["name"]),
        row["paused"],
        row["max_running"],
        parse_rate(row["rate"]) if row["rate"] else None,
        row["used_until"],
        row["now"],
        row["max_workers"],
    )
