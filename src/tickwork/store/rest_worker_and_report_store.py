"""REST workers and their reports on attempts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import msgspec

from tickwork.model.access import Caller
from tickwork.model.errors import Conflict, LeaseGone, NotAllowed, NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus
from tickwork.model.public_ids import execution_id, worker_id
from tickwork.model.rest_worker import HeartbeatReport, resource_amounts
from tickwork.model.worker_protocol import Hello, TaskOffer
from tickwork.store.dispatch_store import execution_columns
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import NO_CONNECTION, LeasedExecutions, RestWorker
from tickwork.store.port.record import AttemptState
from tickwork.store.query_files import queries


class PostgresRestWorkerReportStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("rest_worker_and_report")

    async def state(self, key: ExecutionKey, attempt: int, key_id: int) -> AttemptState:
        row = await self._database.fetchrow(self._sql["attempt_state"], *key, attempt, key_id)
        if row is None:
            raise NotFound("execution", execution_id(key.job_id, key.scheduled_for))
        return _state(row, attempt)

    async def begin(self, key: ExecutionKey, attempt: int, key_id: int) -> bool:
        async with self._database.transaction() as connection:
            began = await connection.fetchval(self._sql["begin_attempt"], *key, attempt, key_id)
        return began is not None

    async def release_ended(self, key: ExecutionKey, attempt: int, key_id: int, state: AttemptState) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_revocation"], *key, attempt, key_id)
            if state.leases:
                await connection.execute(queries("outcome")["close_leases"], state.leases)


def _state(row: asyncpg.Record, attempt: int) -> AttemptState:
    status = ExecutionStatus(row["status"])
    is_current = row["attempt"] == attempt
    is_rest_worker = row["connection"] == NO_CONNECTION and not row["foreign"]
    completed = is_current and status is ExecutionStatus.COMPLETED
    return AttemptState(
        status=status,
        attempt=row["attempt"],
        worker_id=row["worker_id"]
        if is_current and is_rest_worker and status is ExecutionStatus.RUNNING
        else None,
        started_at=row["started_at"],
        reason=row["reason"],
        outcome=AttemptOutcome.COMPLETED
        if completed
        else AttemptOutcome(row["outcome"])
        if row["outcome"]
        else None,
        leases=row["leases"] if is_current and is_rest_worker else [],
        lane_id=row["lane_id"],
        is_foreign=row["foreign"],
    )


_LARGEST = 2**31 - 1


class PostgresRestWorkerStore:
    def __init__(self, database: Database, vital: Database) -> None:
        """`vital`: connections for heartbeats, so that load cannot make live workers look dead."""
        self._database = database
        self._vital = vital
        self._sql = queries("rest_worker_and_report")

    async def heartbeat(
        self, caller: Caller, worker: int, lease: timedelta, report: HeartbeatReport | None = None
    ) -> bool:
        number = min(worker, _LARGEST)
        async with self._vital.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["heartbeat"], caller.tenant_id, caller.key_id, number, lease, *_changes(report)
            )
            if row is not None:
                return bool(row["draining"])
            raise _refusal(
                worker, await self._why_refused(connection, caller.tenant_id, number, caller.key_id)
            )

    async def _why_refused(
        self, connection: Connection, tenant_id: int, worker: int, key_id: int | None
    ) -> asyncpg.Record | None:
        return await connection.fetchrow(self._sql["why_refused"], tenant_id, worker, key_id)

    @asynccontextmanager
    async def serving(self, caller: Caller, worker: int) -> AsyncIterator[RestWorker]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_worker"], caller.tenant_id, caller.key_id, worker)
            if row is None:
                raise _gone(worker)
            rows = await connection.fetch(self._sql["running_on_rest_worker"], worker)
            await connection.execute(
                self._sql["close_ended_leases"], worker, [row["lease_id"] for row in rows]
            )
            yield RestWorker(_hello(row), row["draining"], _leased(rows), [each["begun"] for each in rows])

    async def is_there_news(
        self, tenant_id: int, worker: int, tasks: Sequence[str], queues: Sequence[str]
    ) -> bool:
        (row,) = await self._database.fetch(self._sql["is_there_news"], tenant_id, tasks, queues, worker)
        return bool(row["news"])

    async def drain(self, tenant_id: int, worker: int, only_of: int | None) -> None:
        number = min(worker, _LARGEST)
        async with self._vital.transaction() as connection:
            if await connection.fetchval(self._sql["ask_to_drain"], tenant_id, number, only_of) is not None:
                return
            row = await self._why_refused(connection, tenant_id, number, only_of)
        if row is None:
            raise NotFound("worker", worker_id(worker))
        if row["built_in"]:
            raise Conflict("the built-in worker is a part of its server, and drains when the server stops")
        if row["foreign"]:
            raise _foreign(worker)


def _changes(report: HeartbeatReport | None) -> list[str | None]:
    """What a report changes, as JSON: load, labels, resources."""
    if report is None:
        return [None] * 3
    resources = None if report.resources is None else resource_amounts(report.resources)
    return [
        None if value is None else msgspec.json.encode(value).decode()
        for value in (report.load, report.labels, resources)
    ]


def _refusal(worker: int, row: asyncpg.Record | None) -> Exception:
    if row is None:
        return NotFound("worker", worker_id(worker))
    if row["foreign"]:
        return _foreign(worker)
    if row["connected"]:
        return Conflict(f"worker {worker_id(worker)} is connected by WebSocket: send heartbeats there")
    return _gone(worker)


def _foreign(worker: int) -> NotAllowed:
    return NotAllowed(
        f"worker {worker_id(worker)} was registered with another key: use that one, or register a worker of your own"
    )


def _gone(worker: int) -> LeaseGone:
    return LeaseGone(
        f"the lease of worker {worker_id(worker)} expired, and its executions were given to other workers: "
        "stop it and register again"
    )


def _hello(row: asyncpg.Record) -> Hello:
    return Hello(
        name=row["name"],
        host="",
        version="",
        slots=row["slots"],
        credit=row["slots"],
        tasks=[TaskOffer(name, {}) for name in row["tasks"]],
        queues=row["queues"],
        weights=msgspec.json.decode(row["weights"]),
        labels=msgspec.json.decode(row["labels"]),
        resources=msgspec.json.decode(row["resources"]),
    )


def _leased(rows: Sequence[asyncpg.Record]) -> LeasedExecutions:
    return LeasedExecutions(
        [row["lease_id"] for row in rows], execution_columns([tuple(row)[1:-1] for row in rows])
    )
