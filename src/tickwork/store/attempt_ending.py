"""Ends attempts that did not complete, in the transactions of recording and rescue."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
from prometheus_client import Counter

from tickwork.model.circuit_breaker import PACE
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.transition_after_attempt import LockedExecution, Transition
from tickwork.store.attempt_events import error_of, mark_failing, write_attempt_events
from tickwork.store.pool import Connection
from tickwork.store.port.record import AttemptNote, Claimed
from tickwork.store.query_files import queries

_DEAD_LETTERS = Counter("tickwork_dead_letters_total", "Executions that ended as failed.")


class PostgresAttemptEnding:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sql = queries("attempt_ending")

    async def lock(self, claimed: Sequence[Claimed]) -> list[LockedExecution]:
        if not claimed:
            return []
        jobs = {claim.key.job_id for claim in claimed}
        await self._connection.execute(self._sql["lock_jobs_of_attempts"], [*jobs])
        rows = await self._connection.fetch(
            self._sql["lock_running"],
            [claim.key.tenant_id for claim in claimed],
            [claim.key.scheduled_for for claim in claimed],
            [claim.key.job_id for claim in claimed],
            [claim.worker_id for claim in claimed],
            [claim.attempt for claim in claimed],
        )
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
        await self._connection.execute(
            self._sql["settle"],
            [transition.key.tenant_id for transition in transitions],
            [transition.key.scheduled_for for transition in transitions],
            [transition.key.job_id for transition in transitions],
            [transition.status for transition in transitions],
            [transition.ready_at for transition in transitions],
            [transition.attempt for transition in transitions],
            [transition.failures for transition in transitions],
            [transition.losses for transition in transitions],
            [transition.started_at for transition in transitions],
            [transition.finished_at for transition in transitions],
            [transition.reason for transition in transitions],
        )

    async def _note(self, notes: Sequence[AttemptNote]) -> None:
        await self._connection.execute(
            self._sql["note_attempts"],
            [note.key.tenant_id for note in notes],
            [note.key.scheduled_for for note in notes],
            [note.key.job_id for note in notes],
            [note.attempt for note in notes],
            [note.outcome for note in notes],
            [note.worker_id for note in notes],
            [note.started_at for note in notes],
            [note.finished_at for note in notes],
            [note.error for note in notes],
        )

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

    async def note_cancelled(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        if started:
            await self._connection.execute(
                queries("complete_and_cancel")["note_started"],
                *columns_of_started(started),
                ExecutionStatus.CANCELLED,
            )

    async def close_leases(self, leases: Sequence[int]) -> None:
        if leases:
            await self._connection.execute(self._sql["close_leases"], list(leases))


def columns_of_started(started: Sequence[tuple[Claimed, datetime]]) -> tuple[list[Any], ...]:
    return (
        [claim.key.tenant_id for claim, _ in started],
        [claim.key.scheduled_for for claim, _ in started],
        [claim.key.job_id for claim, _ in started],
        [claim.worker_id for claim, _ in started],
        [claim.attempt for claim, _ in started],
        [at for _, at in started],
    )


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
