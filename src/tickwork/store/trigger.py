"""Firing rules: the SQL behind the trigger stage."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from tickwork.store.handing import PostgresHanding
from tickwork.store.pool import Connection, Database
from tickwork.store.port import Candidate, Collision, DueRule, Round, RoundNote, RuleStep, Work
from tickwork.store.query import queries


class PostgresTriggerStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("trigger")

    @asynccontextmanager
    async def firing(self) -> AsyncIterator["PostgresFiring"]:
        async with self._database.transaction() as connection:
            yield PostgresFiring(connection)

    async def zone_data(self) -> str | None:
        row = await self._database.fetchrow(self._sql["zone_data"])
        return row["version"] if row else None

    async def set_zone_data(self, version: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["set_zone_data"], version)

    async def retime(
        self, after: int, lead: timedelta, limit: int, next_at: Callable[[str, datetime], datetime | None]
    ) -> int | None:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_rules_after"], after, lead, limit)
            times = [(row["id"], next_at(row["timing"], row["now"] + lead), row["next_at"]) for row in rows]
            changed = [(rule, new) for rule, new, old in times if new != old]
            await connection.execute(
                self._sql["set_timers"], [rule for rule, _ in changed], [new for _, new in changed]
            )
        return rows[-1]["id"] if rows else None

    async def release_queued(self, limit: int) -> int:
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["release_queued"], limit)
        return int(answer.rsplit(" ", 1)[1])

    async def promote_held(self, until: datetime, limit: int) -> int:
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["promote_held_jobs"], until, limit)
        return int(answer.rsplit(" ", 1)[1])


class PostgresFiring(PostgresHanding):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._sql = queries("trigger")

    async def take(self, lead: timedelta, late: timedelta, limit: int) -> list[DueRule]:
        rows = await self._connection.fetch(self._sql["take_due_rules"], lead, late, limit)
        return [_due_rule(row) for row in rows]

    async def pick(self, rounds: Sequence[Round], chunk: int) -> list[Candidate]:
        rows = await self._connection.fetch(
            self._sql["pick_jobs"],
            list(range(len(rounds))),
            [round_.rule_id for round_ in rounds],
            [round_.scheduled_for for round_ in rounds],
            [round_.last_at for round_ in rounds],
            [round_.cursor[0] for round_ in rounds],
            [round_.cursor[1] for round_ in rounds],
            chunk,
        )
        return [_candidate(row, rounds[row[0]].scheduled_for) for row in rows]

    async def cancel_blockers(self, candidates: Sequence[Candidate]) -> None:
        await self._connection.execute(
            self._sql["cancel_blockers"],
            [candidate.work.tenant_id for candidate in candidates],
            [candidate.blocked_by for candidate in candidates],
            [candidate.work.job_id for candidate in candidates],
        )

    async def insert(
        self, candidates: Sequence[Candidate], workers: Sequence[int | None], reasons: Sequence[str | None]
    ) -> None:
        try:
            await self._connection.execute(
                self._sql["insert_executions"],
                *_columns(candidates),
                list(workers),
                [candidate.blocked_by for candidate in candidates],
                list(reasons),
            )
        except asyncpg.UniqueViolationError as error:
            raise Collision from error

    async def insert_carefully(self, candidates: Sequence[Candidate]) -> None:
        await self._connection.execute(self._sql["insert_executions_carefully"], *_columns(candidates))

    async def advance(self, steps: Sequence[RuleStep], notes: Sequence[RoundNote]) -> None:
        await self._connection.execute(
            self._sql["advance_rules"],
            [step.rule_id for step in steps],
            [step.next_at for step in steps],
            [step.last_at for step in steps],
            [step.cursor[0] if step.cursor else None for step in steps],
            [step.cursor[1] if step.cursor else None for step in steps],
            [step.looks_empty for step in steps],
        )
        if notes:
            await self._connection.execute(self._sql["note_rounds"], *map(list, zip(*notes, strict=True)))


def _columns(candidates: Sequence[Candidate]) -> tuple[list[Any], ...]:
    works = [candidate.work for candidate in candidates]
    return (
        [work.tenant_id for work in works],
        [work.scheduled_for for work in works],
        [work.job_id for work in works],
        [work.lane_id for work in works],
        [candidate.priority for candidate in candidates],
        [work.ready_at for work in works],
    )


def _due_rule(row: asyncpg.Record) -> DueRule:
    begun = row["cursor_job"] is not None
    return DueRule(
        row["id"],
        row["timing"],
        row["catch_up"],
        row["next_at"],
        row["last_at"],
        (row["cursor_priority"], row["cursor_job"]) if begun else None,
        row["now"],
    )


def _candidate(row: asyncpg.Record, scheduled_for: datetime) -> Candidate:
    number, job, tenant, lane, priority, task, payload, target, timeout, overlap, blocked_by, queued = row
    work = Work(tenant, scheduled_for, job, lane, 1, scheduled_for, task, payload, target, timeout)
    return Candidate(number, priority, work, overlap, blocked_by, queued)
