"""Jobs: made, changed, held, ended. Everything the API, the clients and the workers' declared jobs go through."""

import builtins
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tickwork.define.compile import ParseSchedule, compile_job
from tickwork.define.payload import payload_errors, unknown_task
from tickwork.model.errors import FieldError, Invalid, Stale
from tickwork.model.execution import ExecutionView
from tickwork.model.ids import job_id
from tickwork.model.job import HTTP_TASK, JobFilter, JobRequest, JobSpec, JobStatus, JobView
from tickwork.model.page import Page
from tickwork.model.schedule import Schedule
from tickwork.store.port import DefineStore, ReadStore


class Jobs:
    def __init__(
        self,
        store: DefineStore,
        read: ReadStore,
        parse_schedule: ParseSchedule,
        work_arrived: Callable[[], None],
    ) -> None:
        self._store = store
        self._read = read
        self._parse_schedule = parse_schedule
        self._work_arrived = work_arrived

    async def create(self, tenant_id: int, requests: Sequence[JobRequest]) -> builtins.list[JobView]:
        """All or none. Invalid names every bad field of every job."""
        specs = await self._compile(tenant_id, requests)
        jobs = await self._store.create(tenant_id, specs)
        self._work_arrived()
        return await self._read.jobs_by_id(tenant_id, jobs)

    async def get(self, tenant_id: int, job: int) -> JobView:
        return (await self._read.jobs_by_id(tenant_id, [job]))[0]

    async def list(
        self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None = None
    ) -> Page[JobView]:
        return await self._read.jobs(tenant_id, wanted, limit, cursor)

    async def patch(
        self, tenant_id: int, job: int, patch: dict[str, Any], if_match: int | None = None
    ) -> JobView:
        """A JSON merge patch over the job as it was defined."""
        current = await self._store.definition(tenant_id, job)
        _check_version(job, current.version, if_match)
        merged = _merge(current.document, patch)
        request = msgspec.convert(merged, JobRequest)
        (spec,) = await self._compile(tenant_id, [request])
        await self._store.change(tenant_id, job, spec, current.version)
        self._work_arrived()
        return await self.get(tenant_id, job)

    async def pause(self, tenant_id: int, job: int) -> JobView:
        await self._store.set_status(tenant_id, job, JobStatus.PAUSED)
        return await self.get(tenant_id, job)

    async def resume(self, tenant_id: int, job: int) -> JobView:
        await self._store.set_status(tenant_id, job, JobStatus.ACTIVE)
        self._work_arrived()
        return await self.get(tenant_id, job)

    async def cancel(self, tenant_id: int, job: int, if_match: int | None = None) -> JobView:
        """No further executions. One that runs goes on; it can be cancelled by itself."""
        if if_match is not None:
            _check_version(job, (await self._store.definition(tenant_id, job)).version, if_match)
        await self._store.set_status(tenant_id, job, JobStatus.CANCELLED)
        return await self.get(tenant_id, job)

    async def run(self, tenant_id: int, job: int) -> ExecutionView:
        """One more execution, due now, besides the schedule."""
        scheduled_for = await self._store.run_now(tenant_id, job)
        self._work_arrived()
        return await self._read.execution(tenant_id, job, scheduled_for)

    async def _compile(self, tenant_id: int, requests: Sequence[JobRequest]) -> builtins.list[JobSpec]:
        now = await self._read.now()
        schemas = await self._store.find_tasks(tenant_id, {each.task for each in requests if each.task})
        errors: builtins.list[FieldError] = []
        specs: builtins.list[JobSpec] = []
        parse_schedule = _remembering(self._parse_schedule) if len(requests) > 1 else self._parse_schedule
        for number, request in enumerate(requests):
            prefix = f"[{number}]." if len(requests) > 1 else ""
            try:
                specs.append(await self._compile_one(tenant_id, request, schemas, parse_schedule, now))
            except Invalid as invalid:
                errors.extend(error._replace(path=prefix + error.path) for error in invalid.errors)
        errors.extend(_repeated_keys(requests))
        if errors:
            raise Invalid(errors)
        return specs

    async def _compile_one(
        self,
        tenant_id: int,
        request: JobRequest,
        schemas: dict[str, str],
        parse_schedule: ParseSchedule,
        now: datetime,
    ) -> JobSpec:
        errors: builtins.list[FieldError] = []
        try:
            spec = compile_job(request, parse_schedule, now)
        except Invalid as invalid:
            errors.extend(invalid.errors)
        if request.task and request.task != HTTP_TASK:
            errors.extend(await self._errors_of_task(tenant_id, request, schemas))
        if errors:
            raise Invalid(errors)
        return spec

    async def _errors_of_task(
        self, tenant_id: int, request: JobRequest, schemas: dict[str, str]
    ) -> builtins.list[FieldError]:
        assert request.task is not None  # noqa: S101 (only asked for tasks)
        schema = schemas.get(request.task)
        if schema is None:
            return [unknown_task(request.task, await self._store.task_names(tenant_id))]
        payload = b"{}" if request.payload is msgspec.UNSET else msgspec.json.encode(request.payload)
        return payload_errors(payload, schema)


def _remembering(parse_schedule: ParseSchedule) -> ParseSchedule:
    """Many jobs of one request say the same thing. Only H, which spreads by the seed, makes a difference."""
    known: dict[tuple[bytes, str | None, str], Schedule] = {}

    def parse(
        schedule: str | dict[str, Any] | None, timezone: str | None, *, now: datetime, seed: str
    ) -> Schedule:
        text = msgspec.json.encode(schedule)
        key = (text, timezone, seed if b"H" in text else "")
        if key not in known:
            known[key] = parse_schedule(schedule, timezone, now=now, seed=seed)
        return known[key]

    return parse


def _check_version(job: int, version: int, if_match: int | None) -> None:
    if if_match is not None and if_match != version:
        raise Stale(f"job {job_id(job)} was changed meanwhile: it is at version {version}, not {if_match}")


def _repeated_keys(requests: Sequence[JobRequest]) -> builtins.list[FieldError]:
    seen: set[str] = set()
    errors = []
    for number, request in enumerate(requests):
        if request.key is not None and request.key in seen:
            errors.append(FieldError(f"[{number}].key", f"{request.key!r} stands twice in this request"))
        seen.add(request.key or "")
    return errors


def _merge(document: Any, patch: Any) -> Any:
    """RFC 7396: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged
