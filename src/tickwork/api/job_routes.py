"""/jobs: create, list, show, edit, pause, resume, cancel and run jobs."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tickwork.api.auth import require
from tickwork.api.create_job_trace_span import definition_span
from tickwork.api.openapi import patch_of
from tickwork.api.problem import CONFLICT, QUEUE_FULL, STALE
from tickwork.api.reply import JSON, Headers, Reply, json_reply
from tickwork.api.request_query import PageQuery, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.api.wait_for_execution import WaitQuery, check_wait, with_ended_execution, with_execution
from tickwork.model.access import Scope
from tickwork.model.encode_job_target import task_of
from tickwork.model.errors import Invalid
from tickwork.model.execution import ExecutionView
from tickwork.model.field_types import Instant, Page, QueueName
from tickwork.model.job import JobRequest, JobStatus, JobView, Priority, RunningChoice, RunRequest
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_filter import JobCountKind, JobFilter, JobPage, Sort, filter_errors
from tickwork.model.job_graph import JobGraph
from tickwork.model.job_health import Health, JobHealthView
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.model.purge_progress import PurgeView

JobPatch = patch_of(JobRequest, "JobPatch")
MERGE_PATCH = "application/merge-patch+json"

_EXAMPLE = {
    "name": "weekly report",
    "key": "weekly-report",
    "task": "reports.weekly",
    "payload": {"to": "ann@example.com"},
    "schedule": "0 9 * * MON",
    "timezone": "Europe/Paris",
}


_MOST_RECENT = 100  # runs of each job
_MOST_WITH_RUNS = 100  # jobs of a page that shows runs


class JobQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: JobStatus | None = None
    health: Health | None = None
    task: Annotated[Text, Meta(description="a task, or all under a prefix: reports.*")] | None = None
    queue: QueueName | None = None
    priority: Priority | None = None
    tag: Text | Annotated[tuple[Text, ...], Meta(max_length=10, description="jobs that have all")] | None = (
        None
    )
    owner: Text | None = None
    recurring: Annotated[Literal["true", "false"], Meta(description="false: due one time")] | bool | None = (
        None
    )
    q: Annotated[Text, Meta(description="words of name, key, task, tags and description")] | None = None
    key: Text | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None
    due_after: Annotated[Instant, Meta(description="runs next after this time")] | None = None
    due_before: Annotated[Instant, Meta(description="runs next before this time")] | None = None
    sort: Sort = "-created_at"
    count: Annotated[JobCountKind, Meta(description="also count the jobs that match")] | None = None
    recent: (
        Annotated[int, Meta(ge=1, le=_MOST_RECENT, description="show so many of the latest runs")] | None
    ) = None

    @property
    def filter(self) -> JobFilter:
        given = {name: getattr(self, name) for name in JobFilter._fields}
        recurring = None if self.recurring is None else self.recurring in ("true", True)
        tags = (self.tag,) if isinstance(self.tag, str) else self.tag or ()
        wanted = JobFilter(**{**given, "tag": tags, "recurring": recurring})
        if errors := list(filter_errors(wanted)):
            raise Invalid(errors)
        return wanted


async def create_job(call: Call[WaitQuery, JobRequest]) -> Reply:
    """Create a job.

    Without a schedule the job is due at once. The answer shows how the schedule was understood. `priority`, `queue`,
    `timeout` and the fields of `retry` default to what the task's workers announced, if they did. A task that no worker
    has offered and nobody has declared is an error, unless `unknown_task` is `wait`: then the executions wait for it,
    and the payload is checked when the task becomes known. If the job is due only once, `execution_id` names its
    execution. With `wait` the answer comes when that execution has ended or the
    wait is over, and shows it as `execution`; the job is created even if the answer is lost.
    """
    check_wait(call.query)
    jobs = call.node.jobs
    create = jobs.create_one if call.commits_with_answer else jobs.create_grouped
    with definition_span(call, "create", task_of(call.body)) as traceparent:
        job = await create(call.tenant_id, call.body, call.requester(traceparent))
    return json_reply(job, 201, {"location": f"/v1/jobs/{job.id}", **_etag(job)})


async def list_jobs(call: Call[JobQuery, None]) -> Reply:
    """List jobs, newest first.

    All filters must match. `q` finds jobs by words of their name, key, task, tags and description: all of them, in any
    order; of a word of letters, the first three or more are enough. `sort=next_run_at` lists only jobs that will run
    again, the soonest first. `sort=health` lists those that fail first, then those that are blocked, then those that
    are late. A page with fewer items than `limit` is the last one, unless the search took longer than ten seconds: then
    `next_cursor` continues. `count=exact` counts for two seconds at most and says `at least` if there are more;
    `count=estimate` answers sooner. With `recent`, each job has its latest runs as `recent_runs`; `limit` is then 100
    at most.
    """
    query = call.query
    if query.recent and query.limit > _MOST_WITH_RUNS:
        raise Invalid.field("limit", f"must be at most {_MOST_WITH_RUNS} with recent")
    page = await call.node.jobs.list(call.tenant_id, query.filter, query.limit, query.cursor, query.count)
    if query.recent:
        items = await call.node.job_health.with_recent_runs(call.tenant_id, page.items, query.recent)
        page = msgspec.structs.replace(page, items=items)
    return json_reply(page)


async def get_job(call: Call[NoQuery, None]) -> Reply:
    """Show a job."""
    return _job_reply(await call.node.jobs.get(call.tenant_id, await call.job()))


async def get_health(call: Call[NoQuery, None]) -> Reply:
    """Show how a job is doing: its last run, failures in a row, success share, durations and next runs.

    Share and durations are those of its latest 100 executions.
    """
    return json_reply(await call.node.job_health.get(call.tenant_id, await call.job()))


async def list_job_changes(call: Call[PageQuery, None]) -> Reply:
    """List who changed a job, when and what, latest first.

    Each change has the API key that made it, and of each field the old and the new value: secrets are replaced by
    marks, and long values are cut. The last one is its creation. Changes are kept as long as the history.
    """
    query, job = call.query, await call.job()
    return json_reply(await call.node.jobs.changes(call.tenant_id, job, query.limit, query.cursor))


class GraphQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=10_000, description="how many jobs, the nearest first")] = 1000


async def get_graph(call: Call[GraphQuery, None]) -> Reply:
    """Show the dependency graph around a job, with the state of each job in the latest round.

    Up to 1,000 jobs unless `limit` says otherwise, the nearest first.
    """
    return json_reply(await call.node.jobs.graph(call.tenant_id, await call.job(), call.query.limit))


async def edit_job(call: Call[NoQuery, msgspec.Struct]) -> Reply:
    """Change a job.

    The body is a JSON merge patch: only the given fields change, and null resets a field to its default. Send the
    job's ETag as If-Match to refuse the change if somebody else changed the job in between.
    """
    patch: dict[str, Any] = msgspec.to_builtins(call.body)
    job = await call.job()
    with definition_span(call, "edit", None, {"tickwork.job.id": job_id(job)}) as traceparent:
        edited = await call.node.jobs.patch(
            call.tenant_id, job, patch, call.if_match(), call.requester(traceparent)
        )
    return _job_reply(edited)


class CancelQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    running: Annotated[RunningChoice, Meta(description="cancel: what runs of the job is stopped, too")] = (
        "leave"
    )
    purge: Annotated[Literal["true"], Meta(description="delete the job and everything about it")] | None = (
        None
    )


async def cancel_job(call: Call[CancelQuery, None]) -> Reply:
    """Cancel a job, or delete it for good.

    A cancelled job has no further executions; those that wait are cancelled, a fan-out with its elements. What runs
    goes on, unless `running=cancel`: then it is cancelled in the same transaction, and its workers are told to stop
    it. The request can be repeated.

    With `purge=true` the job is deleted, too, with its executions, attempts, logs, dead letters, events and
    notifications. That needs the scope `admin`, and is refused while something of the job runs, unless
    `running=cancel`, or while other jobs depend on it. The answer is 200 when everything is gone, and 202 when the rest
    is deleted in the background: see GET /jobs/{id}/purge. The key of the job is free at once. Statistics keep their
    counts.
    """
    query, author = call.query, call.caller.author
    if query.purge is None:
        job = await call.job()
        cancelled = await call.node.jobs.cancel(call.tenant_id, job, call.if_match(), author, query.running)
        return _job_reply(cancelled)
    require(call.caller, Scope.ADMIN)
    job = await call.job()
    purge = await call.node.purges.purge(call.tenant_id, job, call.if_match(), author, query.running)
    location = {"location": f"/v1/jobs/{purge.job_id}/purge"}
    return json_reply(purge, 200 if purge.status == "completed" else 202, location)


async def get_purge(call: Call[NoQuery, None]) -> Reply:
    """Show how far the purge of a job has come.

    It is known for as long as the history is kept. The job is named by its id: its key is free.
    """
    return json_reply(await call.node.purges.progress(call.tenant_id, call.id(parse_job_id)))


async def pause_job(call: Call[NoQuery, None]) -> Reply:
    """Pause a job until it is resumed."""
    return _job_reply(await call.node.jobs.pause(call.tenant_id, await call.job(), call.caller.author))


async def resume_job(call: Call[NoQuery, None]) -> Reply:
    """Resume a paused job."""
    return _job_reply(await call.node.jobs.resume(call.tenant_id, await call.job(), call.caller.author))


async def run_job(call: Call[WaitQuery, RunRequest]) -> Reply:
    """Run a job now, whatever its schedule.

    It runs even if another execution of the job has not ended, unless `overlap` says otherwise. With `worker` it waits
    for the worker of that name, whatever others could run it. With `wait` the
    answer comes when the execution has ended or the wait is over.
    """
    check_wait(call.query)
    execution = await call.node.runs.run(
        call.tenant_id, await call.job(), call.body.overlap, call.body.worker
    )
    return json_reply(execution, 201, {"location": f"/v1/executions/{execution.id}"})


async def retry_job(call: Call[NoQuery, None]) -> Reply:
    """Run the latest dead letter of a job again."""
    return json_reply(await call.node.dead_letters.retry_job(call.tenant_id, await call.job()))


def _job_reply(job: JobView) -> Reply:
    return json_reply(job, headers=_etag(job))


def _etag(job: JobView) -> Headers:
    return {"etag": f'"{job.version}"'}


_CREATE = json_content(JobRequest, example=_EXAMPLE)
_PATCH = json_content(
    JobPatch, (MERGE_PATCH, JSON), example={"schedule": "every 5m", "retry": {"max_attempts": 2}}
)
_RUN = json_content(RunRequest, example={"overlap": "queue"}, default=RunRequest())
_VERSIONED = (CONFLICT, STALE)
_CREATING = (CONFLICT, QUEUE_FULL)

ROUTES = (
    Route(
        "POST",
        "/v1/jobs",
        create_job,
        Scope.WRITE,
        JobView,
        201,
        query=WaitQuery,
        body=_CREATE,
        problems=_CREATING,
        finish=with_execution,
    ),
    Route("GET", "/v1/jobs", list_jobs, Scope.READ, JobPage, query=JobQuery, may_be_stale=True),
    Route("GET", "/v1/jobs/{id}", get_job, Scope.READ, JobView),
    Route("GET", "/v1/jobs/{id}/changes", list_job_changes, Scope.READ, Page[JobChange], query=PageQuery),
    Route("GET", "/v1/jobs/{id}/health", get_health, Scope.READ, JobHealthView),
    Route("GET", "/v1/jobs/{id}/graph", get_graph, Scope.READ, JobGraph, query=GraphQuery),
    Route("PATCH", "/v1/jobs/{id}", edit_job, Scope.WRITE, JobView, body=_PATCH, problems=_VERSIONED),
    Route(
        "DELETE",
        "/v1/jobs/{id}",
        cancel_job,
        Scope.WRITE,
        JobView,
        query=CancelQuery,
        problems=_VERSIONED,
        also=((200, PurgeView), (202, PurgeView)),
    ),
    Route("GET", "/v1/jobs/{id}/purge", get_purge, Scope.READ, PurgeView),
    Route(
        "POST",
        "/v1/jobs/{id}/run",
        run_job,
        Scope.WRITE,
        ExecutionView,
        201,
        query=WaitQuery,
        body=_RUN,
        problems=_CREATING,
        finish=with_ended_execution,
    ),
    Route("POST", "/v1/jobs/{id}/retry", retry_job, Scope.WRITE, ExecutionView, problems=(CONFLICT,)),
    Route("POST", "/v1/jobs/{id}/pause", pause_job, Scope.WRITE, JobView, problems=(CONFLICT,)),
    Route("POST", "/v1/jobs/{id}/resume", resume_job, Scope.WRITE, JobView, problems=(CONFLICT,)),
)
