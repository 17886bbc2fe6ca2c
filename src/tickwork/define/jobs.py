"""Creates, changes, pauses, resumes and cancels jobs, for the API and for the jobs that workers declare."""

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from tickwork.define.compile_job import Compiler, payload_errors, unknown_task
from tickwork.define.dependencies import Dependencies, named_jobs, named_keys
from tickwork.define.group_commit import GroupCommit
from tickwork.define.job_health import JobHealth
from tickwork.model.access import NOBODY, Author, Requester
from tickwork.model.current_span_and_job_origin import origin_of
from tickwork.model.errors import Conflict, FieldError, Invalid, NotFound, Stale
from tickwork.model.event_after_commit import JobChanged, Publish, WorkArrived
from tickwork.model.explain_type_errors import MOST_ERRORS
from tickwork.model.field_types import Page
from tickwork.model.http_secrets import with_stored_secrets
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import (
    BUILT_IN,
    CreatedJob,
    JobRequest,
    JobSpec,
    JobStatus,
    JobView,
    for_each_of,
    job_view,
)
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_filter import JobCountKind, JobFilter, JobPage
from tickwork.model.job_graph import JobGraph
from tickwork.model.notification_rule import unknown_channels
from tickwork.model.parsed_schedule_and_preview import KINDS, Once, Recurring, describe_once
from tickwork.model.public_ids import KEY_PREFIX, execution_id, is_job_key, job_id
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.task import BUILT_IN_TASKS, NO_DEFAULTS, TaskDefaults
from tickwork.store.port.define import JobStore, KnownTask, Made
from tickwork.store.port.read_jobs_executions_workers import JobSearch, ReadStore

_MAX_TRIES = 50  # of a change that conflicts with other changes
_YIELD_AFTER = 0.02  # seconds that compiling a long request may block the event loop


