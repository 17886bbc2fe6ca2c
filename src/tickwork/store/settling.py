"""Deciding about attempts that did not complete: shared by recording and rescue."""

from collections.abc import Sequence

import asyncpg

from tickwork.model.execution import ExecutionKey
from tickwork.model.lifecycle import Held, Verdict
from tickwork.store.pool import Connection
from tickwork.store.port import AttemptNote, Claimed
from tickwork.store.query import queries


class PostgresSettling:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._record = queries("record")

    async def lock(self, claimed: Sequence[Claimed]) -> list[Held]:
        if not claimed:
            return []
        times = [claim.key.scheduled_for for claim in claimed]
        rows = await self._connection.fetch(
            self._record["lock_held"],
            [claim.key.tenant_id for claim in claimed],
            times,
            [claim.key.job_id for claim in claimed],
            [claim.worker_id for claim in claimed],
            [claim.attempt for claim in claimed],
            min(times),
            max(times),
        )
        return [_held(row) for row in rows]

    async def settle(self, verdicts: Sequence[Verdict], notes: Sequence[AttemptNote]) -> None:
        if verdicts:
            await self._settle(verdicts)
        if notes:
            await self._note(notes)

    async def _settle(self, verdicts: Sequence[Verdict]) -> None:
        times = [verdict.key.scheduled_for for verdict in verdicts]
        await self._connection.execute(
            self._record["settle"],
            [verdict.key.tenant_id for verdict in verdicts],
            times,
            [verdict.key.job_id for verdict in verdicts],
            [verdict.status for verdict in verdicts],
            [verdict.ready_at for verdict in verdicts],
            [verdict.attempt for verdict in verdicts],
            [verdict.failures for verdict in verdicts],
            [verdict.losses for verdict in verdicts],
            [verdict.started_at for verdict in verdicts],
            [verdict.finished_at for verdict in verdicts],
            [verdict.reason for verdict in verdicts],
            min(times),
            max(times),
        )

    async def _note(self, notes: Sequence[AttemptNote]) -> None:
        await self._connection.execute(
            self._record["note_attempts"],
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

    async def close_leases(self, leases: Sequence[int]) -> None:
        if leases:
            await self._connection.execute(self._record["close_leases"], list(leases))


def _held(row: asyncpg.Record) -> Held:
    return Held(
        ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"]),
        row["worker_id"],
        row["attempt"],
        row["failures"],
        row["losses"],
        row["started_at"],
        row["definition"],
        row["now"],
    )
