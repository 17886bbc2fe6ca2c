"""What the tables say happened, held against the ledger."""

from datetime import datetime
from typing import NamedTuple

import asyncpg

from support.attempt_ledger import Attempt, Run
from support.job_load import Due
from tickwork.model.public_ids import execution_id, from_micros

_EXECUTIONS = """
    SELECT e.job_id, e.scheduled_for, e.status::text, e.attempt, e.worker_id, w.name AS worker
    FROM tickwork.execution e LEFT JOIN tickwork.worker w ON w.id = e.worker_id"""
_ATTEMPTS = """
    SELECT a.job_id, a.scheduled_for, a.attempt, a.outcome::text, a.finished_at, w.name AS worker, w.lease_until
    FROM tickwork.attempt a LEFT JOIN tickwork.worker w ON w.id = a.worker_id ORDER BY a.attempt"""
_MISSED = """
    SELECT j.id, r.scheduled_for, r.missed_until FROM tickwork.round r JOIN tickwork.job j ON j.rule_id = r.rule_id
    WHERE r.missed > 0"""
# What waits for parents ends with them, or waits in vain.
_UNFINISHED = """
    SELECT count(*) FROM tickwork.execution e WHERE finished_at IS NULL AND NOT EXISTS (
        SELECT FROM tickwork.awaited a WHERE a.child_id = e.job_id AND a.child_at = e.scheduled_for)"""


class Execution(NamedTuple):
    id: str
    job: int
    scheduled_for: datetime
    status: str
    attempt: int
    worker: str | None


class Unfinished(NamedTuple):
    """An attempt that did not complete."""

    attempt: Attempt
    outcome: str
    finished_at: datetime
    worker: str | None
    lease_until: datetime | None


class Missed(NamedTuple):
    """Due times of a job that were passed over, on record."""

    job: int
    first: datetime
    last: datetime

    def covers(self, job: int, at: datetime) -> bool:
        return self.job == job and self.first <= at <= self.last


class History(NamedTuple):
    executions: list[Execution]
    unfinished: list[Unfinished]
    missed: list[Missed]

    @classmethod
    async def read(cls, connection: asyncpg.Connection) -> "History":
        return cls(
            [
                Execution(
                    _id(row),
                    row["job_id"],
                    row["scheduled_for"],
                    row["status"],
                    row["attempt"],
                    row["worker"],
                )
                for row in await connection.fetch(_EXECUTIONS)
            ],
            [
                Unfinished(
                    Attempt(_id(row), row["attempt"]),
                    row["outcome"],
                    row["finished_at"],
                    row["worker"],
                    row["lease_until"],
                )
                for row in await connection.fetch(_ATTEMPTS)
            ],
            [Missed(*row) for row in await connection.fetch(_MISSED)],
        )

    def fired(self) -> Due:
        return {(each.job, each.scheduled_for) for each in self.executions}

    def passed_over(self, due: Due) -> Due:
        """Those of the due times that were missed, and the record says so."""
        return {(job, at) for job, at in due if any(missed.covers(job, at) for missed in self.missed)}

    def not_completed(self) -> list[Execution]:
        return [execution for execution in self.executions if execution.status != "completed"]

    def unexplained_attempts(self) -> list[Execution]:
        """Executions with an attempt before the last that has no record of how it ended."""
        told = {each.attempt for each in self.unfinished}
        return [
            execution
            for execution in self.executions
            if any(Attempt(execution.id, number) not in told for number in range(1, execution.attempt))
        ]

    def not_run_as_recorded(self, runs: list[Run]) -> list[Execution]:
        """Completed executions whose last attempt no handler brought to its end."""
        ended = {run.attempt for run in runs if run.ended_at is not None}
        return [each for each in self.executions if Attempt(each.id, each.attempt) not in ended]

    def illegal_overlaps(self, runs: list[Run]) -> list[tuple[Run, Run]]:
        """Two attempts at one execution at the same time, although the lease of the first had not ended."""
        lost = {each.attempt: each for each in self.unfinished if each.outcome == "lost"}
        return [
            (first, second)
            for first, second in _overlapping(runs)
            if not _lease_had_ended(lost.get(first.attempt), from_micros(second.begun_at))
        ]


async def unfinished(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval(_UNFINISHED)
    return count


async def all_ended(connection: asyncpg.Connection, executions: int) -> bool:
    """So many were made, and none of them is left to do."""
    made = await connection.fetchval("SELECT count(*) FROM tickwork.execution")
    return bool(made >= executions and await unfinished(connection) == 0)


def begun_twice(runs: list[Run]) -> list[Attempt]:
    seen: set[Attempt] = set()
    return [run.attempt for run in runs if run.attempt in seen or seen.add(run.attempt)]


def early(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.lateness < 0]


def _overlapping(runs: list[Run]) -> list[tuple[Run, Run]]:
    by_execution: dict[str, list[Run]] = {}
    for run in runs:
        by_execution.setdefault(run.attempt.execution, []).append(run)
    pairs = [
        (first, second)
        for group in by_execution.values()
        for place, first in enumerate(group)
        for second in group[place + 1 :]
    ]
    return [
        (first, second)
        for first, second in pairs
        if _over_at(first) is None or _over_at(first) > second.begun_at
    ]


def _over_at(run: Run) -> int | None:
    return run.ended_at or run.stopped_at


def _lease_had_ended(lost: Unfinished | None, at: datetime) -> bool:
    return lost is not None and lost.lease_until is not None and lost.lease_until <= lost.finished_at <= at


def _id(row: asyncpg.Record) -> str:
    return execution_id(row["job_id"], row["scheduled_for"])
