"""Creates, changes, pauses, resumes and cancels jobs, for the API and for the jobs that workers declare."""

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Any

import msgspec

from tickwork.define.check_task_and_payload import KnownTasks, keys_of_retired
from tickwork.define.compile_job import Compiler
from tickwork.define.dependencies import Dependencies, named_jobs, named_keys
from tickwork.define.group_commit import GroupCommit
from tickwork.define.job_health import JobHealth
from tickwork.define.patch_job import patched, schedule_to_patch, with_defaults
from tickwork.model.access import NOBODY, Author, Requester
from tickwork.model.current_span_and_job_origin import origin_of
from tickwork.model.errors import Conflict, FieldError, Invalid, NotFound, Stale
from tickwork.model.event_after_commit import FanOutDefined, JobChanged, JobsCreated, Publish, WorkArrived
from tickwork.model.explain_type_errors import MOST_ERRORS
from tickwork.model.field_types import Page
from tickwork.model.job import (
    CreatedJob,
    JobRequest,
    JobSpec,
    JobStatus,
    JobView,
    RunningChoice,
    for_each_of,
    job_view,
)
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_filter import JobCountKind, JobFilter, JobPage
from tickwork.model.job_graph import JobGraph
from tickwork.model.notification_rule import unknown_channels
from tickwork.model.parsed_schedule_and_preview import Once, Recurring, describe_once
from tickwork.model.public_ids import KEY_PREFIX, execution_id, is_job_key, job_id
from tickwork.store.port.define import JobStore, Made
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
        self,
        tenant_id: int,
        requests: Sequence[JobRequest],
        requester: Requester = NOBODY,
        *,
        refuses_retired: bool = True,
    ) -> builtins.list[CreatedJob]:
        """Create all of these jobs or none. Returns only what is known without reading the new jobs again."""
        _, made = await self._make(tenant_id, requests, [requester] * len(requests), refuses_retired)
        old = [each.job for each in made if not each.is_new]
        read = iter(await self._read.jobs_by_id(tenant_id, old) if old else [])
        return [
            _created_new(each, request) if each.is_new else _created_before(next(read), request)
            for each, request in zip(made, requests, strict=True)
        ]

    async def _make(
        self,
        tenant_id: int,
        requests: Sequence[JobRequest],
        requesters: Sequence[Requester],
        refuses_retired: bool = True,
    ) -> tuple[builtins.list[JobSpec], builtins.list[Made]]:
        specs = await self._compile(tenant_id, requests, refuses_retired=refuses_retired)
        traceparents = [each.traceparent for each in requesters]
        if any(traceparents):
            specs = [*map(_with_origin, specs, traceparents)]
        made = await self._store.create(tenant_id, specs, [each.author for each in requesters])
        self._publish(JobsCreated([each.job for each in made]))
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
        document = with_defaults(current.document)
        if isinstance(patch.get("schedule"), dict):
            shown = (await self.get(tenant_id, job)).schedule
            schedule = schedule_to_patch(shown, patch["schedule"])
            document = {**document, "schedule": schedule, "timezone": None}
        # A channel that is gone by now is no reason to refuse a patch of something else.
        (spec,) = await self._compile(
            tenant_id,
            [patched(document, patch)],
            itself=job,
            checks_channels="notify" in patch,
            refuses_retired="task" in patch,
        )
        spec = _with_origin(spec, requester.traceparent)
        version = current.version if if_match is None else if_match
        await self._store.change(tenant_id, job, spec, version, requester.author)

    async def check_again(self, tenant_id: int, job: int) -> None:
        """Check a job whose task was unknown, and let it run. It gets the defaults of the task. Raises Invalid."""
        current = await self._store.definition(tenant_id, job)
        request = msgspec.convert(current.document, JobRequest)
        (spec,) = await self._compile(
            tenant_id, [request], itself=job, checks_channels=False, refuses_retired=False
        )
        await self._store.change(tenant_id, job, spec, current.version)
        self._publish(JobChanged(tenant_id, job))

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
        self,
        tenant_id: int,
        job: int,
        if_match: int | None = None,
        author: Author | None = None,
        running: RunningChoice = "leave",
    ) -> JobView:
        """Create no more executions, and cancel those that wait. What runs continues, or is cancelled, too: all in one
        transaction. Workers are then told to stop it."""
        await self._store.set_status(tenant_id, job, JobStatus.CANCELLED, if_match, author, running=running)
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
        refuses_retired: bool = True,
    ) -> builtins.list[JobSpec]:
        now = await self._read.now()
        tasks = await self._known_tasks(tenant_id, requests, refuses_retired)
        compiler = Compiler(now)
        errors = builtins.list(islice(_repeated_keys(requests), MOST_ERRORS))
        specs: builtins.list[JobSpec] = []
        started = monotonic()
        for number, request in enumerate(requests):
            if monotonic() - started > _YIELD_AFTER:
                await asyncio.sleep(0)
                started = monotonic()
            try:
                specs.append(tasks.compile(request, compiler))
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
        if any(map(for_each_of, requests)):
            self._publish(FanOutDefined())
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

    async def _known_tasks(
        self, tenant_id: int, requests: Sequence[JobRequest], refuses_retired: bool
    ) -> KnownTasks:
        wanted = {each.task for each in requests if each.task}
        found = await self._store.find_tasks(tenant_id, wanted)
        names = [] if wanted <= found.keys() else await self._store.task_names(tenant_id)
        keys = keys_of_retired(requests, found) if refuses_retired else set()
        existing = await self._store.find_keys(tenant_id, keys) if keys else {}
        return KnownTasks(found, names, refuses_retired, existing.keys())


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


def _repeated_keys(requests: Sequence[JobRequest]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, request in enumerate(requests):
        if request.key is not None and request.key in seen:
            yield FieldError(f"[{number}].key", f"{request.key!r} appears twice in this request")
        seen.add(request.key or "")
