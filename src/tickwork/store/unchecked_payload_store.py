"""Jobs whose task nobody had described when they were written, so that their payload is still to be checked."""

from collections.abc import Mapping, Sequence

from tickwork.model.execution import ExecutionKey
from tickwork.model.job import JobSpec
from tickwork.store.outcome_store import PostgresAttemptEnding
from tickwork.store.pool import Connection, Database
from tickwork.store.port.task import Mismatch, UncheckedJob
from tickwork.store.query_files import queries, rows_written
from tickwork.store.write_attempt_events import write_failure


async def note_unchecked(connection: Connection, tenant_id: int, specs: Mapping[int, JobSpec]) -> None:
    """Of these jobs, those that await their task. Jobs that no longer do are forgotten later."""
    waiting = {job: spec.task for job, spec in specs.items() if spec.awaits_task}
    if waiting:
        sql = queries("unchecked_payload")["note_unchecked"]
        await connection.execute(sql, tenant_id, list(waiting), list(waiting.values()))


async def check_again(connection: Connection, tenant_id: int, tasks: Sequence[str]) -> None:
    """These tasks were described anew, so that what did not fit them may fit now."""
    await connection.execute(queries("unchecked_payload")["recheck_mismatched"], tenant_id, list(tasks))


class PostgresUncheckedJobStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("unchecked_payload")

    async def checkable(self, limit: int) -> list[UncheckedJob]:
        return [UncheckedJob(*row) for row in await self._database.fetch(self._sql["checkable_jobs"], limit)]

    async def forget(self, job: int) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_unchecked"], job)

    async def forget_if_moved(self, job: int) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_if_moved"], job)

    async def forget_moved(self) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_moved"])

    async def note_mismatch(self, job: int, mismatch: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["note_mismatch"], job, mismatch)

    async def due_mismatches(self, limit: int) -> list[Mismatch]:
        rows = await self._database.fetch(self._sql["due_mismatches"], limit)
        return [Mismatch(ExecutionKey(*row[:3]), *row[3:]) for row in map(tuple, rows)]

    async def fail(self, mismatch: Mismatch, reason: str) -> None:
        async with self._database.transaction() as connection:
            answer = await connection.execute(
                self._sql["fail_mismatch"], *mismatch.key, mismatch.attempt, mismatch.lane, reason
            )
            if rows_written(answer):
                await PostgresAttemptEnding(connection).keep_dead_letters([mismatch.key], {})
                await write_failure(connection, mismatch.key)
