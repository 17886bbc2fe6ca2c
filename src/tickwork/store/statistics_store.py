"""Statistics: what nodes have counted, what is counted from executions, and the merging into hours and days."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from tickwork.model.execution import ExecutionStatus
from tickwork.model.public_ids import from_micros
from tickwork.model.statistics import (
    DAYS_KEPT,
    HOURS_KEPT,
    MINUTES_KEPT,
    OLDEST_ADDED,
    ORDINARY,
    ORDINARY_MICROS,
    Counted,
    Counts,
    Histogram,
    SeriesFilter,
)
from tickwork.model.stream_event import EventKind
from tickwork.store.batch_columns import literal
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import CompletedColumns
from tickwork.store.port.statistics import (
    CountedExecutions,
    CountedSlice,
    MinuteCounts,
    MinuteToCount,
    Place,
    StatisticsWrite,
    UnknownWriter,
    Writer,
)
from tickwork.store.query_files import queries, rows_written
from tickwork.store.retention_store import SETTLED_AFTER

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_SILENT = timedelta(seconds=30)  # without a write, before a node counts as killed
_PASSED = timedelta(minutes=1)  # before a minute that has passed is counted: what is created by then is in it
_MERGED_AFTER = timedelta(minutes=70)  # later than `request_remerge` begins to note what is added to an hour
_REMERGED_AFTER = timedelta(minutes=5)
_CLAIMED = timedelta(minutes=1)  # for which a node counts without renewing its claim
_CLOCKS_AHEAD = timedelta(seconds=5)  # of workers
_DELETED_TOGETHER = 10_000
_KEPT = {"minute": MINUTES_KEPT, "hour": HOURS_KEPT, "day": DAYS_KEPT}
_SKIPPED = {  # by reason
    "overlap": "skipped_overlap",
    "paused": "skipped_paused",
    "rescheduled": "skipped_rescheduled",
    "queue is full": "skipped_queue_full",
    "parent": "skipped_parent",
}
_COUNTED_KINDS = [
    EventKind.EXECUTION_FAILED,
    EventKind.EXECUTION_RETRYING,
    EventKind.EXECUTION_LOST,
    EventKind.EXECUTION_SNOOZED,
    EventKind.EXECUTION_SKIPPED,
    EventKind.EXECUTION_MISSED,
    EventKind.EXECUTION_CANCELLED,
]


async def count_overdue(connection: Connection, completed: CompletedColumns) -> None:
    """In the transaction that completes them, and before it does: those that a recount would not find."""
    reported = zip(completed.workers, completed.outcomes, strict=True)
    overdue = [each for each in reported if each[1].finished - each[1].at > ORDINARY_MICROS]
    if overdue:
        await connection.execute(
            queries("statistics")["count_overdue"],
            [outcome.tenant for _, outcome in overdue],
            [from_micros(outcome.at) for _, outcome in overdue],
            [outcome.job for _, outcome in overdue],
            [worker_id for worker_id, _ in overdue],
            [outcome.attempt for _, outcome in overdue],
            [outcome.started for _, outcome in overdue],
            [outcome.finished for _, outcome in overdue],
            OLDEST_ADDED,
        )


async def count_fired_later(connection: Connection, due: Sequence[tuple[int, datetime]]) -> None:
    """In the transaction that creates executions without a rule: their tenants and due times."""
    tenants, times = [tenant_id for tenant_id, _ in due], [at for _, at in due]
    await connection.execute(queries("statistics")["count_fired_later"], tenants, times)


async def count_events(connection: Connection, after: int, until: int) -> None:
    """In the transaction that numbers them."""
    await connection.execute(
        queries("statistics")["count_events"], after, until, _COUNTED_KINDS, OLDEST_ADDED
    )


class PostgresStatisticsStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("statistics")

    async def add_writer(self) -> Writer:
        async with self._database.transaction() as connection:
            return Writer(await connection.fetchval(self._sql["add_writer"]), 0)

    async def remove_writer(self, writer: Writer) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["remove_writer"], writer.id)

    async def write(self, writer: Writer, write: StatisticsWrite) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["share_minutes"])
            if not rows_written(await connection.execute(self._sql["note_write"], *writer)):
                if await connection.fetchval(self._sql["find_writer"], writer.id) is None:
                    raise UnknownWriter
                return  # it was written, and only the answer was lost
            if write.counted:
                await connection.execute(self._sql["write_counted"], *_columns(write.counted))
                minutes = list({each.at for each in write.counted})
                await connection.execute(self._sql["request_recount_again"], minutes)
            if write.uncertain:
                await connection.execute(self._sql["request_recounts"], list(write.uncertain))

    async def find_silent_nodes(self) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["remove_silent_writers"], _SILENT, ORDINARY)

    async def begin_count(self) -> MinuteToCount | None:
        async with self._database.transaction() as connection:
            upkeep = await connection.fetchrow(self._sql["upkeep"])
            if upkeep is None or upkeep["is_claimed"]:
                return None
            minute = upkeep["fired_until"]
            if minute is None:
                await connection.execute(self._sql["begin_upkeep"])
                return None
            if upkeep["now"] >= minute + _MINUTE + _PASSED:
                return await self._begin_fired(connection, minute)
            minute = await connection.fetchval(self._sql["minute_to_recount"], SETTLED_AFTER)
            return None if minute is None else await self._begin_recount(connection, minute)

    async def _begin_fired(self, connection: Connection, minute: datetime) -> MinuteToCount | None:
        claim = await connection.fetchval(self._sql["claim_upkeep"], _CLAIMED)
        if claim is None:
            return None
        tenants = await connection.fetch(self._sql["tenants_to_count"], minute)
        return MinuteToCount(claim, minute, True, _ids(tenants), minute, minute + _MINUTE)

    async def _begin_recount(self, connection: Connection, minute: datetime) -> MinuteToCount | None:
        claim = await connection.fetchval(self._sql["claim_upkeep"], _CLAIMED)
        if claim is None:
            return None
        await connection.execute(self._sql["close_minutes"])
        await connection.execute(self._sql["begin_recount"], minute)
        await connection.execute(self._sql["take_recount_requests"], minute)
        tenants = await connection.fetch(self._sql["all_tenants"])
        end = minute + _MINUTE + _CLOCKS_AHEAD
        return MinuteToCount(claim, minute, False, _ids(tenants), minute - ORDINARY, end)

    async def renew_count(self, count: MinuteToCount) -> bool:
        async with self._database.transaction() as connection:
            renewed = await connection.fetchval(self._sql["renew_claim"], count.claim, _CLAIMED)
        return renewed is not None

    async def count_slice(
        self, count: MinuteToCount, tenant_id: int, after: Place, limit: int
    ) -> CountedSlice:
        rows = await self._database.fetch(
            self._sql["count_slice"], tenant_id, *after, count.end, count.minute, ORDINARY, limit
        )
        by_kind: defaultdict[str, list[asyncpg.Record]] = defaultdict(list)
        for row in rows:
            by_kind[row["what"]].append(row)
        last = by_kind["last"][0] if by_kind["last"] else None
        return CountedSlice(
            {row["lane_id"]: row["number"] for row in by_kind["fired"]},
            [(row["lane_id"], row["bucket"], row["number"]) for row in by_kind["started"]],
            [(row["lane_id"], row["bucket"], row["number"]) for row in by_kind["completed"]],
            last["number"] if last else 0,
            (last["scheduled_for"], last["job_id"]) if last else None,
        )

    async def end_count(self, count: MinuteToCount, counted: Sequence[MinuteCounts]) -> None:
        async with self._database.transaction() as connection:
            fired_until = await connection.fetchval(self._sql["end_claim"], count.claim)
            if fired_until is None:
                return  # another node counts by now
            if not count.fired_only:
                await connection.execute(self._sql["remove_counted"], count.minute)
                await connection.execute(self._sql["end_recount"], count.minute)
                await connection.execute(self._sql["request_remerge"], count.minute)
            elif fired_until == count.minute:
                await connection.execute(self._sql["remove_fired"], count.minute, list(count.tenants))
                await connection.execute(self._sql["set_fired_until"], count.minute + _MINUTE)
            else:
                return  # it was written, and only the answer was lost
            await connection.execute(self._sql["write_counted_from_executions"], *_columns(counted))

    async def merge(self) -> bool:
        async with self._database.transaction() as connection:
            upkeep = await connection.fetchrow(self._sql["lock_upkeep"])
            if upkeep is None or upkeep["hours_until"] is None:
                return False
            hour, day = upkeep["hours_until"], upkeep["days_until"]
            if upkeep["now"] >= hour + _HOUR + _MERGED_AFTER:
                await self._merge_hour(connection, hour)
                if hour + _HOUR == day + _DAY:
                    await self._merge_day(connection, day)
                    day += _DAY
                await connection.execute(self._sql["set_merged_until"], hour + _HOUR, day)
                return True
            changed = await connection.fetchval(self._sql["hour_to_remerge"], _REMERGED_AFTER)
            if changed is None:
                return False
            await self._merge_hour(connection, changed)
            if changed < day:
                await self._merge_day(connection, changed - timedelta(hours=changed.hour))
        return True

    async def _merge_hour(self, connection: Connection, hour: datetime) -> None:
        await connection.execute(self._sql["take_remerge_requests"], hour)
        await connection.execute(self._sql["remove_merged"], "hour", hour)
        await connection.execute(self._sql["merge"], "minute", "hour", hour, hour + _HOUR)
        await connection.execute(self._sql["compact_minutes"], hour, hour + _HOUR)

    async def _merge_day(self, connection: Connection, day: datetime) -> None:
        await connection.execute(self._sql["remove_merged"], "day", day)
        await connection.execute(self._sql["merge"], "hour", "day", day, day + _DAY)

    async def delete_old(self) -> bool:
        now = await self._database.now()
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_old_recounts"], now - OLDEST_ADDED)
            deleted = [
                rows_written(
                    await connection.execute(
                        self._sql["delete_old_statistics"], span, now - kept, _DELETED_TOGETHER
                    )
                )
                for span, kept in _KEPT.items()
            ]
        return max(deleted) == _DELETED_TOGETHER

    async def series(self, tenant_id: int, wanted: SeriesFilter, limit: int) -> list[Counted]:
        rows = await self._database.fetch(
            self._sql["series"], tenant_id, wanted.begin, wanted.end,
            _HOUR if wanted.starts else wanted.step,  # days of other zones are made of hours
            wanted.begin, wanted.by, wanted.task, wanted.queue, limit, wanted.starts, wanted.minutes_from,
        )  # fmt: skip
        return [Counted(row["at"], row["task"], row["queue"], _counts(row)) for row in rows]

    async def executions_of_jobs(
        self, tenant_id: int, jobs: Sequence[int], wanted: SeriesFilter, limit: int
    ) -> CountedExecutions:
        return await self._executions("executions_of_jobs", tenant_id, list(jobs), wanted, limit)

    async def executions_with_tag(
        self, tenant_id: int, tag: str, wanted: SeriesFilter, limit: int
    ) -> CountedExecutions:
        return await self._executions("executions_with_tag", tenant_id, tag, wanted, limit)

    async def _executions(
        self, query: str, tenant_id: int, whose: list[int] | str, wanted: SeriesFilter, limit: int
    ) -> CountedExecutions:
        starts = wanted.starts or []
        rows = await self._database.fetch(
            self._sql[query], tenant_id, whose, wanted.begin, wanted.end, starts, limit, wanted.task,
            wanted.queue,
        )  # fmt: skip
        counted = [
            Counted(starts[row["step"] - 1], None, None, _counts_of_alike(row)) for row in rows if row["step"]
        ]
        return CountedExecutions(counted, rows[0]["since"])

    async def now(self) -> datetime:
        return await self._database.now()


def _ids(tenants: Sequence[asyncpg.Record]) -> list[int]:
    return [row["tenant_id"] for row in tenants]


def _columns(counted: Sequence[MinuteCounts]) -> tuple[list[Any], ...]:
    return (
        [each.at for each in counted],
        [each.lane_id for each in counted],
        [each.fired for each in counted],
        [each.started for each in counted],
        [each.completed for each in counted],
        [literal([*each.start_delays.keys()]) for each in counted],
        [literal([*each.start_delays.values()]) for each in counted],
        [literal([*each.run_times.keys()]) for each in counted],
        [literal([*each.run_times.values()]) for each in counted],
    )


def _counts(row: asyncpg.Record) -> Counts:
    return Counts(
        fired=row["fired"],
        started=row["started"],
        completed=row["completed"],
        failed=row["failed"],
        retried=row["retried"],
        snoozed=row["snoozed"],
        lost=row["lost"],
        cancelled=row["cancelled"],
        missed=row["missed"],
        skipped_by_reason={reason: row[column] for reason, column in _SKIPPED.items()},
        start_delays=_histogram(row["delay_buckets"], row["delay_counts"]),
        run_times=_histogram(row["run_buckets"], row["run_counts"]),
    )


def _histogram(buckets: list[int] | None, counts: list[int] | None) -> Histogram:
    return dict(zip(buckets or (), counts or (), strict=True))


def _counts_of_alike(row: asyncpg.Record) -> Counts:
    """Of executions that are alike."""
    number, status, attempt = row["executions"], row["status"], row["attempt"]
    failed, completed = status == ExecutionStatus.FAILED, status == ExecutionStatus.COMPLETED
    retried = row["failures"] - (failed and row["failures"] > 0)
    lost = row["losses"] - (failed and not row["failures"] and row["losses"] > 0)
    return Counts(
        fired=number * (not row["is_backfill"]),
        started=number * (attempt if row["has_run"] else attempt - 1),
        completed=number * completed,
        failed=number * failed,
        retried=number * retried,
        lost=number * lost,
        snoozed=number * max(attempt - 1 - retried - lost, 0),
        cancelled=number * (status == ExecutionStatus.CANCELLED),
        skipped_by_reason={_reason(row["reason"]): number} if status == ExecutionStatus.SKIPPED else {},
        start_delays={} if row["delay_bucket"] is None else {row["delay_bucket"]: number},
        run_times={} if row["run_bucket"] is None else {row["run_bucket"]: number},
    )


def _reason(reason: str | None) -> str:
    return reason if reason in _SKIPPED else "parent"
