"""Creates and changes jobs.

A transaction that changes the rule of a job, or whether the rule fires it, locks the rule before it reads the job. So a
change comes either before or after each chunk that is fired, never in between.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.access import Author
from tickwork.model.encode_job_target import secret_mark_errors
from tickwork.model.errors import Conflict, Invalid, NotFound, Stale
from tickwork.model.job import JobSpec, JobStatus, RunningChoice, with_resolved_dependencies
from tickwork.model.public_ids import job_id
from tickwork.model.task import defaults_from_text
from tickwork.store.edit_and_pause_job import JobStatusChange, JobUpdate
from tickwork.store.event_store import created_events, write_events
from tickwork.store.job_insert import insert_jobs
from tickwork.store.lock_schedule_rules import RuleMembership, retry_on_conflict
from tickwork.store.pool import Connection, Database
from tickwork.store.port.define import Definition, KnownTask, Made, ParentJob
from tickwork.store.query_files import queries
from tickwork.store.unchecked_payload_store import note_unchecked
from tickwork.store.write_dependencies import JobDependencies, existing_parents, parents_of, parents_within


class PostgresJobStore:
    def __init__(
        self,
        database: Database,
        horizon: Callable[[], datetime],
    ) -> None:
        """`horizon`: until when there are partitions for executions."""
        self._database = database
        self._horizon = horizon
        self._sql = queries("create_and_change_job")

    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, KnownTask]:
        rows = await self._database.fetch(self._sql["find_tasks"], tenant_id, list(names)) if names else []
        return {
            row["name"]: KnownTask(
                row["parameters"], defaults_from_text(row["defaults"]), row["retired"], row["replacement"]
            )
            for row in rows
        }

    async def task_names(self, tenant_id: int) -> list[str]:
        return [row["name"] for row in await self._database.fetch(self._sql["task_names"], tenant_id)]

    async def channel_names(self, tenant_id: int) -> list[str]:
        return [row["name"] for row in await self._database.fetch(self._sql["channel_names"], tenant_id)]

    async def find_keys(self, tenant_id: int, keys: set[str]) -> dict[str, int]:
        rows = await self._database.fetch(self._sql["jobs_by_key"], tenant_id, list(keys)) if keys else []
        return {row["key"]: row["id"] for row in rows}

    async def find_parents(self, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        sql = queries("write_dependencies")["find_parents"]
        rows = await self._database.fetch(sql, tenant_id, list(jobs)) if jobs else []
        return {row["id"]: _parent_job(row) for row in rows}

    async def create(
        self, tenant_id: int, specs: Sequence[JobSpec], authors: Sequence[Author | None] = ()
    ) -> list[Made]:
        return await retry_on_conflict(lambda: self._create(tenant_id, specs, authors))

    async def _create(
        self, tenant_id: int, specs: Sequence[JobSpec], authors: Sequence[Author | None]
    ) -> list[Made]:
        async with self._database.transaction() as connection:
            members = RuleMembership(connection, tenant_id)
            dependencies = JobDependencies(connection, tenant_id)
            existing = await self._with_keys("jobs_by_key", connection, tenant_id, specs)
            _check_if_exists(specs, existing)
            _check_secrets(specs, existing)
            ids = await self._ids(connection, specs, existing)
            author_of = dict(zip(ids, authors, strict=False))
            specs = [_resolved(spec, ids) for spec in specs]
            new = {
                job: spec for job, spec in zip(ids, specs, strict=True) if spec.request.key not in existing
            }
            replaced = {
                job: spec for job, spec in zip(ids, specs, strict=True) if _is_replaced(spec, existing)
            }
            if any(spec.parents for spec in replaced.values()):
                await dependencies.lock_all()
            parents = existing_parents({**new, **replaced}, ids, new)
            parent_rules = await dependencies.rules_of_jobs(parents)
            left = [existing[spec.request.key]["rule_id"] for spec in replaced.values()]
            rules = await members.lock([*new.values(), *replaced.values()], [*left, *parent_rules])
            await dependencies.mark_as_parents(parents, parent_rules)
            rows = await self._with_keys("lock_jobs_by_key", connection, tenant_id, [*replaced.values()])
            now, horizon = await members.now(), self._horizon()
            made = iter(
                await insert_jobs(
                    connection, tenant_id, new, rules, now, horizon, parents_within(specs, ids), author_of
                )
            )
            await note_unchecked(connection, tenant_id, new)
            await note_unchecked(connection, tenant_id, replaced)
            await dependencies.create(new, ids)
            await write_events(connection, created_events(tenant_id, list(new), author_of))
            change = JobUpdate(connection, tenant_id, rules, now, horizon)
            for job, spec in replaced.items():
                await change.replace(rows.get(spec.request.key), spec, ids, author_of.get(job))
            await dependencies.refuse_cycles([job for job, spec in replaced.items() if spec.parents])
        return [
            Made(existing[spec.request.key]["id"]) if spec.request.key in existing else next(made)
            for spec in specs
        ]

    async def _ids(
        self, connection: Connection, specs: Sequence[JobSpec], existing: dict[str | None, asyncpg.Record]
    ) -> list[int]:
        """The id of each job: of an existing one, or a new id."""
        count = sum(spec.request.key not in existing for spec in specs)
        fresh = iter(await connection.fetch(self._sql["new_job_ids"], count))
        return [
            existing[spec.request.key]["id"] if spec.request.key in existing else next(fresh)["id"]
            for spec in specs
        ]

    async def _with_keys(
        self, query: str, connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
    ) -> dict[str | None, asyncpg.Record]:
        keys = [spec.request.key for spec in specs if spec.request.key is not None]
        rows = await connection.fetch(self._sql[query], tenant_id, keys) if keys else []
        return {row["key"]: row for row in rows}

    async def definition(self, tenant_id: int, job: int) -> Definition:
        row = await self._database.fetchrow(self._sql["definition"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        document = msgspec.json.decode(row["definition"])
        return Definition(document | {"payload": msgspec.json.decode(row["payload"])}, row["version"])

    async def change(
        self, tenant_id: int, job: int, spec: JobSpec, version: int, author: Author | None = None
    ) -> None:
        await retry_on_conflict(lambda: self._change(tenant_id, job, spec, version, author))

    async def _change(
        self, tenant_id: int, job: int, spec: JobSpec, version: int, author: Author | None
    ) -> None:
        async with self._database.transaction() as connection:
            members = RuleMembership(connection, tenant_id)
            dependencies = JobDependencies(connection, tenant_id)
            spec = _resolved(spec, ())
            parents = existing_parents({job: spec}, (), ())
            if parents:
                await dependencies.lock_all()
            parent_rules = await dependencies.rules_of_jobs(parents)
            rules = await members.lock([spec], [await members.rule_of(job), *parent_rules])
            await dependencies.mark_as_parents(parents, parent_rules)
            row = await self._lock_job(connection, tenant_id, job)
            _check_version(row, version)
            _check_not_cancelled(row)
            for holder in (await self._with_keys("jobs_by_key", connection, tenant_id, [spec])).values():
                if holder["id"] != job:
                    raise Conflict(f"job {job_id(holder['id'])} has the key {holder['key']!r} already")
            change = JobUpdate(connection, tenant_id, rules, await members.now(), self._horizon())
            await change.edit(row, spec, author)
            await note_unchecked(connection, tenant_id, {job: spec})

    async def set_status(
        self,
        tenant_id: int,
        job: int,
        status: JobStatus,
        version: int | None = None,
        author: Author | None = None,
        running: RunningChoice = "leave",
    ) -> None:
        await retry_on_conflict(lambda: self._set_status(tenant_id, job, status, version, author, running))

    async def _set_status(
        self,
        tenant_id: int,
        job: int,
        status: JobStatus,
        version: int | None,
        author: Author | None,
        running: RunningChoice,
    ) -> None:
        async with self._database.transaction() as connection:
            members = RuleMembership(connection, tenant_id)
            rules = await members.lock([], [await members.rule_of(job)])
            row = await self._lock_job(connection, tenant_id, job)
            rule = rules.get(row["rule_id"])
            _check_version(row, version)
            change = JobStatusChange(connection, members, tenant_id, row, rule, await members.now())
            if row["status"] != status:
                _check_not_cancelled(row)
                await change.become(status, author)
            if running == "cancel":
                await change.stop_running()

    async def _lock_job(self, connection: Connection, tenant_id: int, job: int) -> asyncpg.Record:
        row = await connection.fetchrow(self._sql["lock_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        return row


def _parent_job(row: asyncpg.Record) -> ParentJob:
    return ParentJob(
        row["id"], JobStatus(row["status"]), row["timing"], row["catch_up"], is_known=bool(row["is_known"])
    )


def _check_if_exists(specs: Sequence[JobSpec], existing: dict[str | None, asyncpg.Record]) -> None:
    for spec in specs:
        if spec.request.key in existing and spec.request.if_exists == "error":
            job = job_id(existing[spec.request.key]["id"])
            raise Conflict(
                f"job {job} has the key {spec.request.key!r} already; "
                "to use it, set if_exists to keep or replace"
            )


def _check_secrets(specs: Sequence[JobSpec], existing: dict[str | None, asyncpg.Record]) -> None:
    """Redaction marks stand for stored secrets, and a new job has none."""
    for place, spec in enumerate(specs):
        if spec.target and spec.request.key not in existing:
            errors = [error.at(place, len(specs)) for error in secret_mark_errors(spec.request)]
            if errors:
                raise Invalid(errors)


def _resolved(spec: JobSpec, ids: Sequence[int]) -> JobSpec:
    """With the ids of its parents in its definition."""
    if not spec.parents:
        return spec
    request = with_resolved_dependencies(
        msgspec.structs.replace(spec.request, payload=msgspec.UNSET), parents_of(spec, ids)
    )
    return msgspec.structs.replace(
        spec,
        definition=msgspec.json.encode(request),
        request=msgspec.structs.replace(spec.request, depends_on=request.depends_on),
    )


def _is_replaced(spec: JobSpec, existing: dict[str | None, asyncpg.Record]) -> bool:
    return spec.request.key in existing and spec.request.if_exists == "replace"


def _check_version(row: asyncpg.Record, version: int | None) -> None:
    if version is not None and row["version"] != version:
        raise Stale(
            f"job {job_id(row['id'])} was changed meanwhile: its version is {row['version']}, not {version}"
        )


def _check_not_cancelled(row: asyncpg.Record) -> None:
    if row["status"] == JobStatus.CANCELLED:
        raise Conflict(f"job {job_id(row['id'])} is cancelled: create a new one")
