"""Writes outcomes: completes and cancels executions, and ends attempts that did not complete."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from operator import attrgetter
from typing import Any

import asyncpg
from prometheus_client import Counter

from tickwork.model.circuit_breaker import PACE
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.overdue_attempt import REVOKED
from tickwork.model.public_ids import execution_id
from tickwork.model.statistics import ORDINARY_MICROS
from tickwork.model.transition_after_attempt import LockedExecution, Transition
from tickwork.model.worker_protocol import Accepted, Outcome
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.callback_wait_store import give_to_targets
from tickwork.store.heartbeat_url_call_store import mark_heartbeats
from tickwork.store.pool import Connection, Database
from tickwork.store.port.notify import ToldCompletion
from tickwork.store.port.record import AttemptNote, Claimed, CompletedColumns
from tickwork.store.query_files import queries, rows_written
from tickwork.store.statistics_store import count_overdue
from tickwork.store.write_attempt_events import (
    error_of,
    mark_failing,
    write_attempt_events,
    write_completion_events,
)
from tickwork.store.write_completion_events_to_notify import write_told_completions

# Attributes, in the order of the statements' parameters
_KEY = ("key.tenant_id", "key.scheduled_for", "key.job_id")
_TRANSITION = (
    "status", "ready_at", "attempt", "failures", "losses", "started_at", "finished_at", "reason",
)  # fmt: skip
_NOTE = ("attempt", "outcome", "worker_id", "started_at", "finished_at", "error")
_DEAD_LETTERS = Counter("tickwork_dead_letters_total", "Executions that ended as failed.")


class PostgresAttemptEnding:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sql = queries("outcome")

    async def lock(self, claimed: Sequence[Claimed]) -> list[LockedExecution]:
        if not claimed:
            return []
        jobs = {claim.key.job_id for claim in claimed}
        await self._connection.execute(self._sql["lock_jobs_of_attempts"], [*jobs])
        columns = _columns(claimed, *_KEY, "worker_id", "attempt")
        rows = await self._connection.fetch(self._sql["lock_running"], *columns)
        return [_locked_execution(row) for row in rows]

    async def settle(self, transitions: Sequence[Transition], notes: Sequence[AttemptNote]) -> None:
        if transitions:
            await self._settle(transitions)
        if notes:
            await self._note(notes)
        held = [transition for transition in transitions if transition.held_by is not None]
        if held:
            await self._hold(held)
        failed = [transition.key for transition in transitions if transition.status is ExecutionStatus.FAILED]
        if failed:
            await self.keep_dead_letters(failed, {note.key: note for note in notes})
        await write_attempt_events(self._connection, transitions, notes)

    async def _settle(self, transitions: Sequence[Transition]) -> None:
        await self._connection.execute(self._sql["settle"], *_columns(transitions, *_KEY, *_TRANSITION))

    async def _note(self, notes: Sequence[AttemptNote]) -> None:
        await self._connection.execute(self._sql["note_attempts"], *_columns(notes, *_KEY, *_NOTE))

    async def keep_dead_letters(
        self, keys: Sequence[ExecutionKey], notes: Mapping[ExecutionKey, AttemptNote]
    ) -> None:
        """`notes`: their last attempts, as far as there were any."""
        last = [notes.get(key) for key in keys]
        await self._connection.execute(
            self._sql["keep_dead_letters"],
            [key.tenant_id for key in keys],
            [key.scheduled_for for key in keys],
            [key.job_id for key in keys],
            [error_of(note).type if note else None for note in last],
            [note.fingerprint if note else None for note in last],
        )
        await mark_failing(self._connection, keys)
        _DEAD_LETTERS.inc(len(keys))

    async def _hold(self, transitions: Sequence[Transition]) -> None:
        tenants = [transition.key.tenant_id for transition in transitions]
        destinations = [transition.held_by for transition in transitions]
        breaker = queries("circuit_breaker")
        await self._connection.execute(breaker["touch_breakers"], tenants, destinations, PACE)
        await self._connection.execute(
            breaker["hold_executions"],
            tenants,
            destinations,
            [transition.key.scheduled_for for transition in transitions],
            [transition.key.job_id for transition in transitions],
        )

    async def give_to_targets(self, accepted: Sequence[tuple[LockedExecution, Outcome, Accepted]]) -> None:
        await give_to_targets(self._connection, accepted)

    async def note_cancelled(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        if started:
            await self._connection.execute(
                self._sql["note_started"],
                *_columns_of_started(started),
                ExecutionStatus.CANCELLED,
            )

    async def close_leases(self, leases: Sequence[int]) -> None:
        if leases:
            await self._connection.execute(self._sql["close_leases"], list(leases))

    async def stop(self, executions: Sequence[LockedExecution], leases: Sequence[int]) -> None:
        if executions:
            columns = _columns(executions, *_KEY, "attempt", "worker_id")
            await self._connection.execute(self._sql["revoke_ended"], *columns, REVOKED)
            await self._connection.execute(queries("time_limit")["close_empty_leases"], list(leases))


def _columns_of_started(started: Sequence[tuple[Claimed, datetime]]) -> list[list[Any]]:
    claims = [claim for claim, _ in started]
    return [*_columns(claims, *_KEY, "worker_id", "attempt"), [at for _, at in started]]


def _columns(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """One list for each of these attributes of the rows."""
    return [list(map(attrgetter(name), rows)) for name in names]


def _locked_execution(row: asyncpg.Record) -> LockedExecution:
    return LockedExecution(
        ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"]),
        row["worker_id"],
        row["attempt"],
        row["failures"],
        row["losses"],
        row["started_at"],
        row["definition"],
        row["now"],
        row["task"],
    )


class PostgresOutcomeStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("outcome")

    async def complete(
        self,
        completed: CompletedColumns,
        leases: Sequence[int],
        failing: Collection[int],
        heartbeats: Collection[int],
        told: Sequence[ToldCompletion],
    ) -> int:
        outcomes = completed.outcomes
        async with self._database.transaction() as connection:
            if completed.longest > ORDINARY_MICROS:
                await count_overdue(connection, completed)
            answer = await connection.execute(
                self._sql["complete"],
                shortened([outcome.tenant for outcome in outcomes]),
                shortened(completed.due),
                literal([outcome.job for outcome in outcomes]),
                shortened(completed.workers),
                shortened(completed.attempts),
                literal(completed.started),
                literal(completed.finished),
                _unless_empty([outcome.result for outcome in outcomes]),
            )
            if leases:
                await connection.execute(self._sql["close_leases"], list(leases))
            await write_completion_events(connection, completed, failing)
            await mark_heartbeats(connection, completed, heartbeats)
            await write_told_completions(connection, told)
        return rows_written(answer)

    @asynccontextmanager
    async def settling(self) -> AsyncIterator[PostgresAttemptEnding]:
        async with self._database.transaction() as connection:
            yield PostgresAttemptEnding(connection)

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["note_started"], *_columns_of_started(started), ExecutionStatus.RUNNING
            )

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_execution"], *key)
            if row is None:
                raise NotFound("execution", execution_id(key.job_id, key.scheduled_for))
            if row["status"] not in ("pending", "running"):
                raise Conflict(f"the execution has ended already: it is {row['status']}")
            await connection.execute(self._sql["cancel_execution"], *key, reason)
            if row["worker_id"] is not None:
                await connection.execute(self._sql["revoke"], *key, row["attempt"], row["worker_id"], reason)


def _unless_empty(results: list[bytes | None]) -> list[bytes | None]:
    """An empty column stands for a column of nulls."""
    return results if any(results) else []
