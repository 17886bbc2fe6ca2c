"""The steps and states that attempts store.

Whoever stores something of an execution has locked it, so that no other attempt begins before the commit. Locked rows
are not waited for: what finds its execution locked is repeated.
"""

from collections.abc import Iterable, Sequence

import asyncpg

from tickwork.model.checkpoint import (
    ALL_STEPS_LIMIT,
    MOST_STEPS,
    CheckpointView,
    StepView,
    StoredCheckpoint,
)
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.json_limits import raw_json
from tickwork.model.public_ids import execution_id
from tickwork.store.pool import Connection, Database
from tickwork.store.port.checkpoint import KeepAnswer, NewCheckpoint
from tickwork.store.query_files import queries

_STATE = ""  # in place of the name of a step
_NO_NEXT_ATTEMPT = (ExecutionStatus.RUNNING, ExecutionStatus.COMPLETED)

_Columns = tuple[list[object], ...]
_Place = tuple[ExecutionKey, str]  # of a row: an execution, and the name of a step or _STATE


class PostgresCheckpointStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("checkpoint")

    async def keep(self, checkpoints: Sequence[NewCheckpoint]) -> list[KeepAnswer]:
        async with self._database.transaction() as connection:
            refused = await self._lock(connection, checkpoints)
            locked = [each for place, each in enumerate(checkpoints) if place not in refused]
            writing = await self._read_stored(connection, locked)
            answers = {
                place: refused[place] if place in refused else writing.add(each)
                for place, each in enumerate(checkpoints)
            }
            if writing.rows:
                await connection.execute(self._sql["store_checkpoints"], *writing.columns())
        return [answers[place] for place in range(len(checkpoints))]

    async def recall(self, keys: Sequence[ExecutionKey]) -> list[StoredCheckpoint]:
        rows = await self._database.fetch(self._sql["recall_checkpoints"], *_columns(keys))
        found: list[dict[str, bytes]] = [{} for _ in keys]
        for row in rows:
            found[row["place"] - 1][row["step"]] = row["value"]
        return [StoredCheckpoint(steps.pop(_STATE, None), steps) for steps in found]

    async def view(self, key: ExecutionKey) -> CheckpointView:
        rows = await self._database.fetch(self._sql["checkpoint_of_execution"], *key)
        if not rows:
            raise _not_found(key)
        state = next((row for row in rows if row["step"] == _STATE), None)
        return CheckpointView(
            state=raw_json(state["value"]) if state else None,
            state_attempt=state["attempt"] if state else None,
            state_at=state["stored_at"] if state else None,
            steps=[_step(row) for row in rows if row["step"]],
        )

    async def delete(self, key: ExecutionKey) -> None:
        async with self._database.transaction() as connection:
            status = await connection.fetchval(self._sql["lock_execution_of_checkpoint"], *key)
            if status is None:
                raise _not_found(key)
            if status in _NO_NEXT_ATTEMPT:
                raise Conflict(f"the execution is {status}: no attempt follows that could start afresh")
            await connection.execute(self._sql["delete_checkpoint"], *key)

    async def _lock(
        self, connection: Connection, checkpoints: Sequence[NewCheckpoint]
    ) -> dict[int, KeepAnswer]:
        """Lock the executions. Returns which checkpoints cannot be stored now, and why."""
        claims = list(dict.fromkeys(each.claimed for each in checkpoints))
        rows = await connection.fetch(
            self._sql["lock_attempts"],
            *_columns([claim.key for claim in claims]),
            [claim.worker_id for claim in claims],
            [claim.attempt for claim in claims],
        )
        found = {claims[row["place"] - 1]: row["is_locked"] for row in rows}
        return {
            place: KeepAnswer.BUSY if each.claimed in found else KeepAnswer.STALE
            for place, each in enumerate(checkpoints)
            if not found.get(each.claimed)
        }

    async def _read_stored(self, connection: Connection, locked: Sequence[NewCheckpoint]) -> "_Writing":
        """What is stored of the executions, which nobody else changes now."""
        writing = _Writing()
        keys = list(dict.fromkeys(each.claimed.key for each in locked))
        for row in await connection.fetch(self._sql["stored_so_far"], *_columns(keys)) if keys else ():
            writing.count(keys[row["place"] - 1], row)
        sent = [(each.claimed.key, each.step) for each in locked if each.step is not None]
        names = [name for _, name in sent]
        results = (
            await connection.fetch(self._sql["results_of_steps"], *_columns([key for key, _ in sent]), names)
            if sent
            else ()
        )
        for row in results:
            writing.results[sent[row["place"] - 1]] = row["value"]
        return writing


class _Writing:
    """The rows of one transaction: each at most once, and no more than an execution may have."""

    def __init__(self) -> None:
        self.rows: dict[_Place, tuple[NewCheckpoint, int]] = {}  # with its number
        self.results: dict[_Place, bytes] = {}  # of steps that are stored, or about to be
        self._steps: dict[ExecutionKey, int] = {}
        self._bytes: dict[ExecutionKey, int] = {}
        self._latest: dict[ExecutionKey, tuple[int, int]] = {}  # attempt and number of the state

    def count(self, key: ExecutionKey, row: asyncpg.Record) -> None:
        self._steps[key], self._bytes[key] = row["steps"], row["bytes"]
        self._latest[key] = row["state_attempt"], row["state_number"]

    def add(self, checkpoint: NewCheckpoint) -> KeepAnswer:
        if checkpoint.step is None:
            return self._add_state(checkpoint)
        return self._add_step(checkpoint, (checkpoint.claimed.key, checkpoint.step))

    def _add_state(self, checkpoint: NewCheckpoint) -> KeepAnswer:
        key, attempt = checkpoint.claimed.key, checkpoint.claimed.attempt or 0
        if (attempt, checkpoint.number) > self._latest.get(key, (0, 0)):
            self._latest[key] = attempt, checkpoint.number
            self.rows[key, _STATE] = checkpoint, checkpoint.number
        return KeepAnswer.STORED

    def _add_step(self, checkpoint: NewCheckpoint, place: _Place) -> KeepAnswer:
        key, size = checkpoint.claimed.key, len(checkpoint.value)
        if place in self.results:
            is_same = self.results[place] == checkpoint.value
            return KeepAnswer.STORED if is_same else KeepAnswer.TAKEN
        steps, total = self._steps.get(key, 0) + 1, self._bytes.get(key, 0) + size
        if steps > MOST_STEPS:
            return KeepAnswer.TOO_MANY
        if total > ALL_STEPS_LIMIT:
            return KeepAnswer.TOO_LARGE
        self._steps[key], self._bytes[key] = steps, total
        self.results[place] = checkpoint.value
        self.rows[place] = checkpoint, steps
        return KeepAnswer.STORED

    def columns(self) -> _Columns:
        rows = list(self.rows.items())
        return (
            *_columns([key for (key, _), _ in rows]),
            [new.claimed.attempt for _, (new, _) in rows],
            [number for _, (_, number) in rows],
            [step for (_, step), _ in rows],
            [new.value for _, (new, _) in rows],
            [new.took for _, (new, _) in rows],
        )


def _columns(keys: Iterable[ExecutionKey]) -> _Columns:
    listed = list(keys)
    return (
        [key.tenant_id for key in listed],
        [key.scheduled_for for key in listed],
        [key.job_id for key in listed],
    )


def _step(row: asyncpg.Record) -> StepView:
    return StepView(
        name=row["step"],
        attempt=row["attempt"],
        stored_at=row["stored_at"],
        took=row["took"],
        result=raw_json(row["value"]),
    )


def _not_found(key: ExecutionKey) -> NotFound:
    return NotFound("execution", execution_id(key.job_id, key.scheduled_for))
