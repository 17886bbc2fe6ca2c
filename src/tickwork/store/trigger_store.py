"""Fires rules, releases waiting executions, and creates the executions of deferred jobs."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial

import asyncpg

from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.execution import ExecutionKey
from tickwork.model.overlap import Blocker
from tickwork.model.public_ids import from_micros, to_micros
from tickwork.model.worker_protocol import Micros
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.failover.new_attempt_numbers import AttemptFence
from tickwork.store.find_overlap_blockers import FiredLast, find_blockers
from tickwork.store.lease_under_limits import PostgresHandover
from tickwork.store.pool import Connection, Database
from tickwork.store.port.dispatch import ExecutionColumns
from tickwork.store.port.trigger import (
    Candidates,
    Collision,
    DueRule,
    MakeDays,
    QueueCapacity,
    Round,
    RoundNote,
    RuleStep,
)
from tickwork.store.query_files import queries, rows_written
from tickwork.store.statistics_store import count_fired_later
from tickwork.store.write_dependencies import skip_decided

_JOBS_NAMED = 100  # jobs of a rule that get an event of their own when due times are missed
_PICKED = 12  # columns of a picked job
_FIRST = (1,)  # the attempt of new executions


class PostgresTriggerStore:
    def __init__(self, database: Database, fence: AttemptFence | None = None) -> None:
        self._database = database
        self._fence = fence or AttemptFence()
        self._promoting = BadRowIsolation("promote")
        self._sql = queries("trigger")

    async def is_any_rule_due(self, lead: timedelta) -> bool:
        (row,) = await self._database.fetch(self._sql["is_any_rule_due"], lead)
        return bool(row["is_any"])

    @asynccontextmanager
    async def firing(self) -> AsyncIterator["PostgresFiring"]:
        async with self._database.transaction() as connection:
            yield PostgresFiring(connection, self._fence)

    async def bounded_lanes(self) -> frozenset[int]:
        return frozenset(row["id"] for row in await self._database.fetch(queries("queue")["bounded_lanes"]))

    async def zone_data(self) -> str | None:
        row = await self._database.fetchrow(self._sql["zone_data"])
        return row["version"] if row else None

    async def set_zone_data(self, version: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["set_zone_data"], version)

    async def retime(
        self,
        after: int,
        lead: timedelta,
        limit: int,
        next_at: Callable[[str, datetime, datetime], datetime | None],
    ) -> int | None:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_rules_after"], after, lead, limit)
            times = [
                (row["id"], row["next_at"], next_at(row["timing"], row["now"] + lead, row["next_at"]))
                for row in rows
            ]
            changed = [(rule, new) for rule, old, new in times if new != old]
            await connection.execute(
                self._sql["set_timers"], [rule for rule, _ in changed], [new for _, new in changed]
            )
        return rows[-1]["id"] if rows else None

    async def stop_rule(self, rule: int, reason: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["stop_rule"], rule, reason)

    async def give_up_unstarted(self, limit: int) -> int:
        return rows_written(await self._database.execute(self._sql["give_up_unstarted"], limit))

    async def release_queued(self, limit: int) -> int:
        return rows_written(await self._database.execute(self._sql["release_queued"], limit))

    async def promote_deferred(self, until: datetime, limit: int, make_days_for: MakeDays) -> int:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_deferred_jobs"], until, limit)
            await self._promoting.run_batch(rows, partial(self._promote, make_days_for), self._fail_deferred)
        return len(rows)

    async def _promote(self, make_days_for: MakeDays, rows: Sequence[asyncpg.Record]) -> None:
        async with self._database.transaction() as connection:
            await make_days_for(row["scheduled_for"] for row in rows)
            await connection.execute(self._sql["promote_deferred_jobs"], [row["id"] for row in rows])
            if children := [row["id"] for row in rows if row["depends"]]:
                await skip_decided(connection, children)

    async def _fail_deferred(self, row: asyncpg.Record, _: Exception) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["fail_deferred_job"], row["id"])


class PostgresFiring(PostgresHandover):
    def __init__(self, connection: Connection, fence: AttemptFence) -> None:
        super().__init__(connection)
        self._fence = fence
        self._sql = queries("trigger")

    async def take(
        self, lead: timedelta, late: timedelta, limit: int, only: int | None = None
    ) -> list[DueRule]:
        if only is None:
            rows = await self._connection.fetch(self._sql["take_due_rules"], lead, late, limit)
        else:
            rows = await self._connection.fetch(self._sql["take_due_rule"], lead, only)
        return [due_rule(row) for row in rows]

    async def pick(self, rounds: Sequence[Round], chunk: int) -> Candidates:
        rows = await self._connection.fetch(
            self._sql["pick_jobs"],
            list(range(len(rounds))),
            [round_.rule_id for round_ in rounds],
            [round_.scheduled_for for round_ in rounds],
            [round_.cursor[0] for round_ in rounds],
            [round_.cursor[1] for round_ in rounds],
            chunk,
        )
        return _candidates(rows, [to_micros(round_.scheduled_for) for round_ in rounds], self._fence)

    async def blockers(self, rounds: Sequence[Round], candidates: Candidates) -> dict[int, Blocker]:
        executions = candidates.executions
        fired = [
            FiredLast(executions.tenants[span.start], rounds[number].last_at, slice(span.start, span.stop))
            for number, span in candidates.spans()
        ]
        blockers = await find_blockers(self._connection, fired, executions.jobs)
        if not blockers:
            return {}
        indexes = {job: index for index, job in enumerate(executions.jobs)}
        return {
            indexes[job]: blocker
            for job, blocker in blockers.items()
            if to_micros(blocker.scheduled_for) != executions.times[indexes[job]]
        }

    async def queue_capacities(self, lanes: Sequence[int], lead: timedelta) -> list[QueueCapacity]:
        rows = await self._connection.fetch(queries("queue")["backlogs"], lanes, lead)
        return [QueueCapacity(row["lanes"], max(row["max_backlog"] - row["depth"], 0)) for row in rows]

    async def cancel(self, blocking: Sequence[ExecutionKey]) -> None:
        await self._connection.execute(
            queries("find_overlap_blockers")["cancel_blockers"], *map(list, zip(*blocking, strict=True))
        )

    async def insert(
        self,
        candidates: Candidates,
        workers: Sequence[int | None],
        blocked_by: Mapping[int, datetime],
        reasons: Mapping[int, str],
    ) -> None:
        blocked_and_skipped = _blocked_and_skipped(candidates, blocked_by, reasons)
        try:
            await self._connection.execute(
                self._sql["insert_executions"],
                *_columns(candidates),
                shortened(workers),
                *blocked_and_skipped,
                shortened(candidates.followed),
                shortened(candidates.executions.attempts) if self._fence.is_raised else _FIRST,
            )
        except asyncpg.UniqueViolationError as error:
            raise Collision from error
        if any(candidates.followed):  # executions of dependent jobs were created beside them
            await self._count_fired_later(candidates)

    async def insert_carefully(
        self, candidates: Candidates, blocked_by: Mapping[int, datetime], reasons: Mapping[int, str]
    ) -> None:
        await self._connection.execute(
            self._sql["insert_executions_carefully"],
            *_columns(candidates),
            *_blocked_and_skipped(candidates, blocked_by, reasons),
            shortened(candidates.followed),
        )
        await self._count_fired_later(candidates)

    async def _count_fired_later(self, candidates: Candidates) -> None:
        """How many executions there are after that, only the executions say."""
        columns = candidates.executions
        fired = {*zip(columns.tenants, columns.times, strict=True)}
        await count_fired_later(
            self._connection, [(tenant_id, from_micros(at)) for tenant_id, at in sorted(fired)]
        )

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
        if missed := [note for note in notes if note.missed]:
            await self._connection.execute(
                queries("event")["write_missed"], *map(list, zip(*missed, strict=True)), _JOBS_NAMED
            )


def _columns(candidates: Candidates) -> tuple[Sequence[int] | str, ...]:
    executions = candidates.executions
    columns = executions.tenants, executions.times, executions.lanes, executions.priorities, executions.ready
    tenants, times, lanes, priorities, ready = map(shortened, columns)
    return tenants, times, literal(executions.jobs), lanes, priorities, ready


def _blocked_and_skipped(
    candidates: Candidates, blocked_by: Mapping[int, datetime], reasons: Mapping[int, str]
) -> tuple[list[datetime | None], list[str | None]]:
    """The blocker of each candidate, and why it is skipped. Empty columns stand for nulls."""
    indexes = range(candidates.executions.size if blocked_by or reasons else 0)
    return (
        [blocked_by.get(index) for index in indexes],
        [reasons.get(index) for index in indexes],
    )


def due_rule(row: asyncpg.Record) -> DueRule:
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


def _candidates(rows: Sequence[asyncpg.Record], times: Sequence[Micros], fence: AttemptFence) -> Candidates:
    """Columns from rows. Each candidate has the due time of its round."""
    columns = [*zip(*rows, strict=True)] or [()] * _PICKED
    (
        rounds, jobs, tenants, lanes, priorities, tasks, payloads, targets, timeouts, overlaps, followed, origins,
    ) = columns  # fmt: skip
    at = [times[number] for number in rounds]
    executions = ExecutionColumns(
        tenants, at, jobs, lanes, fence.first_attempts(at), at, tasks, payloads, targets, timeouts, priorities,
        [None] * len(jobs), [None] * len(jobs),
    )  # fmt: skip
    return Candidates(rounds, overlaps, executions, followed, origins)
