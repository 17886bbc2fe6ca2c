"""Circuit breakers, shared by all nodes, and the executions that they hold."""

from collections.abc import Collection, Mapping

import asyncpg

from tickwork.model.circuit_breaker import (
    PACE,
    Breaker,
    BreakerKey,
    BreakerState,
    BreakerView,
    after_release,
    release_count,
)
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import BreakerChange, Decide
from tickwork.store.query_files import queries, rows_written


class PostgresCircuitBreakerStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("circuit_breaker")

    async def read(self) -> list[Breaker]:
        return [_breaker(row) for row in await self._database.fetch(self._sql["breakers"])]

    async def change(
        self, decisions: Mapping[BreakerKey, Decide], make: Collection[BreakerKey] = ()
    ) -> list[BreakerChange]:
        if make:  # in a transaction of its own, so that the locks below are taken in one order
            async with self._database.transaction() as connection:
                await connection.execute(self._sql["make_breakers"], *_columns(make), PACE)
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_breakers"], *_columns(decisions))
            changes = [BreakerChange(before, decisions[before.key](before)) for before in map(_breaker, rows)]
            for change in changes:
                if change.after != change.before:
                    await self._write(connection, change.after)
        return changes

    async def release_held(self, limit: int) -> int:
        async with self._database.transaction() as connection:
            due = await connection.fetch(self._sql["take_due_breakers"], limit)
            return sum([await self._release_held(connection, _breaker(row)) for row in due])

    async def _release_held(self, connection: Connection, breaker: Breaker) -> int:
        wanted = release_count(breaker)
        answer = await connection.execute(self._sql["release_held"], *breaker.key, wanted)
        released = rows_written(answer)
        if released < wanted:
            await connection.execute(self._sql["forget_released"], *breaker.key)
        holding = await connection.fetchval(self._sql["is_holding"], *breaker.key)
        after = after_release(breaker, holding=holding)
        if after:
            await self._write(connection, after)
        else:
            await connection.execute(self._sql["forget_breaker"], *breaker.key)
        return released

    async def _write(self, connection: Connection, breaker: Breaker) -> None:
        key, *fields, _ = breaker
        await connection.execute(self._sql["write_breaker"], *key, *fields)

    async def views(self, tenant_id: int, destination: str | None = None) -> list[BreakerView]:
        rows = await self._database.fetch(self._sql["breakers_of_tenant"], tenant_id, destination)
        return [BreakerView(**{**row, "state": BreakerState(row["state"])}) for row in rows]


def _columns(keys: Collection[BreakerKey]) -> tuple[list[int], list[str]]:
    return [key.tenant_id for key in keys], [key.destination for key in keys]


def _breaker(row: asyncpg.Record) -> Breaker:
    tenant_id, destination, state, *fields = row
    return Breaker(BreakerKey(tenant_id, destination), BreakerState(state), *fields)
