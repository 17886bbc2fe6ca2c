"""/executions: list, show, explain, cancel and retry executions."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import DurationText, JobId, PageQuery, Text, WorkerId, parsed_duration
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.api.wait_for_execution import WaitQuery, wait_until_ended
from tickwork.model.access import Scope
from tickwork.model.execution import (
    AttemptView,
    CountKind,
    ExecutionFilter,
    ExecutionPage,
    ExecutionStatus,
    ExecutionView,
    MissedView,
    WaitingFor,
)
from tickwork.model.field_types import Instant, Page, QueueName
from tickwork.model.past_attempt_input import ExecutionInput, ExecutionRetry
from tickwork.model.public_ids import parse_execution_id, parse_worker_id
from tickwork.model.why_waiting import Why

_MAX_MISSED = 500


class HistoryQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: ExecutionStatus | None = None
    waiting_for: WaitingFor | None = None
    error: Annotated[Text, Meta(description="the type of an error that an attempt failed with")] | None = None
    timed_out: Annotated[Literal["true"], Meta(description="an attempt took too long")] | None = None
    retrying: Annotated[Literal["true"], Meta(description="an attempt failed, another follows")] | None = None
    blocked: (
        Annotated[Literal["true"], Meta(description="waits for an execution that failed or was cancelled")]
        | None
    ) = None
    not_taken: (
        Annotated[Literal["true"], Meta(description="skipped: its branch of the graph was not taken")] | None
    ) = None
    task: Text | None = None
    queue: QueueName | None = None
    worker: WorkerId | None = None
    tag: Text | None = None
    since: Annotated[Instant, Meta(description="due from this time")] | None = None
    until: Annotated[Instant, Meta(description="due up to this time")] | None = None
    longer_than: Annotated[DurationText, Meta(description="ran for longer")] | None = None
    later_than: Annotated[DurationText, Meta(description="started later after its due time")] | None = None
    count: Annotated[CountKind, Meta(description="also count the executions that match")] | None = None

    def filter(self, job: int | None) -> ExecutionFilter:
        return ExecutionFilter(
            status=self.status,
            job=job,
            task=self.task,
            queue=self.queue,
            worker=parse_worker_id(self.worker) if self.worker else None,
            since=self.since,
            until=self.until,
            waiting_for=self.waiting_for,
            error=self.error,
            timed_out=self.timed_out is not None,
            retrying=self.retrying is not None,
            blocked=self.blocked is not None,
            not_taken=self.not_taken is not None,
            tag=self.tag,
            longer_than=parsed_duration("longer_than", self.longer_than),
            later_than=parsed_duration("later_than", self.later_than),
        )


class ExecutionQuery(HistoryQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    job: JobId | None = None


async def list_executions(call: Call[ExecutionQuery, None]) -> Reply:
    """List executions, newest first.

    All filters must match. A page with fewer items than `limit` is the last one, or `searched_until` says how far it
    has looked: all executions that are due later were looked at, and `next_cursor` continues from there. `count=exact`
    counts for two seconds at most and says `at least` if there are more; `count=estimate` answers sooner.
    """
    return await _page(call, call.query, await call.job_in(call.query.job))


async def list_job_executions(call: Call[HistoryQuery, None]) -> Reply:
    """List the executions of one job, newest first."""
    job = await call.job()
    await call.node.jobs.get(
        call.tenant_id, job
    )  # 404 for an unknown job, an empty list for a job without executions
    return await _page(call, call.query, job)


async def list_missed(call: Call[NoQuery, None]) -> Reply:
    """List the ranges of due times that a job missed, latest first, with the reason."""
    missed = await call.node.history.missed(call.tenant_id, await call.job(), _MAX_MISSED)
    return json_reply(Page(list(missed)))


async def get_execution(call: Call[WaitQuery, None]) -> Reply:
    """Show an execution.

    With `wait` the answer comes when the execution has ended or the wait is over. A server on which too many requests
    wait already answers at once.
    """
    job, scheduled_for = call.id(parse_execution_id)
    execution = await wait_until_ended(call, job, scheduled_for) if call.query.wait else None
    return json_reply(execution or await call.node.history.get(call.tenant_id, job, scheduled_for))


async def list_attempts(call: Call[NoQuery, None]) -> Reply:
    """List the attempts of an execution, first to last."""
    attempts = await call.node.history.attempts(call.tenant_id, *call.id(parse_execution_id))
    return json_reply(Page(attempts))


async def explain_execution(call: Call[NoQuery, None]) -> Reply:
    """Explain why an execution does not run, and when it will.

    `causes` lists everything that it waits for: its due time, a pause, a limit, a dependency, a circuit breaker, or
    workers that are missing, unsuitable or busy. `expected_start` is given when all causes end by themselves.
    """
    return json_reply(await call.node.reasons.of(call.tenant_id, *call.id(parse_execution_id)))


async def cancel_execution(call: Call[NoQuery, None]) -> Reply:
    """Cancel an execution: a pending one never starts, a running one is stopped. That of a fan-out takes its elements
    with it: they are cancelled within a moment."""
    return json_reply(await call.node.history.cancel(call.tenant_id, *call.id(parse_execution_id)))


async def retry_execution(call: Call[NoQuery, ExecutionRetry]) -> Reply:
    """Run an execution that failed or was cancelled again: the same execution, with new attempts.

    With `payload`, these attempts get it instead of the job's payload, which stays as it is. It is checked as the job's
    own would be. The event `execution.edited` says who changed what.
    """
    job, scheduled_for = call.id(parse_execution_id)
    author = call.caller.author
    retried = await call.node.dead_letters.retry(call.tenant_id, job, scheduled_for, call.body, author)
    return json_reply(retried)


class InputQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attempt: Annotated[int, Meta(ge=1, le=2**31 - 1, description="the latest one if not given")] | None = None


async def get_input(call: Call[InputQuery, None]) -> Reply:
    """Show what an attempt ran with: task, payload and HTTP call, also when the job was edited since.

    If the attempt has not begun, it is what it would get now. `source` says whether that is the job as it is now, an
    earlier version of it, or a payload that somebody gave to the execution when retrying it.
    """
    job, scheduled_for = call.id(parse_execution_id)
    history = call.node.history
    return json_reply(await history.input(call.tenant_id, job, scheduled_for, call.query.attempt))


async def _page(
    call: Call[HistoryQuery, None] | Call[ExecutionQuery, None], query: HistoryQuery, job: int | None
) -> Reply:
    history = call.node.history
    page = await history.list(call.tenant_id, query.filter(job), query.limit, query.cursor, query.count)
    return json_reply(page)


_RETRY = json_content(
    ExecutionRetry, example={"payload": {"to": "ann@example.com"}}, default=ExecutionRetry()
)

ROUTES = (
    Route("GET", "/v1/jobs/{id}/missed", list_missed, Scope.READ, Page[MissedView]),
    Route(
        "GET",
        "/v1/executions",
        list_executions,
        Scope.READ,
        ExecutionPage,
        query=ExecutionQuery,
        may_be_stale=True,
    ),
    Route(
        "GET",
        "/v1/jobs/{id}/executions",
        list_job_executions,
        Scope.READ,
        ExecutionPage,
        query=HistoryQuery,
        may_be_stale=True,
    ),
    Route(
        "GET",
        "/v1/executions/{id}",
        get_execution,
        Scope.READ,
        ExecutionView,
        query=WaitQuery,
    ),
    Route("GET", "/v1/executions/{id}/attempts", list_attempts, Scope.READ, Page[AttemptView]),
    Route("GET", "/v1/executions/{id}/input", get_input, Scope.READ, ExecutionInput, query=InputQuery),
    Route("GET", "/v1/executions/{id}/why", explain_execution, Scope.READ, Why),
    Route(
        "POST",
        "/v1/executions/{id}/cancel",
        cancel_execution,
        Scope.WRITE,
        ExecutionView,
        problems=(CONFLICT,),
    ),
    Route(
        "POST",
        "/v1/executions/{id}/retry",
        retry_execution,
        Scope.WRITE,
        ExecutionView,
        body=_RETRY,
        problems=(CONFLICT,),
    ),
)
