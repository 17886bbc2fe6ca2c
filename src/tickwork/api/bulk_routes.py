"""/jobs/bulk and /executions/bulk: act on everything that a filter finds, one chunk per request."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from tickwork.api.execution_routes import ExecutionQuery
from tickwork.api.idempotency_key import KEY_HEADER, read_key
from tickwork.api.job_routes import JobQuery
from tickwork.api.problem import refusal_for
from tickwork.api.repeated_headers_and_request_id import request_id_of
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, Limit, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.define.bulk_job_actions import BulkJobChange
from tickwork.model.access import Scope
from tickwork.model.bulk_action import (
    LARGEST_CHUNK,
    BulkChunk,
    BulkCount,
    BulkExecutionsResult,
    BulkJobsResult,
    ExecutionAction,
    ExecutionFailure,
    JobAction,
    JobFailure,
)
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.job import RunningChoice

_CANCELLING = ("cancel", "delete")
_NO_CONDITIONS = frozenset({"limit", "cursor", "sort", "count", "recent"})
_Ids = Annotated[list[Text], Meta(min_length=1, max_length=LARGEST_CHUNK)]
_Tags = Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=50)]


def _conditions_of(query: type[msgspec.Struct], name: str) -> type[msgspec.Struct]:
    """The filters of a list, as an object of their own: what the list can find, an action can act on."""
    fields = [
        (field.encode_name, field.type, field.default)
        for field in structs.fields(query)
        if field.encode_name not in _NO_CONDITIONS
    ]
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


JobConditions = _conditions_of(JobQuery, "JobConditions")
ExecutionConditions = _conditions_of(ExecutionQuery, "ExecutionConditions")


class BulkJobsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `filter`, with the parameters of GET /jobs, and `ids`; `{"filter": {}}` means all jobs."""

    action: JobAction
    filter: JobConditions | None = None  # type: ignore[valid-type]
    ids: _Ids | None = None
    tags: _Tags = []
    running: RunningChoice = "leave"
    dry_run: bool = False
    cursor: Cursor | None = None
    limit: Limit = 100


class BulkExecutionsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `filter`, with the parameters of GET /executions, and `ids`; `{"filter": {}}` means all."""

    action: ExecutionAction
    filter: ExecutionConditions | None = None  # type: ignore[valid-type]
    ids: _Ids | None = None
    dry_run: bool = False
    cursor: Cursor | None = None
    limit: Limit = 100


async def change_jobs(call: Call[NoQuery, BulkJobsRequest]) -> Reply:
    """Run, pause, resume, cancel or tag all jobs that match a filter, up to `limit` of them per request.

    With `dry_run` the answer only says how many match; if not `exact`, at least so many. Otherwise repeat the request
    with `cursor` set to `next_cursor` until that is null. A job that an action does not work on is listed in `failed`
    and does not stop the others. `delete` does the same as `cancel` and as DELETE /jobs/{id}; with `running: cancel`,
    what runs of the jobs is stopped, too. A request whose answer was lost can be repeated; for `run`, with the same
    `Idempotency-Key`, so that no job runs twice.
    """
    body, bulk = call.body, call.node.bulk_jobs
    _check(body, tags=body.tags if body.action in ("tag", "untag") else None)
    if body.ids is not None:
        if body.dry_run:
            return json_reply(await bulk.count_named(call.tenant_id, body.ids))
        return _jobs_reply(call, await bulk.change_named(call.tenant_id, _change(call), body.ids))
    wanted = JobQuery(**structs.asdict(body.filter)).filter  # type: ignore[arg-type]
    if body.dry_run:
        return json_reply(await bulk.count_matching(call.tenant_id, wanted))
    chunk = await bulk.change_matching(call.tenant_id, _change(call), wanted, body.limit, body.cursor)
    return _jobs_reply(call, chunk)


async def change_executions(call: Call[NoQuery, BulkExecutionsRequest]) -> Reply:
    """Retry or cancel all executions that match a filter, up to `limit` of them per request.

    With `dry_run` the answer only says how many match; if not `exact`, at least so many. Otherwise repeat the request
    with `cursor` set to `next_cursor` until that is null. An execution that the action does not work on is listed in
    `failed` and does not stop the others. A request whose answer was lost can be repeated.
    """
    body, bulk = call.body, call.node.bulk_executions
    _check(body, tags=None)
    if body.ids is not None:
        if body.dry_run:
            return json_reply(await bulk.count_named(call.tenant_id, body.ids))
        return _executions_reply(call, await bulk.change_named(call.tenant_id, body.action, body.ids))
    query = ExecutionQuery(**structs.asdict(body.filter))  # type: ignore[arg-type]
    wanted = query.filter(await call.job_in(query.job))
    if body.dry_run:
        return json_reply(await bulk.count_matching(call.tenant_id, wanted))
    chunk = await bulk.change_matching(call.tenant_id, body.action, wanted, body.limit, body.cursor)
    return _executions_reply(call, chunk)


def _check(body: BulkJobsRequest | BulkExecutionsRequest, tags: list[str] | None) -> None:
    errors = []
    if (body.filter is None) == (body.ids is None):
        errors.append(FieldError("filter", "give exactly one of filter and ids", "{} matches everything"))
    if body.ids is not None and body.cursor is not None:
        errors.append(FieldError("cursor", "belongs to a filter", "all ids are done in one request"))
    if tags is not None and not tags:
        errors.append(FieldError("tags", "must name at least one tag for this action"))
    if tags is None and isinstance(body, BulkJobsRequest) and body.tags:
        errors.append(FieldError("tags", f"mean nothing to {body.action}", "use the action tag or untag"))
    if isinstance(body, BulkJobsRequest) and body.running != "leave" and body.action not in _CANCELLING:
        errors.append(FieldError("running", f"means nothing to {body.action}", "use the action cancel"))
    if errors:
        raise Invalid(errors)


def _change(call: Call[NoQuery, BulkJobsRequest]) -> BulkJobChange:
    header = call.headers.get(KEY_HEADER)
    key = read_key(header) if header is not None else None
    return BulkJobChange(call.body.action, call.body.tags, key, call.caller.author, call.body.running)


def _jobs_reply(call: Call[Any, Any], chunk: BulkChunk) -> Reply:
    failed = [JobFailure(name, *_reason(call, error)) for name, error in chunk.failed]
    return json_reply(BulkJobsResult(chunk.done, failed, chunk.next_cursor))


def _executions_reply(call: Call[Any, Any], chunk: BulkChunk) -> Reply:
    failed = [ExecutionFailure(name, *_reason(call, error)) for name, error in chunk.failed]
    return json_reply(BulkExecutionsResult(chunk.done, failed, chunk.next_cursor))


def _reason(call: Call[Any, Any], error: Exception) -> tuple[str, str]:
    refusal = refusal_for(error, request_id_of(call.headers), method="POST", route="bulk")
    return refusal.kind.title, refusal.detail


_JOBS = json_content(
    BulkJobsRequest, example={"action": "pause", "filter": {"tag": "billing"}, "dry_run": True}
)
_EXECUTIONS = json_content(
    BulkExecutionsRequest, example={"action": "retry", "filter": {"status": "failed"}, "dry_run": True}
)

ROUTES = (
    Route(
        "POST",
        "/v1/jobs/bulk",
        change_jobs,
        Scope.WRITE,
        BulkJobsResult,
        body=_JOBS,
        also=((200, BulkCount),),
        keeps_answer=False,
    ),
    Route(
        "POST",
        "/v1/executions/bulk",
        change_executions,
        Scope.WRITE,
        BulkExecutionsResult,
        body=_EXECUTIONS,
        also=((200, BulkCount),),
        keeps_answer=False,
    ),
)
