"""/jobs: create, list, show, edit, pause, resume, cancel and run jobs."""

from typing import Any

import msgspec

from tickwork.api.definition_span import definition_span
from tickwork.api.openapi_schemas import patch_of
from tickwork.api.problem import CONFLICT, QUEUE_FULL, STALE
from tickwork.api.reply import JSON, Headers, Reply, json_reply
from tickwork.api.request_query import PageQuery, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.api.wait_parameter import WaitQuery, check_wait, with_ended_execution, with_execution
from tickwork.model.access import Scope
from tickwork.model.execution import ExecutionView
from tickwork.model.field_types import Instant, Page, QueueName
from tickwork.model.ids import job_id
from tickwork.model.job import (
    HTTP_TASK,
    JobFilter,
    JobGraph,
    JobRequest,
    JobStatus,
    JobView,
    Priority,
    RunRequest,
    Sort,
)
from tickwork.model.job_health import JobHealthView

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


class JobQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: JobStatus | None = None
    task: Text | None = None
    queue: QueueName | None = None
    priority: Priority | None = None
    tag: Text | None = None
    q: Text | None = None
    key: Text | None = None
    due_before: Instant | None = None
    due_after: Instant | None = None
    sort: Sort = "-created_at"

    @property
    def filter(self) -> JobFilter:
        return JobFilter(**{name: getattr(self, name) for name in JobFilter._fields})


async def create_job(call: Call[WaitQuery, JobRequest]) -> Reply:
    """Create a job.

    Without a schedule the job is due at once. The answer shows how the schedule was understood. `priority`, `queue`,
    `timeout` and the fields of `retry` default to what the task's workers announced, if they did. If the job is due
    only once, `execution_id` names its execution. With `wait` the answer comes when that execution has ended or the
    wait is over, and shows it as `execution`; the job is created even if the answer is lost.
    """
    check_wait(call.query)
    jobs = call.node.jobs
    create = jobs.create_one if call.commits_with_answer else jobs.create_grouped
    with definition_span(call, "create", call.body.task or HTTP_TASK) as traceparent:
        job = await create(call.tenant_id, call.body, traceparent)
    return json_reply(job, 201, {"location": f"/v1/jobs/{job.id}", **_etag(job)})


async def list_jobs(call: Call[JobQuery, None]) -> Reply:
    """List jobs, newest first.

    Sorted by `next_run_at`, the list contains only recurring jobs that will run again, the soonest first.
    """
    query = call.query
    return json_reply(await call.node.jobs.list(call.tenant_id, query.filter, query.limit, query.cursor))


async def get_job(call: Call[NoQuery, None]) -> Reply:
    """Show a job."""
    return _job_reply(await call.node.jobs.get(call.tenant_id, await call.job()))


async def get_health(call: Call[NoQuery, None]) -> Reply:
    """Show how a job is doing: its last run, failures in a row, success share, durations and next runs.

    Share and durations are those of its latest 100 executions.
    """
    return json_reply(await call.node.job_health.get(call.tenant_id, await call.job()))


async def get_graph(call: Call[NoQuery, None]) -> Reply:
    """Show the dependency graph around a job, with the state of each job in the latest round.

    Up to 1,000 jobs, the nearest first.
    """
    return json_reply(await call.node.jobs.graph(call.tenant_id, await call.job()))


async def edit_job(call: Call[NoQuery, msgspec.Struct]) -> Reply:
    """Change a job.

    The body is a JSON merge patch: only the given fields change, and null resets a field to its default. Send the
    job's ETag as If-Match to refuse the change if somebody else changed the job in between.
    """
    patch: dict[str, Any] = msgspec.to_builtins(call.body)
    job = await call.job()
    with definition_span(call, "edit", None, {"tickwork.job.id": job_id(job)}) as traceparent:
        edited = await call.node.jobs.patch(call.tenant_id, job, patch, call.if_match(), traceparent)
    return _job_reply(edited)


async def cancel_job(call: Call[NoQuery, None]) -> Reply:
    """Cancel a job: it has no further executions."""
    job = await call.job()
    return _job_reply(await call.node.jobs.cancel(call.tenant_id, job, call.if_match()))


async def pause_job(call: Call[NoQuery, None]) -> Reply:
    """Pause a job until it is resumed."""
    return _job_reply(await call.node.jobs.pause(call.tenant_id, await call.job()))


async def resume_job(call: Call[NoQuery, None]) -> Reply:
    """Resume a paused job."""
    return _job_reply(await call.node.jobs.resume(call.tenant_id, await call.job()))


async def run_job(call: Call[WaitQuery, RunRequest]) -> Reply:
    """Run a job now, whatever its schedule.

    It runs even if another execution of the job has not ended, unless `overlap` says otherwise. With `wait` the
    answer comes when the execution has ended or the wait is over.
    """
    check_wait(call.query)
    execution = await call.node.runs.run(call.tenant_id, await call.job(), call.body.overlap)
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
    Route("GET", "/v1/jobs", list_jobs, Scope.READ, Page[JobView], query=JobQuery),
    Route("GET", "/v1/jobs/{id}", get_job, Scope.READ, JobView),
    Route("GET", "/v1/jobs/{id}/health", get_health, Scope.READ, JobHealthView),
    Route("GET", "/v1/jobs/{id}/graph", get_graph, Scope.READ, JobGraph),
    Route("PATCH", "/v1/jobs/{id}", edit_job, Scope.WRITE, JobView, body=_PATCH, problems=_VERSIONED),
    Route("DELETE", "/v1/jobs/{id}", cancel_job, Scope.WRITE, JobView, problems=_VERSIONED),
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