class Jobs:
    def __init__(
        self,
        store: JobStore,
        read: ReadStore,
        search: JobSearch,
        health: JobHealth,
        publish: Publish,
        until_stopped: Callable[[int, int], Awaitable[None]],
    ) -> None:
        self._store = store
        self._read = read
        self._search = search
        self._health = health
        self._publish = publish
        self._until_stopped = until_stopped
        self._group_commit = GroupCommit(self.create)

    async def create(
        self, tenant_id: int, requests: Sequence[JobRequest], requesters: Sequence[Requester] = ()
    ) -> builtins.list[JobView]:
        """Create all of these jobs or none. Raises Invalid, which names every bad field of every job.

        `requesters`: none or one for each job."""
        specs, made = await self._make(tenant_id, requests, requesters)
        views = [_view(spec, each) for spec, each in zip(specs, made, strict=True)]
        unknown = [each.job for each, view in zip(made, views, strict=True) if view is None]
        read = iter(await self._read.jobs_by_id(tenant_id, unknown) if unknown else [])
        return [view or next(read) for view in views]

    async def create_one(self, tenant_id: int, request: JobRequest, requester: Requester = NOBODY) -> JobView:
        """Create a job in its own transaction, or in the open one if there is one."""
        return (await self.create(tenant_id, [request], [requester]))[0]

    async def create_grouped(
        self, tenant_id: int, request: JobRequest, requester: Requester = NOBODY
    ) -> JobView:
        """Create a job in one commit with concurrent requests. Must not be called inside a transaction. A job with a
        ref or dependencies is created alone: in a group it would find the refs of other requests."""
        if request.depends_on or request.ref:
            return await self.create_one(tenant_id, request, requester)
        return await self._group_commit.create(tenant_id, request, requester)

    async def create_many(
        self, tenant_id: int, requests: Sequence[JobRequest], requester: Requester = NOBODY
    ) -> builtins.list[CreatedJob]:
        """Create all of these jobs or none. Returns only what is known without reading the new jobs again."""
        _, made = await self._make(tenant_id, requests, [requester] * len(requests))
        old = [each.job for each in made if not each.is_new]
        read = iter(await self._read.jobs_by_id(tenant_id, old) if old else [])
        return [
            _created_new(each, request) if each.is_new else _created_before(next(read), request)
            for each, request in zip(made, requests, strict=True)
        ]

    async def _make(
        self, tenant_id: int, requests: Sequence[JobRequest], requesters: Sequence[Requester]
    ) -> tuple[builtins.list[JobSpec], builtins.list[Made]]:
        specs = await self._compile(tenant_id, requests)
        traceparents = [each.traceparent for each in requesters]
        if any(traceparents):
            specs = [*map(_with_origin, specs, traceparents)]
        made = await self._store.create(tenant_id, specs, [each.author for each in requesters])
        if any(map(_is_due_now, specs)):
            self._publish(WorkArrived(tenant_id))
        return specs, made

    async def get(self, tenant_id: int, job: int) -> JobView:
        return await self._health.job(tenant_id, job)

    async def find(self, tenant_id: int, key: str) -> int:
        """The job that has this key. Cancelled jobs have none."""
        found = await self._store.find_keys(tenant_id, {key}) if is_job_key(key) else {}
        if key not in found:
            raise NotFound("job", f"{KEY_PREFIX}{key}")
        return found[key]

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        """The jobs that are connected with this one by dependencies."""
        return await self._read.graph(tenant_id, job, limit)

    async def changes(self, tenant_id: int, job: int, limit: int, cursor: str | None) -> Page[JobChange]:
        """Who changed what of a job, latest first, as far as the history goes back."""
        return await self._read.changes(tenant_id, job, limit, cursor)

    async def list(
        self,
        tenant_id: int,
        wanted: JobFilter,
        limit: int,
        cursor: str | None = None,
        count: JobCountKind | None = None,
    ) -> JobPage:
        page = await self._search.page(tenant_id, wanted, limit, cursor)
        if count is None:
            return page
        return msgspec.structs.replace(page, count=await self._search.count(tenant_id, wanted, count))

    async def patch(
        self,
        tenant_id: int,
        job: int,
        patch: dict[str, Any],
        if_match: int | None = None,
        requester: Requester = NOBODY,
    ) -> JobView:
        """Apply a JSON merge patch (RFC 7396) to the definition of the job."""
        for _ in range(_MAX_TRIES):
            try:
                await self._patch(tenant_id, job, patch, if_match, requester)
            except Stale:
                if if_match is not None:
                    raise
            else:
                self._publish(JobChanged(tenant_id, job))
                await self._until_stopped(tenant_id, job)
                return await self.get(tenant_id, job)
        raise Conflict(f"other requests keep changing job {job_id(job)}: try again")

    async def _patch(
        self, tenant_id: int, job: int, patch: dict[str, Any], if_match: int | None, requester: Requester
    ) -> None:
        current = await self._store.definition(tenant_id, job)
        document = _with_defaults(current.document)
        if isinstance(patch.get("schedule"), dict):
            shown = (await self.get(tenant_id, job)).schedule
            schedule = _schedule_to_patch(shown, patch["schedule"])
            document = {**document, "schedule": schedule, "timezone": None}
        # A channel that is gone by now is no reason to refuse a patch of something else.
        (spec,) = await self._compile(
            tenant_id, [_patched(document, patch)], itself=job, checks_channels="notify" in patch
        )
        spec = _with_origin(spec, requester.traceparent)
        version = current.version if if_match is None else if_match
        await self._store.change(tenant_id, job, spec, version, requester.author)

    async def pause(self, tenant_id: int, job: int, author: Author | None = None) -> JobView:
        """After this returns, no attempt starts, not even one that a worker received ahead of its due time."""
        await self._store.set_status(tenant_id, job, JobStatus.PAUSED, author=author)
        self._publish(JobChanged(tenant_id, job))
        await self._until_stopped(tenant_id, job)
        return await self.get(tenant_id, job)

    async def resume(self, tenant_id: int, job: int, author: Author | None = None) -> JobView:
        await self._store.set_status(tenant_id, job, JobStatus.ACTIVE, author=author)
        self._publish(JobChanged(tenant_id, job))
        return await self.get(tenant_id, job)

    async def cancel(
        self, tenant_id: int, job: int, if_match: int | None = None, author: Author | None = None
    ) -> JobView:
        """Create no more executions. A running one continues; cancel it separately."""
        await self._store.set_status(tenant_id, job, JobStatus.CANCELLED, if_match, author)
        self._publish(JobChanged(tenant_id, job))
        await self._until_stopped(tenant_id, job)
        return await self.get(tenant_id, job)

    async def _compile(
        self,
        tenant_id: int,
        requests: Sequence[JobRequest],
        itself: int | None = None,
        *,
        checks_channels: bool = True,
    ) -> builtins.list[JobSpec]:
        now = await self._read.now()
        tasks = await self._known_tasks(tenant_id, {each.task for each in requests if each.task})
        compiler = Compiler(now)
        errors = builtins.list(islice(_repeated_keys(requests), MOST_ERRORS))
        specs: builtins.list[JobSpec] = []
        started = monotonic()
        for number, request in enumerate(requests):
            if monotonic() - started > _YIELD_AFTER:
                await asyncio.sleep(0)
                started = monotonic()
            try:
                specs.append(_compile_one(request, tasks, compiler))
            except Invalid as invalid:
                errors.extend(error.at(number, len(requests)) for error in invalid.errors)
            if len(errors) >= MOST_ERRORS:
                break
        if checks_channels:
            errors.extend(await self._unknown_channels(tenant_id, requests))
        if not errors:
            specs = await self._linked(tenant_id, requests, specs, itself, errors)
        if errors:
            raise Invalid(errors[:MOST_ERRORS])
        return specs

    async def _linked(
        self,
        tenant_id: int,
        requests: Sequence[JobRequest],
        specs: builtins.list[JobSpec],
        itself: int | None,
        errors: builtins.list[FieldError],
    ) -> builtins.list[JobSpec]:
        if not any(request.depends_on or request.ref for request in requests):
            return specs
        keys = await self._store.find_keys(tenant_id, named_keys(requests))
        known = await self._store.find_parents(tenant_id, named_jobs(requests) | set(keys.values()))
        dependencies = Dependencies(requests, keys, known, itself=itself)
        linked = dependencies.link(specs)
        errors.extend(error.at(place, len(requests)) for place, error in dependencies.faults)
        return linked

    async def _unknown_channels(
        self, tenant_id: int, requests: Sequence[JobRequest]
    ) -> builtins.list[FieldError]:
        if not any(request.notify for request in requests):
            return []
        known = await self._store.channel_names(tenant_id)
        return [
            error.at(number, len(requests))
            for number, request in enumerate(requests)
            for place, entry in enumerate(request.notify)
            for error in unknown_channels(f"notify[{place}].to", entry.to, known)
        ]

    async def _known_tasks(self, tenant_id: int, wanted: set[str]) -> "_KnownTasks":
        found = await self._store.find_tasks(tenant_id, wanted)
        all_found = wanted <= found.keys()
        return _KnownTasks(found, [] if all_found else await self._store.task_names(tenant_id))


