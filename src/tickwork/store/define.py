"""Making and changing jobs: the SQL behind the define stage.

Whoever changes which rule a job belongs to, or whether it takes part, locks the rule first and looks afterwards: so a
change is wholly before or wholly after each chunk that is fired.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import asyncpg
import msgspec
from msgspec import UNSET

from tickwork.model.errors import Conflict, NotFound, Stale
from tickwork.model.execution import Trigger
from tickwork.model.ids import job_id
from tickwork.model.job import JobSpec, JobStatus
from tickwork.model.schedule import Once, Timing
from tickwork.store.membership import LockedRule, Membership, RuleName, rule_name
from tickwork.store.pool import Connection, Database
from tickwork.store.port import Definition
from tickwork.store.query import queries

_JOB_COLUMNS = (
    "id", "rule_id", "scheduled_for", "active_from", "created_at", "updated_at", "tenant_id", "lane_id", "timeout",
    "overlap", "on_worker_lost", "priority", "held", "task", "payload", "target", "name", "key", "tags", "definition",
)  # fmt: skip
_EXECUTION_COLUMNS = (
    "tenant_id", "scheduled_for", "job_id", "lane_id", "priority", "trigger", "status", "ready_at",
)  # fmt: skip
_TRIES = 5
_Done = TypeVar("_Done")
_MICROSECOND = timedelta(microseconds=1)


class _Timing(NamedTuple):
    """When a job is due, as its row says it."""

    rule_id: int | None
    scheduled_for: datetime | None
    held: bool
    due: datetime | None  # what must have an execution at once


class PostgresDefineStore:
    def __init__(
        self,
        database: Database,
        timing_from_text: Callable[[str], Timing],
        horizon: Callable[[], datetime],
    ) -> None:
        """`horizon`: up to when there are partitions for executions."""
        self._database = database
        self._timing_from_text = timing_from_text
        self._horizon = horizon
        self._sql = queries("define")

    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, str]:
        rows = await self._database.fetch(self._sql["find_tasks"], tenant_id, list(names)) if names else []
        return {row["name"]: row["parameters"] for row in rows}

    async def task_names(self, tenant_id: int) -> list[str]:
        return [row["name"] for row in await self._database.fetch(self._sql["task_names"], tenant_id)]

    async def create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[int]:
        return await _again_if_crossed(lambda: self._create(tenant_id, specs))

    async def _create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[int]:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            taken = await self._taken_keys(connection, tenant_id, specs)
            new = [spec for spec in specs if spec.request.key not in taken]
            rules = await members.lock_for(new)
            lanes = await self._lanes(connection, tenant_id, specs)
            made = iter(await self._insert(connection, tenant_id, new, rules, lanes, await members.now()))
            jobs = [taken.get(spec.request.key) or next(made) for spec in specs]
            for spec, job in zip(specs, jobs, strict=True):
                if spec.request.key in taken and spec.request.if_exists == "replace":
                    await self.change(tenant_id, job, spec, None)
        return jobs

    async def _taken_keys(
        self, connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
    ) -> dict[str | None, int]:
        keys = [spec.request.key for spec in specs if spec.request.key is not None]
        if not keys:
            return {}
        rows = await connection.fetch(self._sql["lock_jobs_by_key"], tenant_id, keys)
        taken = {row["key"]: row["id"] for row in rows}
        for spec in specs:
            if spec.request.key in taken and spec.request.if_exists == "error":
                raise Conflict(
                    f"job {job_id(taken[spec.request.key])} has the key {spec.request.key!r} already; "
                    "to go on with it say if_exists: keep, or replace"
                )
        return taken

    async def _lanes(
        self, connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
    ) -> dict[tuple[str, str], int]:
        wanted = sorted({(spec.queue, spec.task) for spec in specs})
        columns = [queue for queue, _ in wanted], [task for _, task in wanted]
        rows = await connection.fetch(self._sql["find_lanes"], tenant_id, *columns)
        if len(rows) < len(wanted):
            await connection.execute(self._sql["ensure_lanes"], tenant_id, *columns)
            rows = await connection.fetch(self._sql["find_lanes"], tenant_id, *columns)
        return {(row["queue"], row["task"]): row["id"] for row in rows}

    async def _insert(
        self,
        connection: Connection,
        tenant_id: int,
        specs: Sequence[JobSpec],
        rules: dict[RuleName, LockedRule],
        lanes: dict[tuple[str, str], int],
        now: datetime,
    ) -> list[int]:
        ids = [row["id"] for row in await connection.fetch(self._sql["new_job_ids"], len(specs))]
        jobs, executions = [], []
        for job, spec in zip(ids, specs, strict=True):
            timing = self._timing(job, spec, rules, now)
            lane = lanes[spec.queue, spec.task]
            jobs.append(_job_row(job, tenant_id, lane, spec, timing, now))
            if timing.due:
                executions.append(_execution_row(job, tenant_id, lane, spec.priority, timing.due))
        await _copy(connection, "job", _JOB_COLUMNS, jobs)
        await _copy(connection, "execution", _EXECUTION_COLUMNS, executions)
        return ids

    def _timing(self, job: int, spec: JobSpec, rules: dict[RuleName, LockedRule], now: datetime) -> _Timing:
        if isinstance(spec.schedule, Once):
            at = max(spec.schedule.at or now, now)
            held = at >= self._horizon()
            return _Timing(None, at, held, None if held else at)
        name = rule_name(spec)
        assert name is not None  # noqa: S101 (a schedule is once or recurring)
        rule = rules[name]
        return _Timing(rule.id, None, held=False, due=rule.passed(now, (spec.priority, job)))

    async def definition(self, tenant_id: int, job: int) -> Definition:
        row = await self._database.fetchrow(self._sql["definition"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        document = msgspec.json.decode(row["definition"])
        return Definition(document | {"payload": msgspec.json.decode(row["payload"])}, row["version"])

    async def change(self, tenant_id: int, job: int, spec: JobSpec, version: int | None) -> None:
        await _again_if_crossed(lambda: self._change(tenant_id, job, spec, version))

    async def _change(self, tenant_id: int, job: int, spec: JobSpec, version: int | None) -> None:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            old_rule = await members.lock_of(job)
            rules = await members.lock_for([spec])
            row = await self._lock_member(connection, tenant_id, job, old_rule)
            _check_version(row, version)
            _check_not_cancelled(row)
            await self._check_key(connection, tenant_id, job, spec.request.key)
            now = await members.now()
            await self._apply_change(connection, tenant_id, row, spec, rules, old_rule, now)

    async def _check_key(self, connection: Connection, tenant_id: int, job: int, key: str | None) -> None:
        holder = await connection.fetchval(self._sql["job_with_key"], tenant_id, key) if key else None
        if holder not in (None, job):
            raise Conflict(f"job {job_id(holder)} has the key {key!r} already")

    async def _apply_change(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        spec: JobSpec,
        rules: dict[RuleName, LockedRule],
        old_rule: LockedRule | None,
        now: datetime,
    ) -> None:
        job = row["id"]
        lane = (await self._lanes(connection, tenant_id, [spec]))[spec.queue, spec.task]
        timing = self._timing(job, spec, rules, now)
        moved = timing.rule_id != row["rule_id"] or (
            timing.rule_id is None and _asks_for_another_time(row, spec)
        )
        if moved:
            await self._leave(connection, tenant_id, row, old_rule, now)
        elif timing.rule_id is None:
            timing = timing._replace(scheduled_for=row["scheduled_for"], held=row["held"])
        await connection.execute(
            self._sql["move_waiting"], tenant_id, job, row["lane_id"], lane, spec.priority
        )
        await connection.execute(
            self._sql["change_job"],
            tenant_id, job, timing.rule_id, timing.scheduled_for, lane, spec.priority, spec.task, spec.payload,
            spec.target, spec.timeout, spec.request.overlap, spec.request.on_worker_lost, spec.request.name,
            spec.request.key, spec.request.tags, _definition(spec), timing.held, moved, row["status"],
        )  # fmt: skip
        paused = row["status"] == JobStatus.PAUSED
        if moved and timing.due and not (paused and timing.rule_id):
            await self._add_execution(
                connection, tenant_id, job, lane, spec.priority, timing.due, Trigger.SCHEDULE
            )
        if moved and paused:
            await connection.execute(self._sql["hold_waiting"], tenant_id, job, lane)

    async def _leave(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        old_rule: LockedRule | None,
        now: datetime,
    ) -> None:
        """The job goes on under another timing: what the old one had fired ahead is taken back."""
        if old_rule:
            await self._stop_ahead(
                connection, tenant_id, row["id"], old_rule.ahead(now), "skipped", "rescheduled"
            )
            await connection.execute(self._sql["note_past_rule"], row["id"], old_rule.id)
            if old_rule.last_at:
                await connection.execute(self._sql["note_extra"], row["id"], old_rule.last_at)
        else:
            await connection.execute(self._sql["note_extra"], row["id"], row["scheduled_for"])
            await self._stop_ahead(
                connection, tenant_id, row["id"], [row["scheduled_for"]], "cancelled", "rescheduled"
            )
            await connection.execute(
                self._sql["cancel_waiting"], tenant_id, row["id"], row["lane_id"], "rescheduled"
            )

    async def set_status(
        self, tenant_id: int, job: int, status: JobStatus, version: int | None = None
    ) -> None:
        await _again_if_crossed(lambda: self._set_status(tenant_id, job, status, version))

    async def _set_status(self, tenant_id: int, job: int, status: JobStatus, version: int | None) -> None:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            rule = await members.lock_of(job)
            row = await self._lock_member(connection, tenant_id, job, rule)
            _check_version(row, version)
            if row["status"] == status:
                return
            _check_not_cancelled(row)
            await connection.execute(self._sql["set_job_status"], tenant_id, job, status)
            now = await members.now()
            if status == JobStatus.ACTIVE:
                await self._go_on(connection, members, tenant_id, row, rule, now)
            else:
                await self._hold(connection, tenant_id, row, rule, status, now)

    async def _hold(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        rule: LockedRule | None,
        status: JobStatus,
        now: datetime,
    ) -> None:
        where = tenant_id, row["id"], row["lane_id"]
        if status == JobStatus.PAUSED:
            if rule:
                await self._stop_ahead(connection, tenant_id, row["id"], rule.ahead(now), "skipped", "paused")
            else:
                await self._take_back(connection, tenant_id, row["id"], row["scheduled_for"])
            await connection.execute(self._sql["hold_waiting"], *where)
        else:
            ahead = rule.ahead(now) if rule else [row["scheduled_for"]]
            await self._stop_ahead(connection, tenant_id, row["id"], ahead, "cancelled", "job cancelled")
            await connection.execute(self._sql["cancel_waiting"], *where, "job cancelled")

    async def _go_on(
        self,
        connection: Connection,
        members: Membership,
        tenant_id: int,
        row: asyncpg.Record,
        rule: LockedRule | None,
        now: datetime,
    ) -> None:
        where = tenant_id, row["id"], row["lane_id"]
        await connection.execute(self._sql["unhold_waiting"], *where)
        if rule is None:
            return
        rule = await members.awake(rule, now)
        due = rule.passed(now, (row["priority"], row["id"]))
        if due:
            await self._add_execution(
                connection, tenant_id, row["id"], row["lane_id"], row["priority"], due, Trigger.SCHEDULE
            )

    async def _stop_ahead(
        self,
        connection: Connection,
        tenant_id: int,
        job: int,
        times: Sequence[datetime],
        status: str,
        reason: str,
    ) -> None:
        if not times:
            return
        stopped = await connection.fetch(self._sql["stop_ahead"], tenant_id, job, list(times), status, reason)
        await self._revoke(connection, tenant_id, job, stopped, reason)

    async def _take_back(
        self, connection: Connection, tenant_id: int, job: int, scheduled_for: datetime
    ) -> None:
        """The one time of a job must not pass while it is paused: what has not begun waits with it."""
        taken = await connection.fetch(self._sql["take_back"], tenant_id, job, scheduled_for)
        await self._revoke(connection, tenant_id, job, taken, "paused")

    async def _revoke(
        self, connection: Connection, tenant_id: int, job: int, rows: Sequence[asyncpg.Record], reason: str
    ) -> None:
        for row in rows:
            if row["worker_id"] is not None:
                await connection.execute(
                    queries("record")["revoke"],
                    tenant_id, row["scheduled_for"], job, row["attempt"], row["worker_id"], reason,
                )  # fmt: skip

    async def run_now(self, tenant_id: int, job: int) -> datetime:
        async with self._database.transaction() as connection:
            row = await self._lock_job(connection, tenant_id, job)
            _check_not_cancelled(row)
            at: datetime = await connection.fetchval("SELECT tickwork.clock()")
            return await self._add_execution(
                connection, tenant_id, job, row["lane_id"], row["priority"], at, Trigger.MANUAL
            )

    async def _add_execution(
        self,
        connection: Connection,
        tenant_id: int,
        job: int,
        lane: int,
        priority: int,
        at: datetime,
        trigger: Trigger,
    ) -> datetime:
        """An execution besides those its rule makes. A manual one whose instant is taken comes a moment later; a
        scheduled one that was stopped before its time begins anew."""
        while not await connection.fetchval(
            self._sql["insert_execution"], tenant_id, at, job, lane, priority, trigger
        ):
            if trigger == Trigger.SCHEDULE:
                await connection.execute(self._sql["revive_execution"], tenant_id, at, job, lane, priority)
                break
            at += _MICROSECOND
        await connection.execute(self._sql["note_extra"], job, at)
        return at

    async def _lock_job(self, connection: Connection, tenant_id: int, job: int) -> asyncpg.Record:
        row = await connection.fetchrow(self._sql["lock_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        return row

    async def _lock_member(
        self, connection: Connection, tenant_id: int, job: int, rule: LockedRule | None
    ) -> asyncpg.Record:
        row = await self._lock_job(connection, tenant_id, job)
        if row["rule_id"] != (rule.id if rule else None):
            raise _Crossed
        return row


class _Crossed(Exception):
    """The job went to another rule before both were locked."""


async def _again_if_crossed(act: Callable[[], Awaitable[_Done]]) -> _Done:
    """Requests that change the same jobs at the same moment may get in each other's way: one begins anew, and then
    sees what the other did."""
    for _ in range(_TRIES):
        try:
            return await act()
        except (_Crossed, asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError):
            continue
    raise Conflict("other requests keep changing the same jobs: try again")


def _check_version(row: asyncpg.Record, version: int | None) -> None:
    if version is not None and row["version"] != version:
        raise Stale(
            f"job {job_id(row['id'])} was changed meanwhile: it is at version {row['version']}, not {version}"
        )


def _check_not_cancelled(row: asyncpg.Record) -> None:
    if row["status"] == JobStatus.CANCELLED:
        raise Conflict(f"job {job_id(row['id'])} is cancelled: create a new one")


def _asks_for_another_time(row: asyncpg.Record, spec: JobSpec) -> bool:
    before = msgspec.json.decode(row["definition"])
    request = spec.request
    return (before.get("schedule"), before.get("timezone")) != (request.schedule, request.timezone)


def _definition(spec: JobSpec) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(spec.request, payload=UNSET))


def _job_row(
    job: int, tenant_id: int, lane: int, spec: JobSpec, timing: _Timing, now: datetime
) -> tuple[Any, ...]:
    request = spec.request
    return (
        job, timing.rule_id, timing.scheduled_for, now, now, now, tenant_id, lane, spec.timeout,
        request.overlap, request.on_worker_lost, spec.priority, timing.held, spec.task, spec.payload, spec.target,
        request.name, request.key, request.tags, _definition(spec),
    )  # fmt: skip


def _execution_row(job: int, tenant_id: int, lane: int, priority: int, due: datetime) -> tuple[Any, ...]:
    return (tenant_id, due, job, lane, priority, "schedule", "pending", due)


async def _copy(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    if rows:
        await connection.copy_records_to_table(
            table, schema_name="tickwork", columns=list(columns), records=rows
        )
