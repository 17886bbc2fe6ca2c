"""What is coming: rules, their jobs, and executions that are not due yet."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.public_ids import from_micros, to_micros
from tickwork.model.statistics import GroupBy
from tickwork.model.upcoming import DueFilter
from tickwork.schedule.due.local_time_now_in_each_zone import ZoneTimes
from tickwork.store.page_cursor import UpcomingPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Database
from tickwork.store.port.trigger import DueCount, DueJob, DuePlace, JobsInSpan, TimedJob, UpcomingRule
from tickwork.store.query_files import queries

_LARGEST = 2**63 - 1


class PostgresUpcomingStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("upcoming")

    async def now(self) -> datetime:
        return await self._database.now()

    def place(self, cursor: str) -> DuePlace:
        _, micros, rule, priority, job = decode_cursor(cursor, UpcomingPlace)
        return DuePlace(from_micros(micros), rule, priority, job)

    def cursor(self, place: DuePlace) -> str:
        return encode_cursor(UpcomingPlace("upcoming", to_micros(place.at), *place[1:])) or ""

    async def count_rules_due_before(self, tenant_id: int, end: datetime) -> int:
        (row,) = await self._database.fetch(self._sql["count_rules_due_before"], tenant_id, end)
        return int(row["rules"])

    async def rules_due_before(
        self, tenant_id: int, end: datetime, one_in: int, limit: int, without: Sequence[int]
    ) -> list[UpcomingRule]:
        rows = await self._database.fetch(
            self._sql["rules_due_before"], tenant_id, end, one_in, limit, list(without)
        )
        return [_rule(row) for row in rows]

    async def rules_with_most_jobs(self, tenant_id: int, end: datetime) -> list[UpcomingRule]:
        rows = await self._database.fetch(self._sql["rules_with_most_jobs"], tenant_id, end)
        return [_rule(row) for row in rows]

    async def rules_next_due_after(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[UpcomingRule]:
        rows = await self._database.fetch(
            self._sql["rules_next_due_after"], tenant_id, after.at, after.rule_id, end, limit
        )
        return [_rule(row) for row in rows]

    async def rules_possibly_due_after(
        self, tenant_id: int, second: int, rule: int, end: int, zones: ZoneTimes, limit: int
    ) -> list[tuple[datetime, UpcomingRule]]:
        rows = await self._database.fetch(
            self._sql["rules_possibly_due_after"],
            tenant_id, second, rule, end, limit, _json(zones.seconds), _json(zones.skipped),
        )  # fmt: skip
        return [(row["earliest"], _rule(row)) for row in rows]

    async def jobs_due_in(self, rounds: Sequence[DuePlace], limit: int) -> list[DueJob]:
        columns = [list(column) for column in zip(*rounds, strict=True)]
        rows = await self._database.fetch(self._sql["jobs_due_in_rounds"], *columns, limit)
        return [
            DueJob(
                DuePlace(row["at"], row["rule_id"], row["priority"], row["id"]),
                row["name"], row["task"], row["queue"],
            )
            for row in rows
        ]  # fmt: skip

    async def executions_due(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[DueJob]:
        return await self._one_time("executions_due", tenant_id, after, end, limit)

    async def deferred_jobs_due(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[DueJob]:
        return await self._one_time("deferred_jobs_due", tenant_id, after, end, limit)

    async def _one_time(
        self, query: str, tenant_id: int, after: DuePlace, end: datetime, limit: int
    ) -> list[DueJob]:
        # Rounds of the same time come after them, so at a place in a round they are all over.
        job = after.job_id if after.rule_id == 0 else _LARGEST
        rows = await self._database.fetch(self._sql[query], tenant_id, after.at, job, end, limit)
        return [_one_time_job(row) for row in rows]

    async def timings(self, tenant_id: int, jobs: Sequence[int]) -> dict[int, TimedJob]:
        rows = await self._database.fetch(self._sql["timings_of_jobs"], tenant_id, list(jobs))
        return {row["job"]: _timing(row) for row in rows}

    async def with_tag(self, jobs: Sequence[int], tag: str) -> set[int]:
        rows = await self._database.fetch(self._sql["jobs_with_tag"], list(jobs), tag)
        return {row["id"] for row in rows}

    async def jobs_of_rules(
        self, rules: Sequence[int], since: datetime, limit: int, by: GroupBy | None, wanted: DueFilter
    ) -> list[JobsInSpan]:
        rows = await self._database.fetch(
            self._sql["jobs_of_rules"], list(rules), since, limit, by, wanted.task, wanted.queue, wanted.tag
        )
        return [JobsInSpan(*row) for row in rows]

    async def estimated_jobs_of_rules(self, rules: Sequence[int]) -> dict[int, int]:
        rows = await self._database.fetch(self._sql["estimated_jobs_of_rules"], list(rules))
        return {row["rule_id"]: max(round(row["jobs"] or 0), 0) for row in rows}

    async def count_one_time(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        starts: Sequence[datetime],
        limit: int,
        by: GroupBy | None,
        wanted: DueFilter,
    ) -> list[DueCount]:
        rows = await self._database.fetch(
            self._sql["count_one_time_jobs"],
            tenant_id, begin, end, list(starts), by, limit, wanted.task, wanted.queue, wanted.tag,
        )  # fmt: skip
        return [DueCount(*row) for row in rows]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _rule(row: asyncpg.Record) -> UpcomingRule:
    return UpcomingRule(row["id"], row["timing"], row["next_at"], (row["cursor_priority"], row["cursor_job"]))


def _timing(row: asyncpg.Record) -> TimedJob:
    is_recurring = row["id"] is not None and row["next_at"] is not None
    return TimedJob(
        row["job"], row["name"], row["key"], row["task"], row["queue"], row["is_active"], row["scheduled_for"],
        _rule(row) if is_recurring else None, row["active_from"], row["active_until"],
    )  # fmt: skip


def _one_time_job(row: asyncpg.Record) -> DueJob:
    return DueJob(
        DuePlace(row["at"], 0, 0, row["id"]), row["name"], row["task"], row["queue"], row["is_active"]
    )