class _KnownTasks(NamedTuple):
    by_name: dict[str, KnownTask]
    names: list[str]  # for suggestions; read only when a task is unknown

    def defaults(self, task: str | None) -> TaskDefaults:
        known = self.by_name.get(task or "")
        return known.defaults if known else NO_DEFAULTS


def _is_due_now(spec: JobSpec) -> bool:
    return isinstance(spec.schedule, Once) and spec.schedule.at is None


def _with_origin(spec: JobSpec, traceparent: str | None) -> JobSpec:
    if traceparent is None:
        return spec
    return msgspec.structs.replace(spec, trace_origin=origin_of(spec.schedule, traceparent).text())


def _view(spec: JobSpec, made: Made) -> JobView | None:
    """The view of a new job. None if it must be read: the job existed before, or has parents, whose ids are new."""
    if made.created_at is None or spec.parents:
        return None
    if isinstance(spec.schedule, Recurring):
        schedule, words = spec.schedule.timing.canonical, spec.schedule.timing.words
    else:
        schedule, words = describe_once(made.scheduled_for or made.created_at)
    return job_view(
        spec.request,
        spec.payload,
        number=made.job,
        status=JobStatus.ACTIVE,
        schedule=schedule,
        words=words,
        next_run_at=made.next_run_at,
        once_at=made.scheduled_for,
        version=1,
        created_at=made.created_at,
        updated_at=made.created_at,
    )


