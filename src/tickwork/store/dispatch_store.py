"""Claims, worker connections, leases, rescue and revocations."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from tickwork.model.access import Caller
from tickwork.model.execution import ExecutionKey
from tickwork.model.task import valid_defaults
from tickwork.model.worker_protocol import Hello
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.failover.new_attempt_numbers import AttemptFence
from tickwork.store.lease_under_limits import PostgresHandover, lanes_of
from tickwork.store.outcome_store import PostgresAttemptEnding
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import (
    FIRST_CONNECTION,
    NOTHING_LEASED,
    Backlog,
    DispatchSettings,
    ExecutionColumns,
    Heard,
    Lane,
    LeasedExecutions,
    Renewal,
    Revocation,
    WorkerConnection,
)
from tickwork.store.port.record import Claimed
from tickwork.store.query_files import queries, rows_written
from tickwork.store.unchecked_payload_store import check_again
from tickwork.store.write_attempt_events import write_failure

_MOST_COMPARED = 100  # executions of a backlog, for its earliest deadline


class PostgresDispatchStore:
    def __init__(
        self,
        database: Database,
        vital: Database,
        recovery: Database,
        lead: timedelta,
        fence: AttemptFence | None = None,
    ) -> None:
        """`vital`: connections for renewing leases, so that load cannot make live workers look dead. `recovery`: for
        statements about all executions of a worker, which may take longer. `lead`: how long before its due time an
        execution may be handed over."""
        self._database = database
        self._vital = vital
        self._recovery = recovery
        self._lead = lead
        self._fence = fence or AttemptFence()
        self._sql = queries("dispatch")

    @property
    def first_lease(self) -> int:
        return self._fence.first_lease

    async def lanes(self, lanes: Collection[int]) -> list[Lane]:
        return lanes_of(
            await self._vital.fetch(queries("lease_under_limits")["find_lanes_by_id"], list(lanes))
        )

    async def forget_slots(self) -> None:
        await self._database.execute(queries("lease_under_limits")["forget_slots"])

    async def waiting(self, lead: timedelta) -> list[Backlog]:
        return [Backlog(*row) for row in await self._database.fetch(self._sql["waiting_lanes"], lead)]

    @asynccontextmanager
    async def claiming(self) -> AsyncIterator["PostgresClaiming"]:
        async with self._database.transaction() as connection:
            yield PostgresClaiming(connection, self._fence)

    async def fail_oldest(self, backlog: Backlog, lead: timedelta, reason: str) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["lock_oldest_waiting"], backlog.lane, backlog.priority, lead
            )
            if row:
                await self.fail_execution(ExecutionKey(*row), reason)

    async def fail_execution(self, key: ExecutionKey, reason: str) -> None:
        async with self._database.transaction() as connection:
            if rows_written(await connection.execute(self._sql["fail_execution"], *key, reason)):
                await PostgresAttemptEnding(connection).keep_dead_letters([key], {})
                await write_failure(connection, key)

    @asynccontextmanager
    async def rescuing(self) -> AsyncIterator["PostgresRescuing"]:
        async with self._recovery.transaction() as connection:
            yield PostgresRescuing(connection)

    async def register(
        self,
        caller: Caller | None,
        hello: Hello,
        token: bytes,
        lease: timedelta,
        connection_number: int = FIRST_CONNECTION,
    ) -> WorkerConnection:
        tenant_id, key_id = _owner(caller)
        async with self._vital.transaction() as connection:
            if caller:
                await self._offer(connection, caller.tenant_id, hello)
            row = await connection.fetchrow(
                self._sql["register_worker"],
                tenant_id, token, hello.name, hello.host, hello.version, [offer.name for offer in hello.tasks],
                hello.queues, hello.slots, _json(hello.labels), _json(hello.resources), _json(hello.weights), lease,
                connection_number, key_id, hello.commands,
            )  # fmt: skip
        assert row is not None  # noqa: S101 (an INSERT … RETURNING gives its row)
        return WorkerConnection(row["id"], row["connection"])

    async def _offer(self, connection: Connection, tenant_id: int, hello: Hello) -> None:
        offers = sorted(
            hello.tasks, key=lambda offer: offer.name
        )  # in one order, so that workers cannot deadlock
        await connection.execute(
            self._sql["offer_tasks"],
            tenant_id,
            [offer.name for offer in offers],
            [_json(offer.parameters) for offer in offers],
            [offer.description for offer in offers],
            [_json(valid_defaults(offer.defaults)) for offer in offers],
        )
        await check_again(connection, tenant_id, [offer.name for offer in offers])

    async def resume(
        self, caller: Caller | None, hello: Hello, token: bytes, lease: timedelta
    ) -> WorkerConnection | None:
        async with self._vital.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["resume_worker"],
                token, *_owner(caller), lease, _json(hello.labels), _json(hello.resources),
            )  # fmt: skip
        return WorkerConnection(row["id"], row["connection"]) if row else None

    async def leased_to(self, worker_id: int) -> LeasedExecutions:
        async with self._recovery.transaction() as connection:
            await connection.execute(self._sql["wait_for_handovers"], worker_id)
            rows = await connection.fetch(self._sql["running_on_worker"], worker_id, self._lead)
        return LeasedExecutions(
            [row[0] for row in rows], execution_columns([row[1:] for row in map(tuple, rows)])
        )

    async def renew(self, heard: Sequence[Heard], lease: timedelta) -> Renewal:
        connections = [each.connection for each in heard]
        async with self._vital.transaction() as connection:
            rows = await connection.fetch(
                self._sql["renew_leases"],
                [each.worker_id for each in connections],
                [each.connection for each in connections],
                lease,
                *(
                    [_json_or_none(value) for value in column]
                    for column in list(zip(*heard, strict=True))[1:]
                ),
            )
        kept = {WorkerConnection(row["id"], row["connection"]): row["draining"] for row in rows}
        left = [each for each in connections if each not in kept]
        return Renewal(kept, await self._not_ended(left) if left else frozenset())

    async def settings(self) -> DispatchSettings:
        disabled = await self._vital.fetch(self._sql["disabled_tasks"])
        queues = await self._vital.fetch(self._sql["queue_priorities"])
        return DispatchSettings(
            frozenset((row["tenant_id"], row["name"]) for row in disabled),
            {(row["tenant_id"], row["queue"]): row["priority"] for row in queues},
        )

    async def _not_ended(self, connections: Collection[WorkerConnection]) -> frozenset[WorkerConnection]:
        rows = await self._vital.fetch(
            self._sql["workers_not_ended"], [each.worker_id for each in connections]
        )
        living = {row["id"] for row in rows}
        return frozenset(each for each in connections if each.worker_id in living)

    async def drain(self, worker_id: int) -> None:
        async with self._vital.transaction() as connection:
            await connection.execute(self._sql["drain_worker"], worker_id)

    async def leave(self, worker_id: int) -> None:
        async with self._vital.transaction() as connection:
            await connection.execute(self._sql["end_worker"], worker_id)

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]:
        return [_revocation(row) for row in await self._vital.fetch(self._sql["revocations"], list(workers))]

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None:
        async with self._vital.transaction() as connection:
            await connection.execute(
                self._sql["forget_revocations"],
                [revocation.key.tenant_id for revocation in revocations],
                [revocation.key.scheduled_for for revocation in revocations],
                [revocation.key.job_id for revocation in revocations],
                [revocation.attempt for revocation in revocations],
            )

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        (row,) = await self._vital.fetch(self._sql["is_being_stopped"], tenant_id, job)
        return bool(row["waiting"])


class PostgresClaiming(PostgresHandover):
    def __init__(self, connection: Connection, fence: AttemptFence) -> None:
        super().__init__(connection)
        self._fence = fence.columns
        self._sql = queries("dispatch")

    async def earliest_due(self, backlogs: Sequence[Backlog], lead: timedelta) -> list[datetime]:
        rows = await self._connection.fetch(
            self._sql["earliest_due"],
            [backlog.lane for backlog in backlogs],
            [backlog.priority for backlog in backlogs],
            lead,
            _MOST_COMPARED,
        )
        return [row["due"] for row in rows]

    async def pick(
        self, quotas: Mapping[Backlog, int], lead: timedelta, start_within: Sequence[float | None]
    ) -> ExecutionColumns:
        return execution_columns(
            await self._connection.fetch(
                self._sql["pick_ready"],
                [backlog.lane for backlog in quotas],
                [backlog.priority for backlog in quotas],
                list(quotas.values()),
                lead,
                list(start_within),
                *self._fence,
            )
        )

    async def claim(self, executions: ExecutionColumns, worker_id: int) -> None:
        await self._connection.execute(
            self._sql["claim"],
            shortened(executions.tenants),
            shortened(executions.times),
            literal(executions.jobs),
            worker_id,
            *self._fence,
        )


class PostgresRescuing(PostgresAttemptEnding):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._dispatch = queries("dispatch")

    async def take_dead(self, limit: int, only: int | None = None) -> list[int]:
        rows = await self._connection.fetch(self._dispatch["take_dead_workers"], limit, only)
        return [row["id"] for row in rows]

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]:
        rows = await self._connection.fetch(self._dispatch["take_leases"], list(workers), limit)
        claims = [claim for row in rows for claim in _claims(row)]
        return sorted(
            claims, key=lambda claim: (claim.key, claim.worker_id)
        )  # all lock them in the same order

    async def end(self, workers: Sequence[int]) -> dict[int, str]:
        rows = await self._connection.fetch(self._dispatch["end_dead_workers"], list(workers))
        await self._connection.execute(self._dispatch["forget_revocations_of_workers"], list(workers))
        return {row["id"]: row["name"] for row in rows}


def _owner(caller: Caller | None) -> tuple[int | None, int | None]:
    """The tenant and the API key that a worker belongs to. The built-in worker has neither."""
    return (caller.tenant_id, caller.key_id) if caller else (None, None)


def execution_columns(rows: Iterable[Iterable[Any]]) -> ExecutionColumns:
    """Columns from rows that have the fields of ExecutionColumns."""
    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    return ExecutionColumns._make(columns) if columns else NOTHING_LEASED.executions


def _claims(row: asyncpg.Record) -> list[Claimed]:
    jobs = row["job_ids"]
    tenants, times = (_repeated(row[column], len(jobs)) for column in ("tenant_ids", "scheduled_fors"))
    keys = zip(tenants, times, jobs, strict=True)
    return [Claimed(ExecutionKey(*key), row["worker_id"], None) for key in keys]


def _repeated(column: list[Any], length: int) -> list[Any]:
    """A single value stands for all rows."""
    return column * length if len(column) == 1 else column


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _json_or_none(value: object) -> str | None:
    return None if value is None else _json(value)


def _revocation(row: asyncpg.Record) -> Revocation:
    key = ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"])
    return Revocation(row["worker_id"], key, row["attempt"], row["reason"], row["needs_report"])
