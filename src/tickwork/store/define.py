"""Making and changing jobs: the SQL behind the define stage.

Whoever changes which rule a job belongs to, or whether it takes part, locks the rule first and looks afterwards: so a
change is wholly before or wholly after each chunk that is fired.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import asyncpg
import msgspec

from tickwork.model.errors import Conflict, NotFound, Stale
from tickwork.model.execution import Trigger
from tickwork.model.ids import job_id
from tickwork.model.job import JobRequest, JobSpec, JobStatus, resolved
from tickwork.model.schedule import Once, Recurring, Timing, count_between, last_of
from tickwork.store.dependency import Edges, existing_parents, inside, parents_of
from tickwork.store.membership import Crossed, LockedRule, LockedRules, Membership, again_if_crossed
from tickwork.store.pool import Connection, Database
from tickwork.store.port import Definition, Made, ParentJob
from tickwork.store.query import queries
from tickwork.store.queue import refuse_if_full
from tickwork.store.upcoming import Upcoming

_JOB_COLUMNS = (
    "id", "rule_id", "scheduled_for", "active_from", "created_at", "updated_at", "tenant_id", "lane_id", "timeout",
    "overlap", "on_worker_lost", "priority", "held", "task", "payload", "target", "name", "key", "tags", "definition",
    "active_until", "followed", "depends",
)  # fmt: skip
_EXECUTION_COLUMNS = (
    "tenant_id", "scheduled_for", "job_id", "lane_id", "priority", "trigger", "status", "ready_at", "followed",
)  # fmt: skip
_NEVER = datetime.max.replace(tzinfo=UTC)  # infinity, to the database


_LaneName = tuple[str, str, str]  # queue, task, terms


class _Lane(NamedTuple):
    id: int
    is_bounded: bool  # only so much may wait in its queue


class _Timing(NamedTuple):
    """When a job is due, as its row says it."""

    rule_id: int | None
    scheduled_for: datetime | None
    held: bool
    due: datetime | None  # what must have an execution at once
    next_run_at: datetime | None
    until: datetime | None = None  # the last of its due times, when it has only so many


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

    async def find_parents(self, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        sql = queries("dependency")["find_parents"]
        rows = await self._database.fetch(sql, tenant_id, list(jobs)) if jobs else []
        return {row["id"]: _parent_job(row) for row in rows}

    async def create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[Made]:
        return await again_if_crossed(lambda: self._create(tenant_id, specs))

    async def _create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[Made]:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            edges = Edges(connection, tenant_id)
            there = await self._with_keys("jobs_by_key", connection, tenant_id, specs)
            _check_if_exists(specs, there)
            ids = await self._ids(connection, specs, there)
            specs = [_resolved(spec, ids) for spec in specs]
            new = {job: spec for job, spec in zip(ids, specs, strict=True) if spec.request.key not in there}
            old = {job: spec for job, spec in zip(ids, specs, strict=True) if _is_replaced(spec, there)}
            if any(spec.parents for spec in old.values()):
                await edges.one_at_a_time()
            parents = existing_parents({**new, **old}, ids, new)
            above = await edges.rules_of(parents)
            left = [there[spec.request.key]["rule_id"] for spec in old.values()]
            rules = await members.lock([*new.values(), *old.values()], [*left, *above])
            await edges.follow(parents, above)
            rows = await self._with_keys("lock_jobs_by_key", connection, tenant_id, [*old.values()])
            now = await members.now()
            made = iter(
                await self._insert(connection, tenant_id, new, rules, now, followed=inside(specs, ids))
            )
            await edges.create(new, ids)
            for spec in old.values():
                await self._replace(connection, tenant_id, rows.get(spec.request.key), spec, rules, now, ids)
            await edges.refuse_circles([job for job, spec in old.items() if spec.parents])
        return [
            Made(there[spec.request.key]["id"], is_new=False) if spec.request.key in there else next(made)
            for spec in specs
        ]

    async def _ids(
        self, connection: Connection, specs: Sequence[JobSpec], there: dict[str | None, asyncpg.Record]
    ) -> list[int]:
        """Of each job: the number it has, or will have."""
        count = sum(spec.request.key not in there for spec in specs)
        fresh = iter(await connection.fetch(self._sql["new_job_ids"], count))
        return [
            there[spec.request.key]["id"] if spec.request.key in there else next(fresh)["id"]
            for spec in specs
        ]

    async def _with_keys(
        self, query: str, connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
    ) -> dict[str | None, asyncpg.Record]:
        keys = [spec.request.key for spec in specs if spec.request.key is not None]
        rows = await connection.fetch(self._sql[query], tenant_id, keys) if keys else []
        return {row["key"]: row for row in rows}

    async def _replace(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record | None,
        spec: JobSpec,
        rules: LockedRules,
        now: datetime,
        ids: Sequence[int],
    ) -> None:
        if row is None:
            raise Crossed
        another_time = _asks_for_another_time(row, spec) or _counts_from_now(row, spec, now)
        await self._apply_change(connection, tenant_id, row, spec, rules, now, another_time, ids)

    async def _lanes(
        self, connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
    ) -> dict[_LaneName, _Lane]:
        wanted = sorted({_lane_name(spec) for spec in specs})
        columns = [[*column] for column in zip(*wanted, strict=True)] or [[], [], []]
        rows = await connection.fetch(self._sql["find_lanes"], tenant_id, *columns)
        if len(rows) < len(wanted):
            keys = {limit.key for spec in specs for limit in spec.request.limits}
            if keys:
                await connection.execute(self._sql["ensure_gates"], tenant_id, sorted(keys))
            await connection.execute(self._sql["ensure_lanes"], tenant_id, *columns)
            rows = await connection.fetch(self._sql["find_lanes"], tenant_id, *columns)
        return {
            (row["queue"], row["task"], row["terms"]): _Lane(row["id"], row["is_bounded"]) for row in rows
        }

    async def _insert(
        self,
        connection: Connection,
        tenant_id: int,
        specs: Mapping[int, JobSpec],
        rules: LockedRules,
        now: datetime,
        followed: Collection[int],
    ) -> list[Made]:
        lanes = await self._lanes(connection, tenant_id, [*specs.values()])
        jobs, executions, made, crowding = [], [], [], []
        for job, spec in specs.items():
            timing = self._timing(job, spec, rules, now)
            lane = lanes[_lane_name(spec)]
            next_run_at = None if spec.parents and timing.rule_id is None else timing.next_run_at
            made.append(Made(job, is_new=True, next_run_at=next_run_at))
            jobs.append(_job_row(job, tenant_id, lane.id, spec, timing, now, job in followed))
            if timing.due:
                row = _execution_row(job, tenant_id, lane.id, spec, timing.due, job in followed)
                executions.append(row)
            if lane.is_bounded and timing.scheduled_for == now and not spec.parents:
                crowding.append(lane.id)
        if crowding:
            await refuse_if_full(connection, crowding)
        await _copy(connection, "job", _JOB_COLUMNS, jobs)
        await _copy(connection, "execution", _EXECUTION_COLUMNS, executions)
        return made

    def _timing(self, job: int, spec: JobSpec, rules: LockedRules, now: datetime) -> _Timing:
        rule = rules.of(spec)
        if rule:
            if spec.parents:  # its executions are made with theirs
                return _Timing(rule.id, None, False, None, rule.next_at)
            due = rule.passed(now, (spec.priority, job))
            return _Timing(rule.id, None, False, due, rule.next_at, until=_last_due(spec, now))
        assert isinstance(spec.schedule, Once)  # noqa: S101 (what has no rule is due once)
        at = max(spec.schedule.at or now, now)
        held = at >= self._horizon()
        return _Timing(None, at, held, None if held else at, at)

    async def definition(self, tenant_id: int, job: int) -> Definition:
        row = await self._database.fetchrow(self._sql["definition"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        document = msgspec.json.decode(row["definition"])
        return Definition(document | {"payload": msgspec.json.decode(row["payload"])}, row["version"])

    async def change(self, tenant_id: int, job: int, spec: JobSpec, version: int) -> None:
        await again_if_crossed(lambda: self._change(tenant_id, job, spec, version))

    async def _change(self, tenant_id: int, job: int, spec: JobSpec, version: int) -> None:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            edges = Edges(connection, tenant_id)
            spec = _resolved(spec, ())
            parents = existing_parents({job: spec}, (), ())
            if parents:
                await edges.one_at_a_time()
            above = await edges.rules_of(parents)
            rules = await members.lock([spec], [await members.rule_of(job), *above])
            await edges.follow(parents, above)
            row = await self._lock_job(connection, tenant_id, job)
            _check_version(row, version)
            _check_not_cancelled(row)
            for holder in (await self._with_keys("jobs_by_key", connection, tenant_id, [spec])).values():
                if holder["id"] != job:
                    raise Conflict(f"job {job_id(holder['id'])} has the key {holder['key']!r} already")
            another_time = _asks_for_another_time(row, spec)
            await self._apply_change(
                connection, tenant_id, row, spec, rules, await members.now(), another_time
            )

    async def _apply_change(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        spec: JobSpec,
        rules: LockedRules,
        now: datetime,
        another_time: bool,
        ids: Sequence[int] = (),
    ) -> None:
        job, old_rule = row["id"], rules.get(row["rule_id"])
        upcoming = Upcoming(connection, tenant_id, job)
        lane = (await self._lanes(connection, tenant_id, [spec]))[_lane_name(spec)].id
        timing = self._timing(job, spec, rules, now)
        moved = timing.rule_id != row["rule_id"] or (timing.rule_id is None and another_time)
        if moved:
            await self._leave(connection, upcoming, row, old_rule, now)
        else:
            await self._hand_out_anew(upcoming, row, old_rule, now)
            if timing.rule_id is None:
                timing = timing._replace(scheduled_for=row["scheduled_for"], held=row["held"])
        if row["overlap"] == "allow" != spec.request.overlap:
            await upcoming.remember_unended(row["lane_id"])
        await upcoming.move(row["lane_id"], lane, spec.priority)
        await connection.execute(
            self._sql["change_job"],
            tenant_id, job, timing.rule_id, timing.scheduled_for, lane, spec.priority, spec.task, spec.payload,
            spec.target, spec.timeout, spec.request.overlap, spec.request.on_worker_lost, spec.request.name,
            spec.request.key, spec.request.tags, spec.definition, timing.held, moved, row["status"],
            timing.until, _runs(spec),
        )  # fmt: skip
        if moved:
            await self._arrive(upcoming, row, timing, lane, spec)
        await self._go_with(connection, tenant_id, row, spec, timing, ids)

    async def _go_with(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        spec: JobSpec,
        timing: _Timing,
        ids: Sequence[int],
    ) -> None:
        """What a job depends on, and who depends on it, go along with its change."""
        edges = Edges(connection, tenant_id)
        if spec.parents or row["depends"]:
            before = msgspec.json.decode(row["definition"], type=JobRequest).depends_on
            await edges.change(row["id"], spec, ids, before)
        if row["followed"] and timing.rule_id != row["rule_id"]:
            if timing.rule_id is None or row["rule_id"] is None:
                raise Conflict("other jobs depend on it: it cannot change between running once and repeating")
            await edges.move_followers(row["id"], row["rule_id"], timing.rule_id)

    async def _hand_out_anew(
        self, upcoming: Upcoming, row: asyncpg.Record, rule: LockedRule | None, now: datetime
    ) -> None:
        """What a worker was handed ahead of its time has the old payload: it is taken back and read again."""
        if row["status"] == JobStatus.ACTIVE:
            for at in _ahead(row, rule, now):
                await upcoming.take_back(at, "edited")
            await upcoming.unhold(row["lane_id"])

    async def _leave(
        self,
        connection: Connection,
        upcoming: Upcoming,
        row: asyncpg.Record,
        old_rule: LockedRule | None,
        now: datetime,
    ) -> None:
        """The job goes on under another timing: what the old one had fired ahead is taken back."""
        if old_rule:
            await upcoming.stop_ahead(old_rule.ahead(now), "skipped", "rescheduled")
            await upcoming.remember([old_rule.last_at, old_rule.next_at])
            await connection.execute(self._sql["note_past_rule"], row["id"], old_rule.id)
            if old_rule.last_at:
                await connection.execute(self._sql["note_extra"], row["id"], old_rule.last_at)
        else:
            await connection.execute(self._sql["note_extra"], row["id"], row["scheduled_for"])
            await upcoming.stop_ahead([row["scheduled_for"]], "cancelled", "rescheduled")
            await upcoming.cancel(row["lane_id"], "rescheduled")

    async def _arrive(
        self, upcoming: Upcoming, row: asyncpg.Record, timing: _Timing, lane: int, spec: JobSpec
    ) -> None:
        """What the new timing has fired already, or fires only once, is made up for. A paused job misses the first
        and keeps the second for later."""
        paused = row["status"] == JobStatus.PAUSED
        if timing.due and not timing.rule_id:
            await upcoming.add(lane, spec.priority, timing.due, Trigger.SCHEDULE)
        elif timing.due and not paused:
            await upcoming.add_late(lane, spec.priority, timing.due, spec.request.overlap, fired=())
        if paused:
            await upcoming.hold(lane)

    async def set_status(
        self, tenant_id: int, job: int, status: JobStatus, version: int | None = None
    ) -> None:
        await again_if_crossed(lambda: self._set_status(tenant_id, job, status, version))

    async def _set_status(self, tenant_id: int, job: int, status: JobStatus, version: int | None) -> None:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id, self._timing_from_text)
            rules = await members.lock([], [await members.rule_of(job)])
            row = await self._lock_job(connection, tenant_id, job)
            rule = rules.get(row["rule_id"])
            _check_version(row, version)
            if row["status"] == status:
                return
            _check_not_cancelled(row)
            now = await members.now()
            await connection.execute(self._sql["set_job_status"], tenant_id, job, status, now)
            upcoming = Upcoming(connection, tenant_id, job)
            if rule and (row["active_until"] or row["runs_left"]):
                await self._count_runs(connection, tenant_id, row, rule, status, now)
            if status == JobStatus.ACTIVE and rule:
                await self._go_on(upcoming, row, await members.awake(rule, now), now)
            elif status == JobStatus.ACTIVE:
                await self._go_on_once(connection, upcoming, tenant_id, row, now)
            elif status == JobStatus.PAUSED:
                await self._check_not_ended(connection, tenant_id, row)
                await self._hold(upcoming, row, rule, now)
            else:
                await upcoming.stop_ahead(_ahead(row, rule, now), "cancelled", "job cancelled")
                await upcoming.cancel(row["lane_id"], "job cancelled")

    async def _count_runs(
        self,
        connection: Connection,
        tenant_id: int,
        row: asyncpg.Record,
        rule: LockedRule,
        status: JobStatus,
        now: datetime,
    ) -> None:
        """Due times that pass while a job is paused are not among the so many that it has."""
        timing = self._timing_from_text(rule.timing)
        until, left = None, None
        if status == JobStatus.ACTIVE:
            until = last_of(timing, now, row["runs_left"])
        else:
            left = count_between(timing, now, row["active_until"])
        await connection.execute(self._sql["set_runs"], tenant_id, row["id"], until, left)

    async def _hold(
        self, upcoming: Upcoming, row: asyncpg.Record, rule: LockedRule | None, now: datetime
    ) -> None:
        """Due times pass while a job is paused, but not the only one of a job that is due once, nor the rounds of
        others in which it runs."""
        if rule and not row["depends"]:
            await upcoming.stop_ahead(rule.ahead(now), "skipped", "paused")
            await upcoming.remember([rule.last_at, rule.next_at])
        elif not rule:
            await upcoming.take_back(row["scheduled_for"], "paused")
        await upcoming.hold(row["lane_id"])

    async def _check_not_ended(self, connection: Connection, tenant_id: int, row: asyncpg.Record) -> None:
        ended = await connection.fetchval(self._sql["ended_as"], tenant_id, row["id"], row["scheduled_for"])
        if ended:
            raise Conflict(f"job {job_id(row['id'])} has ended: it is {ended}")

    async def _go_on(self, upcoming: Upcoming, row: asyncpg.Record, rule: LockedRule, now: datetime) -> None:
        await upcoming.unhold(row["lane_id"])
        due = rule.passed(now, (row["priority"], row["id"]))
        if due and not row["depends"]:
            fired = [rule.last_at, rule.next_at]
            await upcoming.add_late(row["lane_id"], row["priority"], due, row["overlap"], fired)

    async def _go_on_once(
        self, connection: Connection, upcoming: Upcoming, tenant_id: int, row: asyncpg.Record, now: datetime
    ) -> None:
        await upcoming.unhold(row["lane_id"])
        if row["held"] and row["scheduled_for"] <= now:
            await connection.execute(self._sql["make_due"], tenant_id, row["id"], now)
            await upcoming.add(row["lane_id"], row["priority"], now, Trigger.SCHEDULE)

    async def _lock_job(self, connection: Connection, tenant_id: int, job: int) -> asyncpg.Record:
        row = await connection.fetchrow(self._sql["lock_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        return row


def _parent_job(row: asyncpg.Record) -> ParentJob:
    return ParentJob(
        row["id"], JobStatus(row["status"]), row["timing"], row["catch_up"], is_known=bool(row["is_known"])
    )


def _check_if_exists(specs: Sequence[JobSpec], there: dict[str | None, asyncpg.Record]) -> None:
    for spec in specs:
        if spec.request.key in there and spec.request.if_exists == "error":
            job = job_id(there[spec.request.key]["id"])
            raise Conflict(
                f"job {job} has the key {spec.request.key!r} already; "
                "to go on with it say if_exists: keep, or replace"
            )


def _resolved(spec: JobSpec, ids: Sequence[int]) -> JobSpec:
    """Its definition names what it depends on."""
    if not spec.parents:
        return spec
    request = resolved(msgspec.structs.replace(spec.request, payload=msgspec.UNSET), parents_of(spec, ids))
    return spec._replace(
        definition=msgspec.json.encode(request),
        request=msgspec.structs.replace(spec.request, depends_on=request.depends_on),
    )


def _is_replaced(spec: JobSpec, there: dict[str | None, asyncpg.Record]) -> bool:
    return spec.request.key in there and spec.request.if_exists == "replace"


def _check_version(row: asyncpg.Record, version: int | None) -> None:
    if version is not None and row["version"] != version:
        raise Stale(
            f"job {job_id(row['id'])} was changed meanwhile: it is at version {row['version']}, not {version}"
        )


def _check_not_cancelled(row: asyncpg.Record) -> None:
    if row["status"] == JobStatus.CANCELLED:
        raise Conflict(f"job {job_id(row['id'])} is cancelled: create a new one")


def _ahead(row: asyncpg.Record, rule: LockedRule | None, now: datetime) -> list[datetime]:
    return rule.ahead(now) if rule else [row["scheduled_for"]]


def _runs(spec: JobSpec) -> int | None:
    return spec.schedule.timing.max_runs if isinstance(spec.schedule, Recurring) else None


def _last_due(spec: JobSpec, now: datetime) -> datetime | None:
    runs = _runs(spec)
    return last_of(spec.schedule.timing, now, runs) if runs and isinstance(spec.schedule, Recurring) else None


def _asks_for_another_time(row: asyncpg.Record, spec: JobSpec) -> bool:
    before = msgspec.json.decode(row["definition"])
    request = spec.request
    return (before.get("schedule"), before.get("timezone")) != (request.schedule, request.timezone)


def _counts_from_now(row: asyncpg.Record, spec: JobSpec, now: datetime) -> bool:
    """A job that is replaced begins anew, but what was due at an instant that has passed is not due again."""
    once = spec.schedule
    return isinstance(once, Once) and (once.at is None or now < once.at != row["scheduled_for"])


def _lane_name(spec: JobSpec) -> _LaneName:
    return spec.queue, spec.task, spec.terms


def _job_row(
    job: int, tenant_id: int, lane: int, spec: JobSpec, timing: _Timing, now: datetime, followed: bool
) -> tuple[Any, ...]:
    request = spec.request
    return (
        job, timing.rule_id, timing.scheduled_for, now, now, now, tenant_id, lane, spec.timeout,
        request.overlap, request.on_worker_lost, spec.priority, timing.held, spec.task, spec.payload, spec.target,
        request.name, request.key, request.tags, spec.definition, timing.until, followed, bool(spec.parents),
    )  # fmt: skip


def _execution_row(
    job: int, tenant_id: int, lane: int, spec: JobSpec, due: datetime, followed: bool
) -> tuple[Any, ...]:
    ready = _NEVER if spec.parents else due
    return (tenant_id, due, job, lane, spec.priority, "schedule", "pending", ready, followed)


async def _copy(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    if rows:
        await connection.copy_records_to_table(
            table, schema_name="tickwork", columns=list(columns), records=rows
        )