def _created_before(view: JobView, request: JobRequest) -> CreatedJob:
    return CreatedJob(view.id, request.key, view.next_run_at, view.execution_id)


def _created_new(made: Made, request: JobRequest) -> CreatedJob:
    execution = execution_id(made.job, made.scheduled_for) if made.scheduled_for else None
    return CreatedJob(job_id(made.job), request.key, made.next_run_at, execution)


def _compile_one(request: JobRequest, tasks: _KnownTasks, compiler: Compiler) -> JobSpec:
    errors: list[FieldError] = []
    try:
        spec = compiler.compile(request, tasks.defaults(request.task))
    except Invalid as invalid:
        errors.extend(invalid.errors)
    if request.task and request.task not in BUILT_IN_TASKS:
        errors.extend(_task_errors(request, tasks))
    if errors:
        raise Invalid(errors)
    return spec


def _task_errors(request: JobRequest, tasks: _KnownTasks) -> list[FieldError]:
    known = tasks.by_name.get(request.task or "")
    if known is None:
        return [unknown_task(request.task or "", tasks.names)]
    if for_each_of(request):
        return []  # the payload lacks the element: that of each element is checked when the list is known
    return payload_errors({} if request.payload is msgspec.UNSET else request.payload, known.schema)


def _repeated_keys(requests: Sequence[JobRequest]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, request in enumerate(requests):
        if request.key is not None and request.key in seen:
            yield FieldError(f"[{number}].key", f"{request.key!r} appears twice in this request")
        seen.add(request.key or "")


def _with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """Adds Tickwork's own defaults, so that the task's defaults apply only to fields that the patch removes."""
    retry = msgspec.to_builtins(RetryPolicy()) | document.get("retry", {})
    return BUILT_IN | document | {"retry": retry}


def _schedule_to_patch(shown: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A patch applies to the schedule as it is shown, in whatever notation it was written. A schedule has only one
    kind, so a patch that names a kind replaces the current one."""
    names_kind = any(patch.get(kind) is not None for kind in KINDS)
    return {name: value for name, value in shown.items() if not (names_kind and name in KINDS)}


def _patched(document: dict[str, Any], patch: dict[str, Any]) -> JobRequest:
    if patch.get("ref") is not None:
        raise Invalid.field("ref", "names a job only in the batch that it is created in")
    merged = _merge(document, patch)
    if merged.get("http") and "url" not in merged["http"]:
        # The patch was validated field by field, so only this can be missing.
        raise Invalid.field("http.url", "is required")
    return _with_stored_secrets(msgspec.convert(merged, JobRequest), document, patch)


def _with_stored_secrets(request: JobRequest, document: dict[str, Any], patch: dict[str, Any]) -> JobRequest:
    """A patch may repeat what was shown, where a mark replaces each secret. Puts the stored secrets back."""
    if request.http is None or "http" not in patch:
        return request
    stored = msgspec.convert(document["http"], HttpTarget) if document.get("http") else None
    given = (patch["http"].get("headers") or {}) if patch["http"] else {}
    return msgspec.structs.replace(request, http=with_stored_secrets(request.http, stored, given))


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
